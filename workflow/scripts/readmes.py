"""README.md of each package: what it was made of, and its scores."""

from pathlib import Path
from typing import Any

from runs import logged

from transformer.package.readme import write_readme


def main(snakemake: Any) -> None:
    for readme in map(Path, snakemake.output):
        run = readme.parent.parent
        write_readme(readme.parent, [path for path in map(Path, snakemake.input.scores) if path.parent == run])


if "snakemake" in globals():
    logged(main, snakemake)
