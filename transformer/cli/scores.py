"""Commands that score, compare and look into packages."""

import argparse
import csv
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from transformer.cli.command import batch_tokens, command, option, path, positive
from transformer.support.files import InputError, read_parallel, write_json
from transformer.support.strict import read_config

if TYPE_CHECKING:
    from transformer.text.tokens import Pairs

BATCH_TOKENS = 4096


def _pairs(arguments: argparse.Namespace, vocabulary: int) -> "Pairs":
    """Source and target as ids of the package's subwords."""
    from transformer.text.subwords import pairs_of

    return pairs_of(arguments.source, arguments.target, arguments.package / "subwords.model", vocabulary)


@command(
    path("package", "folder of a trained model"),
    path("source", "text of the part"),
    path("target", "translations, or parses, for the perplexity"),
    path("reference", "translations, or gold trees, to compare with"),
    path("translations", "what the model wrote"),
    path("record", "what `translate --record` wrote beside them (default: how is not known)", required=False),
    path("output", "scores.json"),
    option("--part", required=True, choices=("dev", "test")),
    batch_tokens(BATCH_TOKENS),
    torch=True,
)
def score(arguments: argparse.Namespace) -> None:
    """Score the translations of a part: BLEU twice or brackets, and perplexity."""
    from transformer.evaluation.score import score as score_part
    from transformer.package.package import load_package
    from transformer.support.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    texts = (arguments.source, _pairs(arguments, loaded.config.vocabulary), arguments.reference, arguments.translations)
    scores = score_part(loaded, arguments.part, *texts, arguments.batch_tokens, arguments.record)
    write_json(arguments.output, scores)


@command(
    path("baseline", "translations by one system"),
    path("system", "those by another"),
    path("reference", "what both are compared with"),
    path("output", "comparison.json"),
    option("--resamples", type=positive, default=1000, help="of each test"),
)
def compare(arguments: argparse.Namespace) -> None:
    """Test whether two systems differ in BLEU: paired bootstrap and approximate randomisation."""
    from transformer.evaluation.significance import compare as comparison_of

    baseline, _ = read_parallel(arguments.baseline, arguments.reference)
    system, references = read_parallel(arguments.system, arguments.reference)
    write_json(arguments.output, asdict(comparison_of(baseline, system, references, arguments.resamples)))


@command(
    path("package", "folder of a trained model"),
    path("source", "text"),
    path("target", "its translation"),
    option(
        "--by-length",
        type=positive,
        nargs="+",
        metavar="SUBWORDS",
        help="print a csv with a row for pairs of up to each of these numbers on a side, and one for longer ones",
    ),
    batch_tokens(BATCH_TOKENS),
    torch=True,
)
def perplexity(arguments: argparse.Namespace) -> None:
    """Print the perplexity of a subword of parallel text."""
    from transformer.evaluation.perplexity import OfLength, perplexity_by_length
    from transformer.evaluation.perplexity import perplexity as perplexity_of
    from transformer.package.package import load_package
    from transformer.support.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    pairs = _pairs(arguments, loaded.config.vocabulary)
    try:
        if arguments.by_length:
            rows = perplexity_by_length(loaded, pairs, arguments.by_length, arguments.batch_tokens)
            csv.writer(sys.stdout, lineterminator="\n").writerows([OfLength._fields, *rows])
            return
        print(f"{perplexity_of(loaded, pairs, arguments.batch_tokens):.4f}")
    except InputError as error:
        raise InputError(f"{arguments.source} and {arguments.target}, {error}") from error


@command(
    path("config", "lengths, widths and the rest of Table 1's sizes"), path("output", "complexity.json"), torch=True
)
def complexity(arguments: argparse.Namespace) -> None:
    """Measure the layers of Table 1: time, FLOPs, memory, sequential operations, path lengths."""
    from transformer.evaluation.complexity import complexity as complexity_of
    from transformer.evaluation.layer_sizes import LayerSizes

    write_json(arguments.output, complexity_of(read_config(LayerSizes, arguments.config)))


@command(path("package", "folder of a trained model"), torch=True)
def describe(arguments: argparse.Namespace) -> None:
    """Print what a package is: its model, what that was made of, how it decodes."""
    import torch

    from transformer.package.description import describe as description
    from transformer.package.package import load_package

    print(description(load_package(arguments.package, torch.device("cpu"))))


@command(
    path("package", "folder of a trained model"),
    path("output", "attention.json"),
    option("--layer", type=int, help="counted from 1 (default: the last but one)"),
    option("sentences", nargs="+", help="words apart by blanks"),
    torch=True,
)
def attention(arguments: argparse.Namespace) -> None:
    """Write the encoder's self-attention between the words of some sentences."""
    from transformer.evaluation.attention import attention_record
    from transformer.package.package import load_package
    from transformer.support.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    write_json(arguments.output, attention_record(loaded, arguments.sentences, arguments.layer))
