"""Commands that plan an experiment, download its text, and encode it."""

import argparse
import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, get_args

from transformer.cli.command import command, count, option, path, positive, writes
from transformer.model.ids import LONGEST
from transformer.package.defaults import TaskKind
from transformer.support.files import InputError, atomic, write_lines, write_output
from transformer.support.strict import load, located, read_config

if TYPE_CHECKING:
    from transformer.text.lines import Limit

CORPUS_FILES = [
    "/corpus.json",
    *(
        f"/{part}.{kind}"
        for part in ("train", "dev", "test", "longer", "plain")
        for kind in ("source", "target", "trees")
    ),
]
TOKEN_FILES = (".ids.npy", ".offsets.npy")
MIRROR = path(
    "mirror",
    "folder with copies of downloads, laid out as host/path, that is tried first (default: $TRANSFORMER_MIRROR)",
    required=False,
    default=os.environ.get("TRANSFORMER_MIRROR") or None,
)


def limits(text: str) -> dict[str, "Limit"]:
    """The limit of each part, from PART=MODEL:SUBWORDS,... Raises ArgumentTypeError."""
    from transformer.text.lines import of_positions

    found = {}
    for each in filter(None, text.split(",")):
        if not (match := re.fullmatch("(.+)=(.+):([1-9][0-9]{0,8})", each)):
            raise argparse.ArgumentTypeError(f"{each!r} is not PART=MODEL:SUBWORDS, such as dev=E-learned:256")
        found[match[1]] = of_positions(match[2], int(match[3]))
    return found


@command(
    path("configfile", "files that override those of config/", required=False, nargs="*", default=[]),
    prints=True,
)
def plan(arguments: argparse.Namespace) -> None:
    """Print what an experiment will cost in time, memory and disk, without running any of it."""
    from transformer.support.faults import ConfigError
    from workflow.experiment.advice import warnings_of
    from workflow.experiment.config import read_experiment, read_sources
    from workflow.experiment.downloads import downloads_of

    experiment = read_experiment(arguments.configfile)  # reports faults before the measurements below
    sources = read_sources(arguments.configfile)
    warnings = warnings_of(experiment, sources)
    try:
        downloads_of(experiment)
    except ConfigError as error:  # what would stop a run; its cost does not depend on it
        warnings += map(str, located(error, sources).faults)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    from workflow.experiment.plan import plan as plan_of

    write_output(plan_of(experiment))


@command(
    writes("output", "the file to write"),
    option("--url", required=True, help="URL of the file: http(s)://host/path or file:///path"),
    option("--bytes", type=positive, required=True, help="size of the file"),
    option("--sha256", required=True, help="SHA-256 of the file, in hexadecimal"),
    MIRROR,
)
def fetch(arguments: argparse.Namespace) -> None:
    """Download a file, or copy it from a mirror, and check its size and SHA-256."""
    from transformer.corpora.fetch import Download, download

    known = load(Download, {"bytes": arguments.bytes, "sha256": arguments.sha256}, "--bytes, --sha256")
    download(arguments.url, arguments.output, known.bytes, known.sha256, arguments.mirror)


@command(path("config", "the Debian packages"), writes("output", "the text, one segment per line"), MIRROR)
def pages(arguments: argparse.Namespace) -> None:
    """Download the help pages of LibreOffice and check their SHA-256."""
    from transformer.corpora.libreoffice import DebianPackages, fetch

    fetch(read_config(DebianPackages, arguments.config), arguments.output, arguments.mirror)


@command(
    path("config", "the corpus of a task"),
    writes("output-dir", "folder for the parts of the corpus", files=CORPUS_FILES),
    path("text", "the text that `pages` wrote", required=False),
    path(
        "downloads", "folder of the files that `fetch` wrote (default: %(default)s)", False, default="results/downloads"
    ),
    path("gold", "folder of the gold trees", required=False, files=CORPUS_FILES),
    path("parses", "parses of the plain sentences", required=False),
    path("log-probabilities", "log P per subword of the parses, from `translate`", required=False),
)
def corpus(arguments: argparse.Namespace) -> None:
    """Read a corpus, clean it, and write its parts train, dev and test as aligned lines."""
    from transformer.corpora.kinds import TaskCorpus
    from transformer.corpora.parts import Given, write_whole

    task = read_config(TaskCorpus, arguments.config)
    files = (arguments.config, arguments.downloads, arguments.text, arguments.gold)
    given = Given(*files, arguments.parses, arguments.log_probabilities)
    write_whole(task.corpus, arguments.output_dir, given, name=task.name, source=task.source, target=task.target)


@command(
    path("text", "text with one sentence per line"),
    writes("output", "the file to write the sentences to"),
    option("--count", type=positive, required=True, help="number of sentences"),
    option("--words", type=positive, nargs=2, required=True, metavar=("LEAST", "MOST"), help="words of a sentence"),
    option("--seed", type=count, default=1, help="seed of the random choice (default: %(default)s)"),
    path("subwords", "the parser's vocabulary: leave out sentences of more than --most", False),
    option(
        "--most",
        type=positive,
        default=LONGEST,
        help="most subwords of a sentence, with its end (default: %(default)s)",
    ),
)
def sentences(arguments: argparse.Namespace) -> None:
    """Choose random sentences of a text for parsing, and split them into words like the Penn Treebank."""
    from transformer.corpora.plain import plain_sentences
    from transformer.text.subwords import Subwords

    least, most = arguments.words
    if least > most:
        raise InputError(f"--words: {least} is more than {most}; give the least number of words first")
    known = Subwords(arguments.subwords) if arguments.subwords else None

    def fits(sentence: str) -> bool:
        return known is None or len(known.encode([sentence])[0]) <= arguments.most

    drawn = plain_sentences(arguments.text, arguments.count, (least, most), arguments.seed, fits)
    write_lines(arguments.output, drawn)


@command(
    path("source", "text"),
    path("target", "text"),
    writes("output", "the vocabulary"),
    option("--vocabulary", type=positive, required=True, help="number of subwords"),
    option(
        "--pairs",
        type=positive,
        default=1_000_000,
        help="learn from at most this many random pairs of the text (default: %(default)s)",
    ),
    option("--seed", type=count, default=1, help="seed of the random choice (default: %(default)s)"),
    option("--kind", choices=get_args(TaskKind), default="translation", help="kind of the task (default: %(default)s)"),
)
def subwords(arguments: argparse.Namespace) -> None:
    """Learn a vocabulary of subwords that source and target share."""
    from transformer.text.subwords import Sample, learn, sampled, whole_symbols

    whole = whole_symbols(arguments.source, arguments.target) if arguments.kind == "parsing" else []
    texts = sampled(arguments.source, arguments.target, Sample(arguments.pairs, arguments.seed))
    learn(texts, arguments.vocabulary, arguments.output, whole)


@command(
    path("subwords", "the vocabulary"),
    path("source", "text"),
    path("target", "text"),
    writes("output", "path to write to, without .source and .target", files=(".source", ".target")),
    option(
        "--than",
        type=positive,
        required=True,
        metavar="SUBWORDS",
        help="write pairs with more than this many subwords on a side, with its end",
    ),
)
def longer(arguments: argparse.Namespace) -> None:
    """Write the pairs of a text that are too long for training."""
    from transformer.text.lines import longer as longer_of

    sides = (arguments.output.with_name(f"{arguments.output.name}.{side}") for side in ("source", "target"))
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(atomic(side)) for side in sides]
        for pair in longer_of(arguments.source, arguments.target, arguments.subwords, arguments.than):
            for stream, line in zip(streams, pair, strict=True):
                stream.write(f"{line}\n".encode())


@command(
    path("subwords", "the vocabulary"),
    path("texts", "texts that will be decoded or scored", nargs="+"),
    option(
        "--limits",
        type=limits,
        default={},
        metavar="PART=MODEL:SUBWORDS,...",
        help="for the texts PART.*: which of the models that read them has the fewest positions, and how many",
    ),
)
def check(arguments: argparse.Namespace) -> None:
    """Check that models can decode or score each line of some texts."""
    from transformer.text.lines import WITHOUT, check_file
    from transformer.text.subwords import Subwords

    subwords = Subwords(arguments.subwords)
    for text in arguments.texts:
        check_file(text, subwords, arguments.limits.get(text.stem, WITHOUT))


@command(
    path("subwords", "the vocabulary"),
    path("source", "text"),
    path("target", "text"),
    writes(
        "output",
        "path to write to, without .ids.npy; lines that cannot be decoded are refused unless its name is train",
        files=TOKEN_FILES,
    ),
)
def encode(arguments: argparse.Namespace) -> None:
    """Encode a part of a corpus as ids."""
    from transformer.text.lines import check_file
    from transformer.text.subwords import Subwords, encode_pairs
    from transformer.text.tokens import write_pairs

    subwords = Subwords(arguments.subwords)
    if arguments.output.name != "train":
        for text in (arguments.source, arguments.target):
            check_file(text, subwords)
    parts = encode_pairs(arguments.source, arguments.target, arguments.subwords, arguments.threads)
    if half := write_pairs(arguments.output, parts, len(subwords), subwords.sha256):
        print(
            f"warning: {arguments.source} and {arguments.target}: {half:,} pairs have a side without a subword; remove "
            "them",
            file=sys.stderr,
        )
