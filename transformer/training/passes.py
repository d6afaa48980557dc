"""How much training computes at a time on each type of device."""

MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 25_000}  # about how many subwords of a side one forward pass takes
ROWS = {"cpu": 128, "cuda": 4096}  # tokens whose float32 probabilities the loss holds at a time; 128 fit a CPU's caches
