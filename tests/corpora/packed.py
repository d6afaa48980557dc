"""Pack texts in every format, and read pairs of them or expect an error."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from transformer.corpora.reading import Asked, open_pairs
from transformer.support.files import InputError

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
MODES = {".tar": "w", ".tgz": "w:gz", ".tar.gz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}
ENGLISH, GERMAN = b"one\ntwo\n", b"eins\nzwei\n"


def write(path, content):
    path.write_bytes(content)
    return path


def write_tar(path, *entries):
    """Write an archive. Each entry is (name, content) or a TarInfo."""
    suffix = next(suffix for suffix in sorted(MODES, key=len, reverse=True) if path.name.endswith(suffix))
    with tarfile.open(path, MODES[suffix]) as tar:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                tar.addfile(entry)
                continue
            info = tarfile.TarInfo(entry[0])
            info.size = len(entry[1])
            tar.addfile(info, io.BytesIO(entry[1]))
    return path


def write_zip(path, *entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in entries:
            zipped.writestr(name, content)
    return path


def special(name, kind, **changes):
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in changes.items():
        setattr(info, key, value)
    return info


def read(sources, targets, folder, local=Path, asked=None):
    with open_pairs(str(sources), str(targets), local, folder, asked or Asked(("en", "de"))) as pairs:
        return list(pairs)


def refused(sources, targets, folder):
    """The message for these locations, which is one line. Nothing must be left on disk."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(InputError) as error:
        read(sources, targets, folder)
    assert "\n" not in str(error.value)
    assert sorted(folder.rglob("*")) == before
    return str(error.value)
