"""Commands that translate and parse."""

import argparse
import contextlib
import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from transformer.cli.command import (
    alpha,
    batch_tokens,
    check_sentences,
    command,
    count,
    one_of,
    option,
    packaged,
    path,
    positive,
    threads,
    trust,
    writes,
)
from transformer.support.files import (
    InputError,
    as_json,
    atomic,
    is_open_as,
    read_lines,
    text_lines,
    write_json,
    write_output,
    write_text,
)

if TYPE_CHECKING:
    from transformer.decoding.search import Decode, Search
    from transformer.decoding.translate import Translation
    from transformer.package.loading import Package
    from transformer.trees.tree import Tree

LINE = "standard input, line"


@contextlib.contextmanager
def _translations(
    loaded: "Package",
    folder: Path,
    search: "Search",
    decoder: contextlib.AbstractContextManager["Decode"],
    tokens: int,
) -> Iterator[Iterator["Translation"]]:
    """The translations of the lines of standard input; those that a person types, one by one."""
    from transformer.support.device import keep_freed_memory, within_memory
    from transformer.support.progress import Progress

    if is_open_as(0, Path("/dev/stdout")):  # it would read what it writes, without end
        raise InputError("standard input and standard output are one file; name another file after >")
    lines = text_lines("standard input", sys.stdin.buffer)
    keep_freed_memory()
    typed = sys.stdin.isatty()
    if typed:
        print("Type a sentence and press Enter. Ctrl-D ends.", file=sys.stderr)
        shown: contextlib.AbstractContextManager[Progress | None] = contextlib.nullcontext()
    else:
        shown = contextlib.closing(Progress(f"{loaded.config.task} {loaded.config.model}", None, "line"))
    remedy = f"reduce --batch-tokens (now {tokens})"
    remedy += f" or the beam (now {search.width})" if search.width > 1 else ""
    with shown as progress, within_memory(str(folder), remedy), decoder as decode:
        report = progress.update if progress else lambda _: None
        yield _translated(loaded, lines, decode, max(1, tokens // search.width), report, LINE, 1 if typed else None)


def _translated(loaded: "Package", lines: Iterable[str], decode: "Decode", *how: Any) -> Iterator["Translation"]:
    """The output of `translate`, whose further arguments are `how`. Of a parser's hypotheses, trees come first.

    At the end, a warning counts the lines that are not empty but have no subword.
    """
    from transformer.decoding.parse import trees_first
    from transformer.decoding.translate import translate

    void = []
    for number, translation in enumerate(translate(loaded, map(loaded.as_read, lines), decode, *how), 1):
        if len(translation.source) == 1 and translation.line.strip():
            void.append(number)
        yield trees_first(translation) if loaded.config.kind == "parsing" else translation
    if void:
        more = f" and {len(void) - 1:,} more" if void[1:] else ""
        print(f"warning: {LINE} {void[0]}{more}: the line has no subword, so the model reads nothing", file=sys.stderr)


def _output(file: Path | None) -> contextlib.AbstractContextManager[BinaryIO | None]:
    return atomic(file) if file else contextlib.nullcontext()


@command(
    packaged(),
    trust,
    one_of(
        option("--beam", type=positive, help="beam size, 1 for greedy search (default: the package's)"),
        option("--sample", type=count, metavar="SEED", help="sample from the model, by seed and line number"),
    ),
    option("--alpha", type=alpha, help="length penalty of the beam (default: the package's)"),
    option(
        "--early-stop",
        action="store_true",
        help="drop a hypothesis when it could not win (with --nbest, not be among the best) by ending with the next "
        "subword. The paper's search asks this at the greatest length, which is slower. With an alpha of 0.6, few "
        "translations change; with a larger one, more",
    ),
    option(
        "--nbest",
        action="store_true",
        help="print all hypotheses, best first (a parser's trees before others), as LINE ||| TEXT ||| SCORE",
    ),
    writes("log-probabilities", "write log P per subword of each line to this file", required=False),
    writes("record", "write how the lines were translated to this file, for `score`", required=False),
    batch_tokens(None),
    option(
        "--workers",
        type=threads,
        default=1,
        help="number of processes on a CPU, each with --threads threads (default: 1)",
    ),
    option(
        "--precision",
        choices=("float32", "bfloat16", "int8"),
        default="float32",
        help="precision of projections and logits (default: float32); bfloat16 is faster for large models; int8 needs "
        "--engine ctranslate2",
    ),
    option(
        "--engine",
        choices=("pytorch", "ctranslate2"),
        default="pytorch",
        help="program that searches (default: pytorch). ctranslate2 is faster on CPUs than the paper's search "
        "(pip install 'ctranslate2>=4.8'). It finishes a sentence when as many hypotheses as the beam have ended. Its "
        "own length penalty is length^p; our penalty ranks the hypotheses that it finds. The longest line of a batch "
        "sets the length limit of all its lines",
    ),
    torch=True,
)
def translate(arguments: argparse.Namespace) -> None:
    """Translate standard input to standard output, one sentence per line."""
    from transformer.decoding.record import Record
    from transformer.decoding.search import Search, decoding
    from transformer.decoding.translate import padded_subwords
    from transformer.package.loading import load_package
    from transformer.support.device import choose_device

    for name, given in (("alpha", arguments.alpha is not None), ("early-stop", arguments.early_stop)):
        if given and arguments.sample is not None:
            raise InputError(f"--{name} applies to beam search, but --sample draws without a beam; give one of the two")
    loaded = load_package(arguments.package, choose_device(), arguments.trust_code)
    if loaded.config.kind == "parsing":
        print(f"{arguments.package} is a parser and prints its output as it is; for trees run parse", file=sys.stderr)
    options = (arguments.beam, arguments.sample, arguments.nbest, arguments.alpha, arguments.early_stop)
    search = Search.of(loaded.config, *options)
    sure, made = _output(arguments.log_probabilities), _output(arguments.record)
    tokens = arguments.batch_tokens or padded_subwords(loaded.model.embedding.device, arguments.precision)
    how = (loaded, arguments.package, search, arguments.precision, arguments.workers)
    if arguments.engine == "ctranslate2":
        from transformer.export.ctranslate2 import by_ctranslate2

        decoder = by_ctranslate2(*how, LINE)
    else:
        decoder = decoding(*how)
    translating = _translations(*how[:3], decoder, tokens)
    number, empty, printed = 0, 0, hashlib.sha256()
    with sure as stream, made as note, translating as translations:
        for number, translation in enumerate(translations, 1):
            if arguments.nbest:
                scored = zip(translation.texts, translation.hypotheses, strict=True)
                lines = [f"{number} ||| {text} ||| {hypothesis.score:.4f}\n" for text, hypothesis in scored]
            else:
                lines = [f"{translation.texts[0]}\n"]
            printed.update(write_output("".join(lines)))
            empty += len(translation.source) > 1 and not translation.texts[0]
            if stream:
                stream.write(f"{search.log_probability(translation.hypotheses[0]):.6f}\n".encode())
        if note:
            record = Record(
                beam=search.width,
                alpha=search.alpha,
                extra=search.extra,
                sample=search.seed,
                precision=arguments.precision,
                batch_tokens=tokens,
                weights=loaded.config.sha256["model.safetensors"],
                lines=number,
                translations=printed.hexdigest(),
                engine=arguments.engine,
                early_stop=search.early,
            )
            note.write(as_json(asdict(record)))
    if empty and search.width > 1:
        print(
            f"the beam ranks an empty translation first for {empty} of {number} lines; try a larger --alpha (now "
            f"{search.alpha:g}) or --beam 1",
            file=sys.stderr,
        )


@command(
    packaged("folder of a trained parser"),
    trust,
    writes("svg", "also draw the trees, into this file", required=False),
    batch_tokens(None),
    torch=True,
)
def parse(arguments: argparse.Namespace) -> None:
    """Parse standard input, one sentence per line, to bracketed trees. Blanks separate words as in: I do n't ."""
    from transformer.decoding.parse import tree_of
    from transformer.decoding.search import Search, decoding
    from transformer.decoding.translate import padded_subwords
    from transformer.package.loading import load_package
    from transformer.support.device import choose_device
    from transformer.trees.drawing import draw

    loaded = load_package(arguments.package, choose_device(), arguments.trust_code)
    config = loaded.config
    if config.kind != "parsing":
        raise InputError(f"{arguments.package}: is for {config.kind}, not for parsing; name a parser")
    search, tagged = Search.of(config), config.corpus.get("leaves") == "tags"
    trees: dict[int, list[Tree]] = {}
    parsed = repaired = 0
    how = (loaded, arguments.package, search)
    tokens = arguments.batch_tokens or padded_subwords(loaded.model.embedding.device)
    decoder = decoding(*how, "float32", 1)
    with _output(arguments.svg) as stream, _translations(*how, decoder, tokens) as translations:
        for number, translation in enumerate(translations, 1):
            text = ""
            if made := tree_of(translation, tagged):
                tree, changed = made
                parsed, repaired, text = parsed + 1, repaired + changed, str(tree)
                if stream:
                    trees[number] = [tree]
            write_output(f"{text}\n")
        if stream:
            stream.write(draw(trees).encode())
    if repaired:
        print(f"{repaired} of {parsed} outputs were not trees over their sentence and were repaired", file=sys.stderr)


@command(
    path("reference", "gold trees"),
    path("translations", "output of `translate`"),
    writes("output", "svg file to write"),
)
def draw(arguments: argparse.Namespace) -> None:
    """Draw trees of a part, gold beside parsed: of its first sentences of 5 to 15 words, one right and two wrong."""
    from transformer.trees.drawing import draw_examples

    write_text(arguments.output, draw_examples(read_lines(arguments.translations), arguments.reference))


@command(
    packaged(),
    trust,
    writes("output", "JSON file to write"),
    option("--layer", type=count, help="layer of the encoder, from 1 (default: the last but one)"),
    option("sentences", nargs="+", help="each in quotes; blanks separate its words"),
    torch=True,
)
def attention(arguments: argparse.Namespace) -> None:
    """Write the encoder's self-attention between the words of some sentences as JSON (figures 3 to 5)."""
    from transformer.evaluation.attention import attention_record
    from transformer.package.loading import load_package
    from transformer.support.device import choose_device, within_memory

    check_sentences(arguments.sentences)
    loaded = load_package(arguments.package, choose_device(), arguments.trust_code)
    lines = list(map(loaded.as_read, arguments.sentences))
    with within_memory(str(arguments.package), "give shorter sentences"):
        write_json(arguments.output, attention_record(loaded, lines, arguments.layer))
