"""Commands that score translations, compare systems and inspect packages."""

import argparse
import contextlib
import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.cli.command import batch_tokens, command, option, packaged, path, positive, trust, writes
from transformer.support.files import InputError, as_json, atomic, read_parallel, stream_lines, write_output
from transformer.support.languages import not_languages
from transformer.support.strict import read_config

if TYPE_CHECKING:
    from transformer.evaluation.perplexity import OfLength
    from transformer.package.loading import Package
    from transformer.text.tokens import Pairs


@command(
    packaged(),
    trust,
    path("source", "text that was translated"),
    path("target", "its translation, or linearised trees, for the perplexity"),
    path("reference", "what --translations are compared with: reference translations, or gold trees"),
    path("translations", "output of `translate` for the source"),
    path("record", "output of `translate --record` for these translations"),
    writes("output", "scores.json"),
    option("--part", required=True, choices=("dev", "test"), help="name of the part"),
    batch_tokens(4096),
    torch=True,
)
def score(arguments: argparse.Namespace) -> None:
    """Score the translations of a part: perplexity, then BLEU in two ways and chrF, or brackets."""
    from transformer.corpora.markup import check_plain
    from transformer.decoding.record import read_record
    from transformer.evaluation.metrics import Output
    from transformer.evaluation.perplexity import perplexity as perplexity_of
    from transformer.evaluation.score import score as score_part
    from transformer.evaluation.tokenisers import missing
    from transformer.package.loading import load_package
    from transformer.support.device import choose_device

    check_plain(arguments.reference)
    with atomic(arguments.output) as stream:
        loaded = load_package(arguments.package, choose_device(), arguments.trust_code)
        if loaded.config.kind == "translation":
            for _, fault in not_languages(target=loaded.config.target):  # BLEU would refuse it after the work
                raise InputError(f"{arguments.package}: its target {fault}; make corpus and package again")
            if fault := missing(loaded.config.target):
                raise InputError(f"{arguments.package}: {fault}")
        record = read_record(arguments.record, arguments.translations, loaded.config)
        with _text(arguments, loaded) as pairs:
            if len(pairs) != record.lines:
                has = f"they have {len(pairs)} lines, but {arguments.translations} has {record.lines}"
                raise InputError(f"{has}; give the text that was translated")
            measured = perplexity_of(loaded, pairs, arguments.batch_tokens)
        output = Output(measured, arguments.translations, arguments.reference, loaded.config.target)
        scored = score_part(loaded.config, arguments.part, record, output)
        stream.write(as_json(scored))
    _warn(arguments.translations, scored.get("notes", ()))


def _warn(translations: Path, notes: Iterable[str]) -> None:
    for note in notes:
        print(f"warning: {translations}: {note}", file=sys.stderr)


@contextlib.contextmanager
def _text(arguments: argparse.Namespace, package: "Package") -> Iterator["Pairs"]:
    """The ids of --source and --target as `package` reads them. InputErrors then begin with the names of both files."""
    from transformer.corpora.markup import check_plain
    from transformer.support.device import keep_freed_memory
    from transformer.text.lines import check_line
    from transformer.text.subwords import encode_pairs
    from transformer.text.tokens import Pairs

    source, target = arguments.source, arguments.target
    for text in (source, target):
        check_plain(text)
        for number, line in enumerate(stream_lines(text), start=1):
            check_line(f"{text}, line {number}", line)
    pairs = Pairs.of(encode_pairs(source, target, arguments.package / "subwords.model", 1, package.as_read))
    keep_freed_memory()
    try:
        yield pairs
    except InputError as error:
        raise InputError(f"{source} and {target}: {error}") from error


@command(
    path("baseline", "translations by one system"),
    path("system", "translations by another system"),
    path("reference", "reference translations"),
    writes("output", "comparison.json"),
    option("--resamples", type=positive, default=1000, help="number of resamples of each test (default: 1000)"),
    option(
        "--language",
        default="und",
        help="language of the translations, which chooses the tokeniser of BLEU (default: und, for none)",
    ),
)
def compare(arguments: argparse.Namespace) -> None:
    """Test whether two systems differ in BLEU: paired bootstrap and approximate randomisation."""
    from transformer.corpora.markup import check_plain
    from transformer.evaluation.bleu import notes
    from transformer.evaluation.significance import compare as comparison_of

    for _, fault in not_languages(language=arguments.language):
        raise InputError(f"--language: {fault}")
    for text in (arguments.baseline, arguments.system, arguments.reference):
        check_plain(text)
    with atomic(arguments.output) as stream:
        baseline, _ = read_parallel(arguments.baseline, arguments.reference)
        system, references = read_parallel(arguments.system, arguments.reference)
        stream.write(
            as_json(asdict(comparison_of(baseline, system, references, arguments.resamples, arguments.language)))
        )
    _warn(arguments.system, notes(system, references, arguments.language))


def _translated(
    arguments: argparse.Namespace, package: "Package", pairs: "Pairs", rows: Sequence["OfLength"]
) -> Iterator[Sequence[object]]:
    """The cells that --translate adds: headings, then each row. Cells are empty for pairs too long for the model."""
    from transformer.decoding.search import Search, decoding
    from transformer.evaluation.bleu import Counts, sacrebleu_of
    from transformer.evaluation.by_length import counts_by_length

    search, (sources, targets) = Search.of(package.config), read_parallel(arguments.source, arguments.target)
    texts = (list(map(package.as_read, sources)), targets)
    how = (arguments.translate, max(1, arguments.batch_tokens // search.width))
    with decoding(package, arguments.package, search, "float32", 1) as decode:
        counts = counts_by_length(package, decode, texts, pairs.lengths.max(1), rows, *how)
    yield ("sacrebleu", *Counts._fields)
    for each in counts:
        yield (sacrebleu_of(each), *each) if each else [""] * (1 + len(Counts._fields))


@command(
    packaged(),
    trust,
    path("source", "text"),
    path("target", "its translation"),
    option(
        "--by-length",
        type=positive,
        nargs="+",
        action="extend",
        metavar="SUBWORDS",
        help="print a csv with a row for each of these maximum lengths that has pairs, and one for longer pairs",
    ),
    option(
        "--translate",
        type=positive,
        metavar="PAIRS",
        help="with --by-length: also translate at most this many pairs of each row, and print their sacreBLEU and its "
        "counts",
    ),
    batch_tokens(4096),
    torch=True,
)
def perplexity(arguments: argparse.Namespace) -> None:
    """Print the perplexity per subword of a parallel text."""
    from transformer.evaluation.perplexity import OfLength, perplexity_by_length
    from transformer.evaluation.perplexity import perplexity as perplexity_of
    from transformer.package.loading import load_package
    from transformer.support.device import choose_device

    if arguments.translate and not arguments.by_length:
        raise InputError("--translate needs --by-length; give both")
    loaded = load_package(arguments.package, choose_device(), arguments.trust_code)
    written = io.StringIO()
    with _text(arguments, loaded) as pairs:
        if arguments.by_length:
            rows = perplexity_by_length(loaded, pairs, arguments.by_length, arguments.batch_tokens)
            table: list[Sequence[object]] = [OfLength._fields, *rows]
            if arguments.translate:
                more = _translated(arguments, loaded, pairs, rows)
                table = [(*row, *cells) for row, cells in zip(table, more, strict=True)]
            csv.writer(written, lineterminator="\n").writerows(table)
        else:
            written.write(f"{perplexity_of(loaded, pairs, arguments.batch_tokens):.4f}\n")
    write_output(written.getvalue())


@command(
    path("config", "lengths, widths and the other sizes of Table 1"), writes("output", "complexity.json"), torch=True
)
def complexity(arguments: argparse.Namespace) -> None:
    """Measure the layers of Table 1: time, FLOPs, memory, sequential operations, path lengths."""
    from transformer.evaluation.complexity import complexity as complexity_of
    from transformer.evaluation.layer_sizes import LayerSizes

    sizes = read_config(LayerSizes, arguments.config)
    with atomic(arguments.output) as stream:
        stream.write(as_json(complexity_of(sizes)))


@command(packaged(), trust, torch=True)
def describe(arguments: argparse.Namespace) -> None:
    """Print a description of a package: its model, corpus, training and decoding."""
    import torch

    from transformer.package.description import describe as description
    from transformer.package.loading import load_package

    write_output(f"{description(load_package(arguments.package, torch.device('cpu'), arguments.trust_code))}\n")
