"""Arrays on disk, as safetensors files that contain their own SHA-256: weights, and the state of a training."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError, safe_open

from transformer.support.files import InputError, atomic


class DamagedFileError(InputError):
    """A file of arrays has changed since it was written."""


_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


def _content(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _safetensors(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The parts of a file in the safetensors format. The widest numbers come first, so that all are aligned."""
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        array, start = arrays[name], end
        end += array.nbytes
        header[name] = {"dtype": _DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield _content(arrays[name])


def _digest(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        # "torch." is from the time when files of tensors were written with PyTorch; their SHA-256 stays the same.
        digest.update(f"{name} torch.{array.dtype} {array.shape}\n".encode())
        digest.update(_content(array))
    for key in sorted(metadata.keys() - {"sha256"}):
        digest.update(f"{key}={metadata[key]}\n".encode())
    return digest.hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, ArrayLike], metadata: Mapping[str, str]) -> None:
    """Write arrays and texts. Raises InputError when the disk is full, and then leaves nothing behind."""
    made = {name: np.asarray(array) for name, array in arrays.items()}
    texts = {**metadata, "sha256": _digest(made, metadata)}
    with atomic(path) as stream:
        # safetensors.numpy.save would stop all other threads while it copies everything.
        for part in _safetensors(made, {"texts": json.dumps(texts)}):
            stream.write(part)


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read what `write_arrays` wrote.

    Raises InputError when the file does not exist or cannot be read, and DamagedFileError when it is cut short or a bit
    has changed.
    """
    with _opened(path) as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = _texts(file)
    if metadata.get("sha256") != _digest(arrays, metadata):
        raise DamagedFileError(f"{path}: damaged (its content does not match its SHA-256); make it again")
    return arrays, metadata


def read_metadata(path: Path) -> dict[str, str]:
    """Read only the texts, without checking the SHA-256. Raises InputError and DamagedFileError like `read_arrays`."""
    with _opened(path) as file:
        return _texts(file)


def _texts(file: Any) -> dict[str, str]:
    texts = json.loads((file.metadata() or {}).get("texts", "{}"))
    if not (isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())):
        raise ValueError("its metadata has no texts by name")
    return texts


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; correct the path")
    try:
        with safe_open(path, framework="np") as file:
            yield file
    except (SafetensorError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFileError(f"{path}: damaged ({error}); make it again") from error
    except OSError as error:  # of the disk or this process, not of the content
        raise InputError(f"{path}: cannot be read ({error}); try again") from error
