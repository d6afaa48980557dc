"""How much training computes at a time, by the type of the device."""

MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 25_000}  # subwords of a side in one forward pass, about
ROWS = {"cpu": 128, "cuda": 4096}  # tokens whose float32 probabilities the loss holds; on a CPU, in its caches
