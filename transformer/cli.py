"""`python -m transformer COMMAND`: a command for each stage, so that all works without Snakemake too."""

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from transformer.config import (
    Decoding,
    Download,
    Files,
    Grammar,
    LibreOfficeHelp,
    Packages,
    ParsedText,
    RunConfig,
    Sample,
    SelfTraining,
    TaskCorpus,
    Treebank,
    read_experiment,
)
from transformer.files import (
    InputError,
    atomic,
    decode_lines,
    read_json,
    read_lines,
    read_parallel,
    stream_lines,
    write_json,
    write_lines,
)
from transformer.strict import load, plain, read_config

if TYPE_CHECKING:
    from transformer.data.tokens import Pairs
    from transformer.decoding.translate import Search, Translation
    from transformer.package import Package


def plan(arguments: argparse.Namespace) -> None:
    """Print what an experiment takes, before any of it is fetched or trained."""
    from transformer.plan import plan as tables

    print(tables(read_experiment(arguments.configfile)), end="")


def fetch(arguments: argparse.Namespace) -> None:
    """Download a file, or find it in a mirror, and check it."""
    from transformer.data.fetch import download

    known = load(Download, {"bytes": arguments.bytes, "sha256": arguments.sha256}, "--bytes, --sha256")
    download(arguments.url, arguments.output, known.bytes, known.sha256, arguments.mirror)


def pages(arguments: argparse.Namespace) -> None:
    """Download the help pages of LibreOffice and check them."""
    from transformer.data import libreoffice

    libreoffice.fetch(read_config(Packages, arguments.config), arguments.output)


def corpus(arguments: argparse.Namespace) -> None:
    """Write the parts of a corpus: clean, split, aligned."""
    from transformer.data import corpora, grammar, libreoffice, self_training
    from transformer.parsing import treebank

    task = read_config(TaskCorpus, arguments.config)
    names = {"name": task.name, "source": task.source, "target": task.target}
    folder = arguments.output_dir
    match task.corpus:
        case LibreOfficeHelp():
            libreoffice.prepare(task.corpus, _needed(arguments, "text"), folder, **names)
        case Files():
            corpora.prepare_files(task.corpus, arguments.downloads, folder, **names)
        case Treebank():
            treebank.write_corpus(task.corpus, arguments.downloads, folder, **names)
        case Grammar():
            grammar.write_corpus(task.corpus, folder, **names)
        case SelfTraining():
            gold, parses, sure = (_needed(arguments, option) for option in ("gold", "parses", "log_probabilities"))
            trees, removed = self_training.best_parses(gold, parses, sure, task.corpus.keep)
            self_training.write_corpus(task.corpus, gold, trees, removed, folder, **names)
        case ParsedText():
            gold = _needed(arguments, "gold")
            parsed = self_training.parsed_text(task.corpus, gold, arguments.downloads, folder)
            self_training.write_corpus(task.corpus, gold, parsed, {}, folder, **names)


def sentences(arguments: argparse.Namespace) -> None:
    """Draw sentences of a text, to be parsed, and write their words as the Penn Treebank does."""
    from transformer.parsing.treebank import plain_sentences

    least, most = arguments.words
    write_lines(arguments.output, plain_sentences(arguments.text, arguments.count, (least, most), arguments.seed))


def _needed(arguments: argparse.Namespace, option: str) -> Path:
    path: Path | None = getattr(arguments, option)
    if path is None:
        raise InputError(f"{arguments.config}: this corpus needs --{option.replace('_', '-')}")
    return path


def subwords(arguments: argparse.Namespace) -> None:
    """Learn the shared vocabulary of source and target."""
    from transformer.data.subwords import draw, learn
    from transformer.parsing.trees import symbols

    whole: list[str] = []
    if arguments.kind == "parsing":
        lines = stream_lines(arguments.source), stream_lines(arguments.target)
        whole = [f"\u2581{symbol}" for symbol in symbols(*lines)]
    sample = Sample(arguments.pairs, arguments.seed)
    texts = draw(arguments.source, arguments.target, sample)
    learn(texts, arguments.vocabulary, arguments.output, whole, arguments.threads)


def encode(arguments: argparse.Namespace) -> None:
    """Turn a part of a corpus into ids."""
    from transformer.data.subwords import Subwords, encode_pairs
    from transformer.data.tokens import write_pairs

    parts = encode_pairs(arguments.source, arguments.target, arguments.subwords, arguments.threads)
    write_pairs(arguments.output, parts, len(Subwords(arguments.subwords)))


def train(arguments: argparse.Namespace) -> None:
    """Train a run, or go on with it; started by torchrun, as one of its processes."""
    from transformer.data.subwords import Subwords
    from transformer.training.device import choose_device, keep_freed_memory
    from transformer.training.distributed import joined
    from transformer.training.loop import Interrupted
    from transformer.training.run import train_run

    keep_freed_memory()
    with joined() as world:
        config = read_config(RunConfig, arguments.config)
        vocabulary = len(Subwords(arguments.subwords))
        train, dev = (_pairs(arguments.tokens / part, vocabulary) for part in ("train", "dev"))
        device = choose_device(world.local_rank)
        try:
            train_run(config, vocabulary, train, dev, arguments.output_dir, device, world, arguments.tensorboard)
        except Interrupted as interruption:
            if world.first:
                print(interruption, file=sys.stderr)
            world.leave(128 + interruption.number)
            sys.exit(128 + interruption.number)
        world.leave(0)


def _pairs(prefix: Path, vocabulary: int) -> "Pairs":
    """Encoded pairs. Raises InputError when they have ids beyond the vocabulary."""
    from transformer.data.tokens import Pairs

    pairs = Pairs(prefix)
    if (largest := int(pairs.ids.max(initial=0))) >= vocabulary:
        raise InputError(
            f"{prefix}: has id {largest}, but the vocabulary has {vocabulary} subwords; encode with this one"
        )
    return pairs


def package(arguments: argparse.Namespace) -> None:
    """Average checkpoints into a package."""
    from transformer.data.subwords import Subwords
    from transformer.package import save_package
    from transformer.training.checkpoint import average, read_metadata

    run = read_config(RunConfig, arguments.config)
    corpus, training = read_json(arguments.corpus), read_json(arguments.training)
    decoding = {"beam": arguments.beam, "alpha": arguments.alpha, "extra": arguments.extra}
    load(Decoding, decoding, "--beam, --alpha, --extra")
    steps = []
    for path in arguments.checkpoints:
        metadata = read_metadata(path)
        if json.loads(metadata.get("config", "null")) != run.identity():
            raise InputError(f"{path}: a checkpoint of another config than {arguments.config}; train that one")
        steps.append(json.loads(metadata["step"]))
    config = {
        "task": run.task,
        "kind": arguments.kind,
        "model": run.model,
        "seed": run.seed,
        "source": corpus.get("source"),
        "target": corpus.get("target"),
        "architecture": plain(run.architecture),
        "vocabulary": len(Subwords(arguments.subwords)),
        "decoding": decoding,
        "averaged": sorted(steps),
        "corpus": corpus,
        "training": training,
    }
    weights = average(arguments.checkpoints)
    save_package(arguments.output_dir, config, weights, arguments.subwords, arguments.history)


def readme(arguments: argparse.Namespace) -> None:
    """Write a package's README.md again, with its scores."""
    from transformer.package import write_readme

    write_readme(arguments.package, arguments.scores)


@contextlib.contextmanager
def _translations(
    arguments: argparse.Namespace, loaded: "Package", search: "Search", lines: Iterable[str]
) -> Iterator[Iterator["Translation"]]:
    """Lines as a package translates them; of a parser's hypotheses trees come first."""
    from transformer.decoding.translate import decoding, translate
    from transformer.parsing.parse import trees_first
    from transformer.parsing.trees import escaped
    from transformer.progress import Progress
    from transformer.training.device import keep_freed_memory, within_memory

    parsing = loaded.config.kind == "parsing"
    if parsing:
        lines = map(escaped, lines)
    keep_freed_memory()
    progress = Progress(f"{loaded.config.task} {loaded.config.model}", None, "line")
    decoder = decoding(loaded, arguments.package, search, arguments.precision, arguments.workers)
    remedy = f"lower --batch-tokens, {arguments.batch_tokens} now"
    remedy += f", or the beam, {search.width} now" if search.width > 1 else ""
    with contextlib.closing(progress), within_memory(str(arguments.package), remedy), decoder as decode:
        found = translate(loaded, lines, decode, max(1, arguments.batch_tokens // search.width), progress.update)
        yield (trees_first(loaded, each) for each in found) if parsing else found


def _print(lines: Iterable[str]) -> None:
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    sys.stdout.buffer.flush()


def translate(arguments: argparse.Namespace) -> None:
    """Translate standard input to standard output, a sentence a line."""
    from transformer.decoding.translate import Search
    from transformer.evaluation.attention_page import attention_page
    from transformer.package import load_package
    from transformer.training.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    config = loaded.config.decoding
    width = 1 if arguments.sample is not None else arguments.beam or config.beam
    parsing = loaded.config.kind == "parsing"
    search = Search(width, config.alpha, config.extra, arguments.sample, arguments.nbest or parsing)
    lines = decode_lines("standard input", sys.stdin.buffer)
    page = attention_page(arguments.attention, loaded) if arguments.attention else contextlib.nullcontext()
    sure = atomic(arguments.log_probabilities) if arguments.log_probabilities else contextlib.nullcontext()
    with page as show, sure as stream, _translations(arguments, loaded, search, lines) as found:
        for number, translation in enumerate(found, 1):
            hypotheses = translation.hypotheses[: None if arguments.nbest else 1]
            texts = loaded.subwords.decode([hypothesis.ids for hypothesis in hypotheses])
            if arguments.nbest:
                scored = zip(texts, hypotheses, strict=True)
                texts = [f"{number} ||| {text} ||| {hypothesis.score:.4f}" for text, hypothesis in scored]
            _print(texts)
            if stream:
                stream.write(f"{search.log_probability(hypotheses[0]):.6f}\n".encode())
            if show:
                show(number, translation)


def parse(arguments: argparse.Namespace) -> None:
    """Parse standard input to standard output, a bracketed tree a line; words apart as in the treebank: I do n't ."""
    from transformer.decoding.translate import Search
    from transformer.package import load_package
    from transformer.parsing.drawing import draw
    from transformer.parsing.trees import WORD, Tree, repair, tags_of
    from transformer.training.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    config = loaded.config
    if config.kind != "parsing":
        raise InputError(f"{arguments.package}: its kind is {config.kind}, not parsing; name a parser, or `translate`")
    search = Search(config.decoding.beam, config.decoding.alpha, config.decoding.extra, nbest=True)
    lines = decode_lines("standard input", sys.stdin.buffer)
    trees: dict[int, list[Tree]] = {}
    tagged = config.corpus.get("leaves") == "tags"
    parsed = repaired = 0
    drawing = atomic(arguments.svg) if arguments.svg else contextlib.nullcontext()
    with drawing as stream, _translations(arguments, loaded, search, lines) as found:
        for number, translation in enumerate(found, 1):
            text = ""
            if words := translation.line.split():
                [output] = loaded.subwords.decode([translation.hypotheses[0].ids])
                tokens = output.split()
                tree, changed = repair(tokens, words, tags_of(tokens, words) if tagged else [WORD] * len(words))
                parsed, repaired, text = parsed + 1, repaired + changed, str(tree)
                if stream:
                    trees[number] = [tree]
            _print([text])
        if stream:
            stream.write(draw(trees).encode())
    if repaired:
        print(f"{repaired} of {parsed} outputs were no tree over their sentence and were repaired", file=sys.stderr)


def draw(arguments: argparse.Namespace) -> None:
    """Draw the first three sentences of 5 to 15 words of a part as trees, gold beside parsed."""
    from transformer.parsing.drawing import draw as drawing
    from transformer.parsing.trees import read_parses, words

    parses = read_parses(read_lines(arguments.translations), arguments.reference)
    numbered = ((number, [gold, parse]) for number, (gold, parse, _) in enumerate(parses, 1))
    shown = islice((row for row in numbered if 5 <= len(words(row[1][0])) <= 15), 3)
    with atomic(arguments.output) as stream:
        stream.write(drawing(dict(shown), ["gold", "ours"]).encode())


def _encoded(arguments: argparse.Namespace, vocabulary: int) -> "Pairs":
    """Source and target as ids of the package's subwords; the files are gone, their maps stay."""
    from transformer.data.subwords import encode_pairs
    from transformer.data.tokens import write_pairs

    with tempfile.TemporaryDirectory() as folder:
        encoded = encode_pairs(arguments.source, arguments.target, arguments.package / "subwords.model", 1)
        write_pairs(Path(folder, "part"), encoded, vocabulary)
        return _pairs(Path(folder, "part"), vocabulary)


def score(arguments: argparse.Namespace) -> None:
    """Score the translations of a part: BLEU twice or brackets, and perplexity."""
    from transformer.evaluation.bleu import paper_bleu, sacrebleu
    from transformer.evaluation.brackets import bracket_scores, compare_parses
    from transformer.evaluation.perplexity import perplexity
    from transformer.package import load_package
    from transformer.training.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    config = loaded.config
    translations = read_lines(arguments.translations)
    pairs = _encoded(arguments, config.vocabulary)
    if len(translations) != len(pairs):
        raise InputError(
            f"{arguments.translations} has {len(translations)} lines and {arguments.source} {len(pairs)}; "
            "translate the same part"
        )
    record = {
        "task": config.task,
        "model": config.model,
        "seed": config.seed,
        "average": len(config.averaged),
        "part": arguments.part,
        "sentences": len(pairs),
        "beam": config.decoding.beam,
        "alpha": config.decoding.alpha,
        "perplexity": perplexity(loaded, pairs, arguments.batch_tokens),
    }
    if config.kind == "parsing":
        compared, repaired = compare_parses(translations, arguments.reference)
        short = bracket_scores(each for each in compared if each.length <= 40)  # as EVALB
        record["brackets"] = {**asdict(bracket_scores(compared)), "up_to_40_words": asdict(short), "repaired": repaired}
    else:
        _, references = read_parallel(arguments.translations, arguments.reference)
        record["sacrebleu"] = asdict(sacrebleu(translations, references))
        record["paper_bleu"] = asdict(paper_bleu(translations, references, config.target))
    write_json(arguments.output, record)


def compare(arguments: argparse.Namespace) -> None:
    """Test whether two systems differ in BLEU: paired bootstrap and approximate randomisation."""
    from transformer.evaluation.significance import compare as comparison_of

    baseline, _ = read_parallel(arguments.baseline, arguments.reference)
    system, references = read_parallel(arguments.system, arguments.reference)
    write_json(arguments.output, asdict(comparison_of(baseline, system, references, arguments.resamples)))


def perplexity(arguments: argparse.Namespace) -> None:
    """Print the perplexity of a subword of parallel text."""
    from transformer.evaluation.perplexity import perplexity as perplexity_of
    from transformer.package import load_package
    from transformer.training.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    pairs = _encoded(arguments, loaded.config.vocabulary)
    try:
        print(f"{perplexity_of(loaded, pairs, arguments.batch_tokens):.4f}")
    except InputError as error:
        raise InputError(f"{arguments.source} and {arguments.target}, {error}") from error


def describe(arguments: argparse.Namespace) -> None:
    """Print what a package is: its model, what that was made of, how it decodes."""
    import torch

    from transformer.description import describe as description
    from transformer.package import load_package

    print(description(load_package(arguments.package, torch.device("cpu"))))


def attention(arguments: argparse.Namespace) -> None:
    """Write the encoder's self-attention between the words of some sentences."""
    from transformer.evaluation.attention import word_attention
    from transformer.package import load_package
    from transformer.training.device import choose_device

    loaded = load_package(arguments.package, choose_device())
    layers = loaded.config.architecture.N
    layer = max(1, layers - 1) if arguments.layer is None else arguments.layer
    sentences = [asdict(word_attention(loaded, sentence, layer)) for sentence in arguments.sentences]
    write_json(arguments.output, {"layer": layer, "layers": layers, "sentences": sentences})


def export(arguments: argparse.Namespace) -> None:
    """Write a package as a model of CTranslate2 or as Marian of Hugging Face Transformers."""
    from transformer.export import to_ctranslate2, to_marian

    write = to_marian if arguments.to == "marian" else to_ctranslate2
    write(arguments.package, arguments.output)


def import_(arguments: argparse.Namespace) -> None:
    """Write a package from a Marian model of Hugging Face Transformers."""
    from transformer.export import from_marian

    from_marian(arguments.marian, arguments.output)


def positive(text: str) -> int:
    """A whole number above 0."""
    if (value := int(text)) < 1:
        raise ValueError(text)
    return value


def seed(text: str) -> int:
    """A whole number, 0 or above."""
    if (value := int(text)) < 0:
        raise ValueError(text)
    return value


class Parser(argparse.ArgumentParser):
    """Refuses a wrong command line as any other wrong input."""

    def error(self, message: str) -> NoReturn:
        """Raises InputError."""
        raise InputError(f"{message}; see {self.prog} --help")


def parser() -> Parser:
    """The command line."""
    top = Parser(prog="python -m transformer", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function: object, **required: str) -> argparse.ArgumentParser:
        text = str(function.__doc__)
        added = commands.add_parser(function.__name__.rstrip("_"), help=text, description=text)  # type: ignore[attr-defined]
        added.set_defaults(function=function)
        added.add_argument("--threads", type=positive, default=os.cpu_count(), help="CPU threads (default: all)")
        for name, text in required.items():
            added.add_argument(f"--{name.replace('_', '-')}", type=Path, required=True, metavar="PATH", help=text)
        return added

    added = command(plan)
    added.add_argument("--configfile", type=Path, nargs="*", default=[], metavar="PATH", help="over config/config.yaml")
    added = command(fetch, output="where to put the file")
    added.add_argument("--url", required=True)
    added.add_argument("--bytes", type=positive, required=True, help="its size")
    added.add_argument("--sha256", required=True)
    added.add_argument(
        "--mirror",
        type=Path,
        default=os.environ.get("TRANSFORMER_MIRROR") or None,
        metavar="PATH",
        help="folder laid out as host/path that is looked into first (default: $TRANSFORMER_MIRROR)",
    )
    command(pages, config="the packages", output="the text, a segment a line")
    added = command(corpus, config="the corpus as a task uses it", output_dir="folder for its parts")
    added.add_argument("--text", type=Path, metavar="PATH", help="the fetched text")
    added.add_argument("--downloads", type=Path, default="results/downloads", metavar="PATH", help="what `fetch` got")
    added.add_argument("--gold", type=Path, metavar="PATH", help="folder of the gold trees")
    added.add_argument("--parses", type=Path, metavar="PATH", help="parses of the plain sentences")
    added.add_argument("--log-probabilities", type=Path, metavar="PATH", help="of the parses, from `translate`")
    added = command(sentences, text="a sentence a line", output="the sentences")
    added.add_argument("--count", type=positive, required=True, help="how many")
    added.add_argument("--words", type=positive, nargs=2, required=True, metavar=("LEAST", "MOST"))
    added.add_argument("--seed", type=int, default=1)
    added = command(subwords, source="text", target="text", output="the vocabulary")
    added.add_argument("--vocabulary", type=positive, required=True, help="how many subwords")
    added.add_argument("--pairs", type=positive, default=1_000_000, help="learn from so many, drawn from a larger text")
    added.add_argument("--seed", type=int, default=1, help="of the drawing")
    added.add_argument("--kind", choices=("translation", "parsing"), default="translation")
    command(encode, subwords="the vocabulary", source="text", target="text", output="path without .ids.npy")
    added = command(
        train,
        config="the run's config",
        subwords="the vocabulary",
        tokens="folder of ids",
        output_dir="the run's folder",
    )
    added.add_argument(
        "--tensorboard",
        type=Path,
        default=os.environ.get("TRANSFORMER_TENSORBOARD") or None,
        metavar="PATH",
        help="folder for the history as TensorBoard shows it (default: $TRANSFORMER_TENSORBOARD)",
    )
    added = command(
        package,
        config="the run's config",
        subwords="the vocabulary",
        corpus="corpus.json",
        training="training.json",
        history="history.csv",
        output_dir="folder for the package",
    )
    added.add_argument("--checkpoints", type=Path, nargs="+", required=True, metavar="PATH")
    added.add_argument("--kind", choices=("translation", "parsing"), default="translation")
    added.add_argument("--beam", type=int, default=4)
    added.add_argument("--alpha", type=float, default=0.6, help="length penalty")
    added.add_argument("--extra", type=int, default=50, help="longest output: input + this many subwords")
    added = command(readme, package="folder of a trained model")
    added.add_argument("--scores", type=Path, nargs="*", default=[], metavar="PATH", help="files of `score`")
    added = command(translate, package="folder of a trained model")
    method = added.add_mutually_exclusive_group()
    method.add_argument("--beam", type=positive, help="beam size, 1 for greedy search (default: the package's)")
    method.add_argument("--sample", type=seed, metavar="SEED", help="draw from the model, by seed and line number")
    added.add_argument(
        "--nbest", action="store_true", help="all found, best first, of a parser trees first: LINE ||| TEXT ||| SCORE"
    )
    added.add_argument(
        "--attention", type=Path, metavar="PATH", help="write an HTML page of the attention, for a few lines"
    )
    added.add_argument("--log-probabilities", type=Path, metavar="PATH", help="write log P a subword of each line")
    added.add_argument("--batch-tokens", type=positive, default=8192, help="source subwords x beam of a batch")
    added.add_argument("--workers", type=positive, default=1, help="processes, each with so many threads")
    added.add_argument(
        "--precision",
        choices=("float32", "bfloat16", "int8"),
        default="float32",
        help="of the projections and the softmax; bfloat16 and int8 are faster for large models",
    )
    added = command(parse, package="folder of a trained parser")
    added.set_defaults(precision="float32", workers=1)
    added.add_argument("--svg", type=Path, metavar="PATH", help="draw the trees, too")
    added.add_argument("--batch-tokens", type=positive, default=8192, help="source subwords x beam of a batch")
    command(draw, reference="gold trees", translations="what `translate` wrote", output="the drawing, as svg")
    added = command(
        score,
        package="folder of a trained model",
        source="text of the part",
        target="translations, or parses, for the perplexity",
        reference="translations, or gold trees, to compare with",
        translations="what the model wrote",
        output="scores.json",
    )
    added.add_argument("--part", required=True, help="the part's name: dev or test")
    added.add_argument("--batch-tokens", type=positive, default=4096, help="padded subwords of a batch")
    added = command(
        compare,
        baseline="translations by one system",
        system="those by another",
        reference="what both are compared with",
        output="comparison.json",
    )
    added.add_argument("--resamples", type=positive, default=1000, help="of each test")
    added = command(perplexity, package="folder of a trained model", source="text", target="its translation")
    added.add_argument("--batch-tokens", type=positive, default=4096, help="padded subwords of a batch")
    command(describe, package="folder of a trained model")
    added = command(attention, package="folder of a trained model", output="attention.json")
    added.add_argument("--layer", type=int, help="counted from 1 (default: the last but one)")
    added.add_argument("sentences", nargs="+", help="words apart by blanks")
    added = command(export, package="folder of a trained model", output="new folder")
    added.add_argument("--to", choices=("ctranslate2", "marian"), required=True)
    command(import_, marian="folder of a Marian model", output="folder for the package")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Wrong input, or a file that cannot be used, ends as a message on standard error and status 1."""
    try:
        arguments = parser().parse_args(argv)
        if arguments.command not in ("fetch", "pages", "corpus", "subwords", "encode", "sentences", "compare", "draw"):
            import torch

            torch.set_num_threads(arguments.threads)
        arguments.function(arguments)
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 1
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
