"""Write a package with weights in float16, half as large. Commands compute with them in float32, as with any other."""

from pathlib import Path

import numpy as np

from transformer.export.package import new_folder
from transformer.package.config import HASHED, IDEA, read_package_config, signed
from transformer.support.arrays import read_arrays, write_arrays
from transformer.support.files import InputError, atomic, read_bytes, read_json, sha256, write_json


def to_float16(folder: Path, output: Path) -> None:
    """Write the package `folder` to `output`, with each weight rounded to float16.

    Raises InputError when a weight is beyond float16's 65,504, the errors of `read_package_config`, and those of
    `new_folder`.
    """
    read_package_config(folder)
    values = read_json(folder / "config.json")
    weights, texts = read_arrays(folder / "model.safetensors")
    with np.errstate(over="ignore"):
        rounded = {name: array.astype(np.float16) for name, array in weights.items()}
    for name, array in rounded.items():
        if not np.isfinite(array).all():
            raise InputError(f"{folder / 'model.safetensors'}: {name} has numbers beyond float16; use it as it is")
    with new_folder(output) as temporary:
        write_arrays(temporary / "model.safetensors", rounded, texts)
        idea = [IDEA] if "idea" in values["architecture"] else []
        for name in ("subwords.model", "history.csv", "README.md", *idea):
            with atomic(temporary / name) as stream:
                stream.write(read_bytes(folder / name))
        values["sha256"] |= {name: sha256(temporary / name) for name in HASHED}
        write_json(temporary / "config.json", signed(values))
