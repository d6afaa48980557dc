"""`transformer COMMAND` or `python -m transformer COMMAND`: one command for each stage; none needs Snakemake.

Completion of the installed command in bash and zsh: eval "$(register-python-argcomplete transformer)"
"""

import atexit
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from transformer.support.files import InputError, told

INTERRUPTED = 128 + signal.SIGINT  # the exit status


def run(program: str = "transformer", stages: Sequence[ModuleType] = ()) -> NoReturn:
    """Run the command of this process, and end it. Python would spend a tenth of a second on taking PyTorch apart."""
    os.environ["PYTHONSAFEPATH"] = "1"  # for workers: transformer/__main__.py says why
    status = main(None, program, stages)
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError):  # `main` has told of it
            stream.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None, program: str = "transformer", stages: Sequence[ModuleType] = ()) -> int:
    """Run a command, by default that of this process. Returns its exit status.

    The modules `stages` define the commands of `python -m PROGRAM`; by default they are those of this package.
    Wrong input or an unusable file ends it with a message on standard error and status 1.
    """
    alone = argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in the background
    if alone:
        signal.signal(signal.SIGINT, _end)  # an import would turn KeyboardInterrupt into errors of its own
    try:
        if None in (sys.stdin, sys.stdout, sys.stderr):
            return _failed("standard input, output or error is closed; redirect it to a file or to /dev/null")
        import argcomplete

        from transformer.cli.command import check_code, parsed, parser

        description = (stages[0] if stages else sys.modules[__name__]).__doc__
        if not stages:
            from transformer.cli import data, decoding, exchange, explore, scores, training

            if (sys.argv[1:] if argv is None else argv)[:1] == ["plan"]:
                raise InputError("plan is a command of the workflow: write python -m workflow plan, in the clone")
            stages = (data, training, decoding, explore, scores, exchange)
        commands = parser(program, description, stages)
        argcomplete.autocomplete(commands)
        arguments = parsed(commands, argv)
        check_code(arguments)
        if arguments.chosen.torch:
            gc.disable()  # it would look for garbage among PyTorch's many objects while they load, in vain
            import torch

            gc.freeze()  # it will not look among them later or at exit either
            gc.enable()
            torch.set_num_threads(arguments.threads)
        if alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # the command cleans up
        try:
            arguments.chosen.handler(arguments)
        finally:
            if alone:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending
    except BrokenPipeError:
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("transformer", "workflow")):
            raise
        remedy = "activate the environment (. .venv/bin/activate), or make it (make .venv/installed)"
        return _failed(f"{error}: {sys.executable} lacks it; {remedy}")
    except MemoryError:
        return _failed("memory ran out; free some")
    except (InputError, OSError) as error:
        return _failed(told(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _failed(message: str) -> int:
    """Print why a command failed. Returns its exit status."""
    if sys.stderr:  # or it would go to standard output
        print(f"error: {message}", file=sys.stderr)
    return 1


def _end(*_: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
