"""Commands: the decorator `@command` declares the arguments of the handler below it."""

import argparse
import ast
import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NoReturn, TypeVar

from transformer.package.defaults import HASHED
from transformer.support.cpu import cores
from transformer.support.digest import digest
from transformer.support.files import InputError, is_open_as, same_file, write_output
from transformer.support.strict import GREATEST_ALPHA, GREATEST_SEED

MOST_THREADS = 1024
PACKAGE_FILES = [f"/{name}" for name in ("config.json", "README.md", *HASHED)]
STREAMS = {"standard input": 0, "standard output": 1}
N = TypeVar("N", int, float)
Handler = Callable[[argparse.Namespace], None]
Arguments = Callable[[Any], object]  # adds arguments to an ArgumentParser or to one of its groups


@dataclass(frozen=True)
class Command:
    """A handler, its arguments, whether it uses PyTorch, and whether it writes to standard output."""

    handler: Handler
    arguments: tuple[Arguments, ...]
    torch: bool
    prints: bool


def command(*arguments: Arguments, torch: bool = False, prints: bool = False) -> Callable[[Handler], Command]:
    """Turn a function into a command. It has the function's name, with - for _, and its docstring as help text."""
    return lambda handler: Command(handler, arguments, torch, prints)


def option(*names: str, **settings: Any) -> Arguments:
    """An argument, with the parameters of `ArgumentParser.add_argument`."""
    return lambda added: added.add_argument(*names, **settings)


def path(name: str, text: str, required: bool = True, files: Sequence[str] = ("",), **settings: Any) -> Arguments:
    """The option --NAME PATH, which names files to read: the path with each ending of `files`."""
    return _path(False, name, text, required, files, settings)


def writes(name: str, text: str, required: bool = True, files: Sequence[str] = ("",), **settings: Any) -> Arguments:
    """The option --NAME PATH, which names files to write: the path with each ending of `files`."""
    return _path(True, name, text, required, files, settings)


def _path(
    written: bool, name: str, text: str, required: bool, files: Sequence[str], settings: dict[str, Any]
) -> Arguments:
    def add(added: Any) -> None:
        action = added.add_argument(f"--{name}", type=Path, required=required, metavar="PATH", help=text, **settings)
        action.files, action.written = files, written

    return add


def packaged(text: str = "folder of a trained model") -> Arguments:
    """The option --package PATH."""
    return path("package", text, files=PACKAGE_FILES)


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


def positive(text: str) -> int:
    """A whole number above 0. Raises ArgumentTypeError."""
    return _number(text, int, 1, GREATEST_SEED)


def threads(text: str) -> int:
    """A number of threads that PyTorch can handle. Raises ArgumentTypeError."""
    if (value := positive(text)) > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text} is too many; give at most {MOST_THREADS}")
    return value


def count(text: str) -> int:
    """A whole number, 0 or above. Raises ArgumentTypeError."""
    return _number(text, int, 0, GREATEST_SEED)


def alpha(text: str) -> float:
    """A length penalty. Raises ArgumentTypeError."""
    return _number(text, float, 0, GREATEST_ALPHA)


def _number(text: str, kind: type[N], least: int, most: int) -> N:
    """A number from `least` to `most`. Raises ArgumentTypeError."""
    with contextlib.suppress(ValueError):
        # Python would also read 1_0, and digits of other scripts.
        if re.fullmatch(r"[-+.\dEe]+", text, re.ASCII) and least <= (value := kind(text)) <= most:
            return value
    whole = "whole " if kind is int else ""
    raise argparse.ArgumentTypeError(f"{text!r} is not a {whole}number from {least} to {most:,}")


def docstring(documented: Callable[..., object] | ModuleType) -> str:
    """The docstring of a function or a module, from its source where PYTHONOPTIMIZE=2 has dropped it."""
    if documented.__doc__:
        return documented.__doc__
    node: Any = ast.parse(inspect.getsource(documented))
    return ast.get_docstring(node.body[0] if isinstance(documented, FunctionType) else node) or ""


class Once(argparse.Action):
    """The action of an option. It refuses one of several values that is given twice: the last would win silently."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        """Raises the error of `Parser`."""
        if self.nargs in ("*", "+") and option and getattr(namespace, self.dest) is not self.default:
            parser.error(f"{option} is given twice; write all values behind one {option}")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InputError for a wrong command line."""

    def __init__(self, *arguments: Any, **settings: Any):
        super().__init__(*arguments, **settings)
        self.register("action", None, Once)

    def error(self, message: str) -> NoReturn:
        """Raises InputError."""
        raise InputError(f"{message}; see {self.prog} --help")

    def print_help(self, _: object = None) -> None:
        """Print the help. Raises the errors of `write_output`."""
        write_output(self.format_help())


def parser(description: str | None, stages: Iterable[ModuleType]) -> Parser:
    """The parser of all commands that `stages` define, in their order."""
    installed = Path(sys.argv[0]).name == "transformer"
    top = Parser(prog="transformer" if installed else "python -m transformer", description=description)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    defined = (each for stage in stages for each in vars(stage).values())
    for each in (each for each in defined if isinstance(each, Command)):
        text = docstring(each.handler)
        # The handler is import_, because `import` is a Python keyword.
        name = each.handler.__name__.rstrip("_").replace("_", "-")
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(chosen=each)
        added.add_argument("--threads", type=threads, default=cores(), help="CPU threads (default: all)")
        added.add_argument("--code", nargs="+", help=argparse.SUPPRESS)  # from Snakemake; `check_code` explains it
        for argument in each.arguments:
            argument(added)
        added.set_defaults(paths=[action for action in added._actions if hasattr(action, "files")])
    return top


def parsed(commands: Parser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of a command line, by default that of this process. Raises InputError for a wrong one.

    Of a file without an option, the message says how to give it.
    """
    arguments, rest = commands.parse_known_args(argv)
    if rest:
        remedy = ""
        if not rest[0].startswith("-"):
            if hasattr(arguments, "configfile"):
                remedy = "; give it with --configfile"
            elif "standard input" in docstring(arguments.chosen.handler):
                remedy = f"; read it with < {rest[0]}"
        commands.error(f"unrecognized arguments: {' '.join(rest)}{remedy}")
    return arguments


def check_code(arguments: argparse.Namespace) -> None:
    """Raises InputError if the code of a command is no longer that with which Snakemake has planned it.

    Its result would count as that of the planned code, if this code is brought back before the next call.
    """
    name = arguments.chosen.handler.__name__
    if arguments.code and digest(name) not in arguments.code:
        raise InputError(f"the code of {name} has changed since Snakemake planned this job; call snakemake again")


def check_files(arguments: argparse.Namespace) -> None:
    """Raises InputError if a command would write a file without a name, one that it also reads, or one file twice.

    Also refuses to write a file that is standard input or output, and to read a pipe such as <(COMMAND) of bash: many
    files are read twice, and a pipe would then be empty.
    """
    named: list[tuple[str, Path, bool]] = []  # option, file, whether it is written
    for action in arguments.paths:
        given = getattr(arguments, action.dest)
        for each in given if isinstance(given, list) else filter(None, [given]):
            ending = action.files[0]
            if action.written and ending.startswith(".") and each.name in ("", ".."):
                raise InputError(f"{action.option_strings[0]}: {each} is a folder; name a path, without {ending}")
            files = (Path(f"{each}{ending}") for ending in action.files)
            named += ((action.option_strings[0], file, action.written) for file in files)
    for i, (one, file, written) in enumerate(named):
        if not written and file.is_fifo():
            raise InputError(f"{one}: {file} is a pipe, and a file is needed; write the text into one")
        for other, another, also_written in named[:i]:
            if (written or also_written) and one != other and same_file(file, another):
                raise InputError(f"{other} and {one} are both {another}; name two files")
        if written and (stream := next((name for name, of in STREAMS.items() if is_open_as(of, file)), "")):
            raise InputError(f"{one}: {file} is also {stream}; name another file")
