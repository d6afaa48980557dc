"""Make stand-ins for WMT 2014's English-German archives, with as many pairs, to try the data stage without internet.

    python -m benchmarks.stand_in --source TRAIN.source --target TRAIN.target --folder FOLDER
    snakemake --cores all results/stand-in/tokens/ende/{train,dev,test}.ids.npy \\
        --configfile config/paper.yaml FOLDER/stand-in.yaml

FOLDER becomes a mirror with archives at host/path. The overlay stand-in.yaml names the mirror, and the sizes and
SHA-256 of the archives. The pairs are made from real ones (`benchmarks.data`).
"""

import argparse
import tarfile
from contextlib import ExitStack
from io import BytesIO
from itertools import islice
from pathlib import Path

import yaml

from benchmarks.data import made_pairs
from transformer.corpora.fetch import local_path
from transformer.corpora.location import Location
from transformer.experiment.config import read_experiment
from transformer.support.files import read_parallel, sha256

PAIRS = {"europarl": 1_920_209, "commoncrawl": 2_399_123, "news-commentary": 201_288, "newstest": 3_000}


def content(lines: list[str], name: str) -> bytes:
    """The content of a member: lines of text, or an SGML set if its name ends in .sgm."""
    if not name.endswith(".sgm"):
        return "".join(f"{line}\n" for line in lines).encode()
    segments = "".join(f'<seg id="{number}">{line}</seg>\n' for number, line in enumerate(lines, 1))
    return f'<refset setid="x"><doc docid="1">\n{segments}</doc></refset>\n'.encode()


def main() -> None:
    """Write the archives and the overlay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="real text, of which the pairs are made")
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument("--folder", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--share", type=float, default=1.0, help="make this share of WMT's number of pairs (default: %(default)s)"
    )
    arguments = parser.parse_args()
    corpus = read_experiment([Path("config/paper.yaml")]).corpora["wmt14-en-de"]
    total = sum(PAIRS.values()) + PAIRS["newstest"]
    pairs = made_pairs(*read_parallel(arguments.source, arguments.target), total, seed=1)
    archives: dict[str, tarfile.TarFile] = {}
    with ExitStack() as stack:
        for text in (*corpus.train, *corpus.dev, *corpus.test):
            count = next(count for name, count in PAIRS.items() if name in text["en"])
            sides = zip(*islice(pairs, int(count * arguments.share)), strict=True)
            for location, lines in zip((text["en"], text["de"]), sides, strict=True):
                parsed = Location.parse(location)
                path = arguments.folder / local_path(parsed.file)
                path.parent.mkdir(parents=True, exist_ok=True)
                if parsed.file not in archives:
                    archives[parsed.file] = stack.enter_context(tarfile.open(path, "w:gz", compresslevel=1))
                member = tarfile.TarInfo(str(parsed.member))
                encoded = content(lines, member.name)
                member.size = len(encoded)
                archives[parsed.file].addfile(member, BytesIO(encoded))
    downloads = {}
    for url in archives:
        path = arguments.folder / local_path(url)
        downloads[url] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    overlay = {"experiment": "stand-in", "mirror": str(arguments.folder.absolute()), "downloads": downloads}
    (arguments.folder / "stand-in.yaml").write_text(yaml.safe_dump(overlay))


if __name__ == "__main__":
    main()
