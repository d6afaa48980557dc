"""A command: what `@command` above a handler says of its arguments."""

import argparse
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from transformer.support.files import InputError

MOST_THREADS = 1024
Handler = Callable[[argparse.Namespace], None]
Arguments = Callable[[Any], object]  # adds them to an ArgumentParser or a group of one


@dataclass(frozen=True)
class Command:
    """A handler, its arguments, and whether it computes with PyTorch."""

    handler: Handler
    arguments: tuple[Arguments, ...]
    torch: bool


def command(*arguments: Arguments, torch: bool = False) -> Callable[[Handler], Command]:
    """Turn a function into a command. Its name is the command's, and its docstring is the help text."""
    return lambda handler: Command(handler, arguments, torch)


def option(*names: str, **settings: Any) -> Arguments:
    """An argument, as `ArgumentParser.add_argument` takes it."""
    return lambda added: added.add_argument(*names, **settings)


def path(name: str, text: str, required: bool = True, **settings: Any) -> Arguments:
    """The option --NAME PATH."""
    return option(f"--{name}", type=Path, required=required, metavar="PATH", help=text, **settings)


def one_of(*arguments: Arguments) -> Arguments:
    """Arguments of which one at most may be given."""

    def add(added: argparse.ArgumentParser) -> None:
        group = added.add_mutually_exclusive_group()
        for argument in arguments:
            argument(group)

    return add


def batch_tokens(default: int | None) -> Arguments:
    """The option --batch-tokens, with one meaning in every command; without a default the device decides."""
    text = "padded subwords of a batch: of the source, times the beam; with a given target, of the longer side"
    text += f" (default: {default or 'by the memory of the device'})"
    return option("--batch-tokens", type=positive, default=default, help=text)


def positive(text: str) -> int:
    """A whole number above 0."""
    if (value := int(text)) < 1:
        raise ValueError(text)
    return value


def threads(text: str) -> int:
    """A number of threads, at most as many as PyTorch survives."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"invalid positive value: {text!r}")
    if int(text) > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text} are too many; give at most {MOST_THREADS}")
    return int(text)


def count(text: str) -> int:
    """A whole number, 0 or above."""
    if (value := int(text)) < 0:
        raise ValueError(text)
    return value


def seed(text: str) -> int:
    """A whole number, 0 or above; its name stands in the message about another."""
    return count(text)


def alpha(text: str) -> float:
    """A length penalty, 0 or above; its name stands in the message about another."""
    if not 0 <= (value := float(text)) < math.inf:
        raise ValueError(text)
    return value


class Parser(argparse.ArgumentParser):
    """Refuses a wrong command line as any other wrong input."""

    def error(self, message: str) -> NoReturn:
        """Raises InputError."""
        raise InputError(f"{message}; see {self.prog} --help")


def parser(description: str | None, stages: Iterable[ModuleType]) -> Parser:
    """The command line of the commands that modules define, in their order."""
    top = Parser(prog="python -m transformer", description=description)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    defined = (each for stage in stages for each in vars(stage).values())
    for each in (each for each in defined if isinstance(each, Command)):
        text = str(each.handler.__doc__)
        name = each.handler.__name__.rstrip("_")  # import_, because of Python's own word
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(chosen=each)
        added.add_argument("--threads", type=threads, default=os.cpu_count(), help="CPU threads (default: all)")
        for argument in each.arguments:
            argument(added)
    return top
