"""What commands need of packages before they load any config: kinds of tasks, and the paper's decoding."""

from typing import Literal

TaskKind = Literal["translation", "parsing"]
BEAM, ALPHA, EXTRA = 4, 0.6, 50  # for translation (section 6.1)
HASHED = ("model.safetensors", "subwords.model", "history.csv")  # a package's files beside config.json and README.md
