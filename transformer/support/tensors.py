"""Tensors on disk, as safetensors files that contain their own SHA-256: checkpoints, and the state of a training."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer.support.files import InputError, atomic


class DamagedFileError(InputError):
    """A file of tensors has changed since it was written."""


_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def _content(tensor: Tensor) -> memoryview:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data


def _safetensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The parts of a file in the safetensors format. The widest numbers come first, so that all are aligned."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        tensor, start = tensors[name], end
        end += tensor.nbytes
        header[name] = {"dtype": _DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield _content(tensors[name])


def _digest(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_content(tensor))
    for key in sorted(metadata.keys() - {"sha256"}):
        digest.update(f"{key}={metadata[key]}\n".encode())
    return digest.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors and texts. Raises InputError when the disk is full, and then leaves nothing behind."""
    cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    texts = {**metadata, "sha256": _digest(cpu, metadata)}
    with atomic(path) as stream:
        # safetensors.torch.save would stop all other threads while it copies everything.
        for part in _safetensors(cpu, {"texts": json.dumps(texts)}):
            stream.write(part)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read what `write_tensors` wrote.

    Raises InputError when the file does not exist or cannot be read, and DamagedFileError when it is cut short or a bit
    has changed.
    """
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = _texts(file)
    if metadata.get("sha256") != _digest(tensors, metadata):
        raise DamagedFileError(f"{path}: damaged (its content does not match its SHA-256); make it again")
    return tensors, metadata


def read_metadata(path: Path) -> dict[str, str]:
    """Read only the texts, without checking the SHA-256. Raises InputError and DamagedFileError like `read_tensors`."""
    with _opened(path) as file:
        return _texts(file)


def _texts(file: Any) -> dict[str, str]:
    return json.loads((file.metadata() or {}).get("texts", "{}"))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, ValueError) as error:
        raise DamagedFileError(f"{path}: damaged ({error}); make it again") from error
    except OSError as error:  # of the disk or this process, not of the content
        raise InputError(f"{path}: cannot be read ({error}); try again") from error
