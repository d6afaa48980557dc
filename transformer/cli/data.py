"""Commands that plan an experiment, get its text and encode it."""

import argparse
import os
from typing import get_args

from transformer.cli.command import command, option, path, positive
from transformer.package.config import TaskKind
from transformer.support.files import write_lines
from transformer.support.strict import load, read_config

MIRROR = path(
    "mirror",
    "folder laid out as host/path that is looked into first (default: $TRANSFORMER_MIRROR)",
    required=False,
    default=os.environ.get("TRANSFORMER_MIRROR") or None,
)


@command(
    path("configfile", "over config/config.yaml", required=False, nargs="*", default=[]),
    torch=True,
)
def plan(arguments: argparse.Namespace) -> None:
    """Print what an experiment takes, before any of it is fetched or trained."""
    from transformer.experiment.config import read_experiment

    experiment = read_experiment(arguments.configfile)  # its faults are told at once: the next line loads PyTorch
    from transformer.experiment.plan import plan as plan_of

    print(plan_of(experiment), end="")


@command(
    path("output", "where to put the file"),
    option("--url", required=True),
    option("--bytes", type=positive, required=True, help="its size"),
    option("--sha256", required=True),
    MIRROR,
)
def fetch(arguments: argparse.Namespace) -> None:
    """Download a file, or find it in a mirror, and check it."""
    from transformer.corpora.fetch import Download, download

    known = load(Download, {"bytes": arguments.bytes, "sha256": arguments.sha256}, "--bytes, --sha256")
    download(arguments.url, arguments.output, known.bytes, known.sha256, arguments.mirror)


@command(path("config", "the packages"), path("output", "the text, a segment a line"), MIRROR)
def pages(arguments: argparse.Namespace) -> None:
    """Download the help pages of LibreOffice and check them."""
    from transformer.corpora.debian import DebianPackages
    from transformer.corpora.libreoffice import fetch

    fetch(read_config(DebianPackages, arguments.config), arguments.output, arguments.mirror)


@command(
    path("config", "the corpus as a task uses it"),
    path("output-dir", "folder for its parts"),
    path("text", "the fetched text", required=False),
    path("downloads", "what `fetch` got", required=False, default="results/downloads"),
    path("gold", "folder of the gold trees", required=False),
    path("parses", "parses of the plain sentences", required=False),
    path("log-probabilities", "of the parses, from `translate`", required=False),
)
def corpus(arguments: argparse.Namespace) -> None:
    """Write the parts of a corpus: clean, split, aligned."""
    from transformer.corpora.kinds import TaskCorpus
    from transformer.corpora.parts import Given, write_whole

    task = read_config(TaskCorpus, arguments.config)
    given = Given(
        arguments.config,
        arguments.downloads,
        arguments.text,
        arguments.gold,
        arguments.parses,
        arguments.log_probabilities,
    )
    write_whole(task.corpus, arguments.output_dir, given, name=task.name, source=task.source, target=task.target)


@command(
    path("text", "a sentence a line"),
    path("output", "the sentences"),
    option("--count", type=positive, required=True, help="how many"),
    option("--words", type=positive, nargs=2, required=True, metavar=("LEAST", "MOST")),
    option("--seed", type=int, default=1),
)
def sentences(arguments: argparse.Namespace) -> None:
    """Draw sentences of a text, to be parsed, and write their words as the Penn Treebank does."""
    from transformer.corpora.plain import plain_sentences

    least, most = arguments.words
    write_lines(arguments.output, plain_sentences(arguments.text, arguments.count, (least, most), arguments.seed))


@command(
    path("source", "text"),
    path("target", "text"),
    path("output", "the vocabulary"),
    option("--vocabulary", type=positive, required=True, help="how many subwords"),
    option("--pairs", type=positive, default=1_000_000, help="learn from so many, drawn from a larger text"),
    option("--seed", type=int, default=1, help="of the drawing"),
    option("--kind", choices=get_args(TaskKind), default="translation"),
)
def subwords(arguments: argparse.Namespace) -> None:
    """Learn the shared vocabulary of source and target."""
    from transformer.text.subwords import Sample, learn, sampled, whole_symbols

    whole = whole_symbols(arguments.source, arguments.target) if arguments.kind == "parsing" else []
    texts = sampled(arguments.source, arguments.target, Sample(arguments.pairs, arguments.seed))
    learn(texts, arguments.vocabulary, arguments.output, whole)


@command(
    path("subwords", "the vocabulary"),
    path("source", "text"),
    path("target", "text"),
    path("output", "path without .source and .target"),
    option("--than", type=positive, required=True, metavar="SUBWORDS", help="what one of the sides has more of"),
)
def longer(arguments: argparse.Namespace) -> None:
    """Write the pairs of a text that are too long to be learnt from."""
    from transformer.text.longer import longer as longer_of

    pairs = list(longer_of(arguments.source, arguments.target, arguments.subwords, arguments.than))
    for number, side in enumerate(("source", "target")):
        write_lines(arguments.output.with_name(f"{arguments.output.name}.{side}"), (pair[number] for pair in pairs))


@command(
    path("subwords", "the vocabulary"),
    path("source", "text"),
    path("target", "text"),
    path("output", "path without .ids.npy; lines that no model decodes are refused, unless it ends in /train"),
)
def encode(arguments: argparse.Namespace) -> None:
    """Turn a part of a corpus into ids."""
    from transformer.text.lines import check_file
    from transformer.text.subwords import Subwords, encode_pairs
    from transformer.text.tokens import write_pairs

    subwords = Subwords(arguments.subwords)
    if arguments.output.name != "train":
        for text in (arguments.source, arguments.target):
            check_file(text, subwords)
    parts = encode_pairs(arguments.source, arguments.target, arguments.subwords, arguments.threads)
    write_pairs(arguments.output, parts, len(subwords), subwords.sha256)
