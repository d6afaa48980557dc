"""How much training computes at a time on each type of device."""

MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 25_000}  # about how many subwords of a side one forward pass takes
PROBABILITIES = {"cpu": 1 << 19, "cuda": 1 << 27}  # how many, in float32, the loss holds at a time; 2 MB fit a CPU's caches


def smaller_passes(tokens: int, row: int) -> str:
    """What to do if memory runs out in passes of `tokens` subwords. A pass has at least one row, of `row` subwords."""
    if tokens <= row:
        return f"one row has {row} subwords and cannot be split; lower longest_pair or choose a smaller model"
    return (
        f"resume with --micro-batch-tokens {tokens // 2} (now {tokens}), under Snakemake with "
        f"--set-resources train:micro_batch_tokens={tokens // 2} (or in your profile); rounding and dropout differ"
    )
