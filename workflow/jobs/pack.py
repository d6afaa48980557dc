"""Pack files of an experiment, below results/EXPERIMENT, with the same bytes whenever and wherever they are packed."""

import gzip
import lzma
import tarfile
from pathlib import Path
from typing import Any

from transformer.support.files import atomic
from workflow.jobs.job import run


def pack(files: dict[str, Path], path: Path) -> None:
    """Pack `files`, by their names in the archive, into `path` (tar.gz or tar.xz)."""
    with (
        atomic(path) as stream,
        lzma.open(stream, "wb") if path.suffix == ".xz" else gzip.GzipFile("", "wb", 9, stream, 0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name, file in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(member, content)


def main(job: Any) -> None:
    """Pack the inputs of a job."""
    results, packages = Path(job.params.results), Path(job.params.packages)
    files = {}
    for file in map(Path, job.input.files):
        given = file.is_relative_to(packages)  # `packages` may be a folder of the user's
        place = Path("runs", file.relative_to(packages)) if given else file.relative_to(results)
        files[f"results/{results.name}/{place}"] = file
    pack(files, Path(job.output[0]))


run(main, globals())
