"""Commands that train a run and turn it into a package."""

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, get_args

from transformer.cli.command import PACKAGE_FILES, alpha, command, count, option, packaged, path, positive, writes
from transformer.package.defaults import ALPHA, BEAM, EXTRA, TaskKind
from transformer.support.files import InputError, as_json, atomic
from transformer.support.strict import load, read_config

if TYPE_CHECKING:
    from transformer.text.lines import Limit

TOKENS = [f"/{part}.{kind}.npy" for part in ("train", "dev") for kind in ("ids", "offsets")]
MICRO_BATCHES = option(
    "--micro-batch-tokens",
    type=count,
    default=0,
    help="padded subwords of a side in one forward pass; fewer need less memory (default: 0, which stands for "
    "4096 on a CPU and 25000 on a GPU)",
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
    path("config", "the run's config"),
    path("subwords", "the vocabulary"),
    path("tokens", "folder of encoded parts", files=TOKENS),
    writes("output-dir", "the run's folder", files=("/history.csv", "/training.json")),
    path(
        "texts",
        "texts that will be decoded or scored: check each line first",
        False,
        nargs="*",
        action="extend",
        default=[],
    ),
    option(
        "--limits",
        type=limits,
        default={},
        metavar="PART=MODEL:SUBWORDS,...",
        help="for the texts PART.*: which of the models that read them has the fewest positions, and how many",
    ),
    path(
        "tensorboard",
        "folder for TensorBoard's files (default: $TRANSFORMER_TENSORBOARD)",
        required=False,
        default=os.environ.get("TRANSFORMER_TENSORBOARD") or None,
    ),
    MICRO_BATCHES,
    option(
        "--trainings-per-gpu",
        type=positive,
        default=1,
        help="share a GPU with other trainings that have this option, up to this many; not for torchrun (default: 1)",
    ),
    torch=True,
)
def train(arguments: argparse.Namespace) -> None:
    """Train a run, or resume it. torchrun can start several processes of this command."""
    from transformer.support.device import choose_device, keep_freed_memory, out_of_memory
    from transformer.text.lines import WITHOUT, check_file
    from transformer.text.subwords import Subwords
    from transformer.text.tokens import read_pairs
    from transformer.training.config import RunConfig, endless
    from transformer.training.distributed import process_group
    from transformer.training.run import train_run
    from transformer.training.signals import Interrupted

    keep_freed_memory()
    with process_group() as world:
        config = read_config(RunConfig, arguments.config)
        for warning in endless(config.training.warmup, config.training.steps) if world.first else []:
            print(f"warning: {arguments.config}: {warning}", file=sys.stderr)
        subwords = Subwords(arguments.subwords)
        for text in arguments.texts:
            check_file(text, subwords, arguments.limits.get(text.stem, WITHOUT))
        vocabulary = len(subwords)
        train, dev = (read_pairs(arguments.tokens / part, vocabulary, subwords.sha256) for part in ("train", "dev"))
        sharing = arguments.trainings_per_gpu if world.size == 1 else 1
        device = choose_device(world.local_rank, world.local_size, sharing)
        sharing = sharing if device.type == "cuda" else 1
        try:
            on = (device, world, arguments.tensorboard, arguments.micro_batch_tokens, sharing)
            train_run(config, vocabulary, train, dev, arguments.output_dir, *on)
        except Interrupted as interruption:
            if world.first:
                print(interruption, file=sys.stderr)
            sys.exit(128 + interruption.number)
        except InputError as error:
            if sharing == 1 or not out_of_memory(error):
                raise
            fewer = f"--trainings-per-gpu {sharing - 1} (now {sharing}), under Snakemake with --set-resources"
            fewer += f" train:trainings_per_gpu={sharing - 1} (or in your profile)"
            raise InputError(f"{error}; or let fewer trainings share a GPU: {fewer}") from error


@command(
    path("config", "the configs of the runs", nargs="+", action="extend"),
    path("subwords", "the vocabulary"),
    path("tokens", "folder of the encoded part train", files=TOKENS[:2]),
    writes("output", "JSON file with the seconds of a step of each run in each round"),
    MICRO_BATCHES,
    torch=True,
)
def step_time(arguments: argparse.Namespace) -> None:
    """Measure the time of a training step of several runs, which take turns. Nothing else should run meanwhile."""
    from transformer.evaluation.step_time import Setup, step_times
    from transformer.support.device import choose_device
    from transformer.text.subwords import Subwords
    from transformer.training.config import RunConfig

    configs = [read_config(RunConfig, each) for each in arguments.config]
    subwords = Subwords(arguments.subwords)
    of_process = (choose_device(), arguments.threads, arguments.micro_batch_tokens)
    with atomic(arguments.output) as stream:
        times = step_times(configs, Setup(len(subwords), subwords.sha256, arguments.tokens, *of_process))
        stream.write(as_json(times))


@command(
    path("config", "the run's config"),
    path("subwords", "the vocabulary"),
    path("corpus", "corpus.json"),
    path("training", "training.json"),
    path("history", "history.csv"),
    writes("output-dir", "folder for the package", files=PACKAGE_FILES),
    path("checkpoints", "checkpoints to average", nargs="+", action="extend"),
    option("--kind", choices=get_args(TaskKind), default="translation", help="kind of the task (default: %(default)s)"),
    option("--beam", type=positive, default=BEAM, help="beam size (default: %(default)s)"),
    option("--alpha", type=alpha, default=ALPHA, help="length penalty (default: %(default)s)"),
    option(
        "--extra",
        type=positive,
        default=EXTRA,
        help="limit of an output: input + this many subwords (default: %(default)s)",
    ),
)
def package(arguments: argparse.Namespace) -> None:
    """Average checkpoints and write a package."""
    from transformer.package.config import Decoding
    from transformer.package.making import make_package

    values = {"beam": arguments.beam, "alpha": arguments.alpha, "extra": arguments.extra}
    decoding = load(Decoding, values, "--beam, --alpha, --extra")
    files = (arguments.checkpoints, arguments.corpus, arguments.training, arguments.subwords, arguments.history)
    make_package(arguments.output_dir, arguments.config, arguments.kind, decoding, *files)


@command(
    packaged(),
    path("scores", "outputs of `score`", required=False, nargs="*", action="extend", default=[]),
)
def readme(arguments: argparse.Namespace) -> None:
    """Write a package's README.md again, with scores."""
    from transformer.evaluation.score import scores_in_words
    from transformer.package.config import read_package_config
    from transformer.package.readme import write_readme

    config = read_package_config(arguments.package)
    write_readme(arguments.package, config, list(scores_in_words(arguments.package, config, arguments.scores)))


@command(
    path("config", "the run's config"), writes("output", "JSON file with the shares of solved problems"), torch=True
)
def length(arguments: argparse.Namespace) -> None:
    """Train a decoder on short problems and test it on longer ones: a run of the study of length."""
    from transformer.length.config import LengthRun
    from transformer.length.run import run

    run(read_config(LengthRun, arguments.config), arguments.output)
