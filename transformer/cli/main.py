"""`transformer COMMAND` or `python -m transformer COMMAND`: one command for each stage; none needs Snakemake.

Completion of the installed command in bash and zsh: eval "$(register-python-argcomplete transformer)"
"""

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from transformer.cli.process import INTERRUPTED, check_folder, interruptible, prepare
from transformer.support.files import InputError, check_output
from transformer.support.limits import explained, told


def run() -> NoReturn:
    """Run the command of this process, and end it. Python would spend a tenth of a second on taking PyTorch apart."""
    status = main()
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):  # `main` has told of it, and may have closed standard output
            stream.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, by default that of this process. Returns its exit status.

    Wrong input or an unusable file ends it with a message on standard error and status 1.
    """
    if argv is None:
        prepare()
    try:
        import argcomplete

        from transformer.cli import data, decoding, exchange, scores, training
        from transformer.cli.command import check_code, check_files, docstring, parsed, parser

        commands = parser(docstring(sys.modules[__name__]), (data, training, decoding, scores, exchange))
        argcomplete.autocomplete(commands)
        arguments = parsed(commands, argv)
        check_folder()
        check_code(arguments)
        check_files(arguments)
        if arguments.chosen.prints:
            check_output()
        if arguments.chosen.torch:
            gc.disable()  # it would look for garbage among PyTorch's many objects while they load, in vain
            import torch

            gc.freeze()  # it will not look among them later or at exit either
            gc.enable()
            torch.set_num_threads(arguments.threads)
        with interruptible():
            arguments.chosen.handler(arguments)
    except BrokenPipeError:
        _give_up_output()
        return 1
    except InputError as error:
        return _failed(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("transformer"):
            raise
        remedy = "activate the environment (. .venv/bin/activate), or make it (make .venv/installed)"
        return _failed(f"{error}: {sys.executable} lacks it; {remedy}")
    except (OSError, MemoryError, RuntimeError, ImportError) as error:
        if not (explained(error) or isinstance(error, OSError)):
            raise
        return _failed(told(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _failed(message: str) -> int:
    """Print why a command failed. Returns its exit status."""
    print(f"error: {message}", file=sys.stderr)
    _give_up_output()
    return 1


def _give_up_output() -> None:
    """Close standard output if it accepts no more. Otherwise Python would flush it again at exit, and fail."""
    try:
        if sys.stdout is not None:  # it is None if it was closed before the start
            sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
