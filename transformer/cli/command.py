"""Commands: the decorator `@command` declares the arguments of the handler below it."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from transformer.corpora.usable import EMPTY, NO_SUBWORD, unusable
from transformer.package.defaults import HASHED
from transformer.support.cpu import cores
from transformer.support.digest import digest
from transformer.support.files import InputError, is_open_as, same_file
from transformer.support.strict import GREATEST_ALPHA, GREATEST_SEED

PACKAGE_FILES = [f"/{name}" for name in ("config.json", "README.md", *HASHED)]
Handler = Callable[[argparse.Namespace], None]
Arguments = Callable[[Any], object]  # adds arguments to an ArgumentParser or to one of its groups


@dataclass(frozen=True)
class Command:
    """A handler, its arguments, and whether it uses PyTorch."""

    handler: Handler
    arguments: tuple[Arguments, ...]
    torch: bool


def command(*arguments: Arguments, torch: bool = False) -> Callable[[Handler], Command]:
    """Turn a function into a command. It has the function's name, with - for _, and its docstring as help text."""
    return lambda handler: Command(handler, arguments, torch)


def option(*names: str, **settings: Any) -> Arguments:
    """An argument, with the parameters of `ArgumentParser.add_argument`."""
    return lambda added: added.add_argument(*names, **settings)


def path(
    name: str,
    text: str,
    required: bool = True,
    files: Sequence[str] = ("",),
    written: bool = False,
    **settings: Any,
) -> Arguments:
    """The option --NAME PATH, which names files to read or write: the path with each ending of `files`."""

    def add(added: Any) -> None:
        action = added.add_argument(f"--{name}", type=Path, required=required, metavar="PATH", help=text, **settings)
        action.files, action.written = files, written

    return add


writes = partial(path, written=True)


def packaged(text: str = "folder of a trained model", **settings: Any) -> Arguments:
    """The option --package PATH."""
    return path("package", text, files=PACKAGE_FILES, **settings)


trust = option(
    "--trust-code",
    action="store_true",
    default="TRANSFORMER_TRUST_CODE" in os.environ,  # the workflow's jobs, which made their packages
    help="run the code of the package's idea (idea.py), if it has one",
)


def one_of(*arguments: Arguments) -> Arguments:
    """Arguments that exclude each other."""

    def add(added: argparse.ArgumentParser) -> None:
        group = added.add_mutually_exclusive_group()
        for argument in arguments:
            argument(group)

    return add


def batch_tokens(default: int | None) -> Arguments:
    """The option --batch-tokens, with one meaning in all commands. Without a default, `padded_subwords` decides."""
    text = "padded subwords of a batch: source times beam, or for a perplexity those of the longer side"
    text += f" (default: {default or '8192 on a CPU, on a GPU chosen by its memory'})"
    return option("--batch-tokens", type=positive, default=default, help=text)


def _number(kind: type[int] | type[float], least: int, most: int) -> Callable[[str], Any]:
    """What reads a number from `least` to `most`. It raises ArgumentTypeError."""

    def read(text: str) -> int | float:
        with contextlib.suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        whole = "whole " if kind is int else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a {whole}number from {least} to {most:,}")

    return read


positive, count = _number(int, 1, GREATEST_SEED), _number(int, 0, GREATEST_SEED)
threads = _number(int, 1, 1024)  # PyTorch can handle no more
alpha = _number(float, 0, GREATEST_ALPHA)  # a length penalty


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InputError for a wrong command line."""

    def error(self, message: str) -> NoReturn:
        """Raises InputError."""
        raise InputError(f"{message}; see {self.prog} --help")


def parser(program: str, description: str | None, stages: Iterable[ModuleType]) -> Parser:
    """The parser of all commands of a program that `stages` define, in their order."""
    installed = Path(sys.argv[0]).name == program
    top = Parser(prog=program if installed else f"python -m {program}", description=description)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    defined = (each for stage in stages for each in vars(stage).values())
    for each in (each for each in defined if isinstance(each, Command)):
        text = each.handler.__doc__
        name = each.handler.__name__.replace("_", "-")
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(chosen=each)
        added.add_argument("--threads", type=threads, default=cores(), help="CPU threads (default: all)")
        added.add_argument("--code", nargs="+", help=argparse.SUPPRESS)  # from Snakemake; `check_code` explains it
        for argument in each.arguments:
            argument(added)
        added.set_defaults(paths=[action for action in added._actions if hasattr(action, "files")])
    return top


def parsed(commands: Parser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of a command line, by default that of this process. Raises InputError for a wrong one."""
    arguments, rest = commands.parse_known_args(argv)
    if rest:
        reads = arguments.command in ("translate", "parse") and not rest[0].startswith("-")
        remedy = f"; read it with < {rest[0]}" if reads else ""
        commands.error(f"unrecognized arguments: {' '.join(rest)}{remedy}")
    check_files(arguments)
    return arguments


def check_code(arguments: argparse.Namespace) -> None:
    """Raises InputError if the code of a command is no longer that with which Snakemake has planned it.

    Its result would count as that of the planned code, if this code is brought back before the next call.
    """
    name = arguments.chosen.handler.__name__
    if arguments.code and digest(name) not in arguments.code:
        raise InputError(f"the code of {name} has changed since Snakemake planned this job; call snakemake again")


def check_sentences(texts: Iterable[str]) -> None:
    """Raises InputError for a sentence of the command line that has no words or is not UTF-8."""
    for number, text in enumerate(texts, 1):
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"sentence {number}, {text!r}: not UTF-8; convert it (iconv -f ENCODING -t utf-8)")
        if unusable(text) in (EMPTY, NO_SUBWORD):
            raise InputError(f"sentence {number} has no words; write some, or leave it out")


def check_files(arguments: argparse.Namespace) -> None:
    """Raises InputError if a command would write one file twice, or a file that it also reads, or standard input.

    Also refuses to read a pipe such as <(COMMAND) of bash: many files are read twice, and it would then be empty.
    """
    named: list[tuple[str, Path, bool]] = []  # option, file, whether it is written
    for action in arguments.paths:
        given = getattr(arguments, action.dest)
        for each in given if isinstance(given, list) else filter(None, [given]):
            named += ((action.option_strings[0], Path(f"{each}{end}"), action.written) for end in action.files)
    for i, (one, file, written) in enumerate(named):
        if not written and file.is_fifo():
            raise InputError(f"{one}: {file} is a pipe, and a file is needed; write the text into one")
        for other, another, also_written in named[:i]:
            if (written or also_written) and one != other and same_file(file, another):
                raise InputError(f"{other} and {one} are both {another}; name two files")
        if written and (is_open_as(0, file) or is_open_as(1, file)):
            raise InputError(f"{one}: {file} is also standard input or output; name another file")
