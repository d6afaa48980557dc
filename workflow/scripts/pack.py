"""Pack files of an experiment, below results/EXPERIMENT, with the same bytes whenever and wherever they are packed."""

import gzip
import tarfile
from pathlib import Path
from typing import Any

from records import logged

from transformer.support.files import atomic


def pack(files: list[Path], folder: Path, name: str, path: Path) -> None:
    """Pack `files`, which are below `folder`, into `path` (tar.gz). In the archive the folder is `name`."""
    with (
        atomic(path) as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for file in sorted(files):
            member = tarfile.TarInfo(f"{name}/{file.relative_to(folder)}")
            member.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(member, content)


def main(snakemake: Any) -> None:
    path = Path(snakemake.output[0])
    pack(list(map(Path, snakemake.input.files)), path.parent, f"results/{path.parent.name}", path)


if "snakemake" in globals():
    logged(main, snakemake)
