"""How much training computes at a time on each type of device."""

MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 25_000}  # about how many subwords of a side one forward pass takes
# How many float32 probabilities the loss holds at a time. On a CPU they fit into its caches. On a GPU they are those of
# 4,096 tokens with the paper's vocabulary; the compiled loss holds none.
PROBABILITIES = {"cpu": 1 << 18, "cuda": 4096 * 37_000}


def smaller_passes(tokens: int, row: int) -> str:
    """What to do if memory runs out in passes of `tokens` subwords. A pass has at least one row, of `row` subwords."""
    if tokens <= row:
        return f"one row has {row} subwords and cannot be split; lower longest_pair or choose a smaller model"
    return (
        f"resume with --micro-batch-tokens {tokens // 2} (now {tokens}), under Snakemake with "
        f"--set-resources train:micro_batch_tokens={tokens // 2} (or in your profile); rounding and dropout differ"
    )
