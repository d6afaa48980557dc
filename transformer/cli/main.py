"""`transformer COMMAND` or `python -m transformer COMMAND`: one command for each stage; none needs Snakemake.

Completion of the installed command in bash and zsh: eval "$(register-python-argcomplete transformer)"
"""

import contextlib
import gc
import sys
from collections.abc import Sequence

import argcomplete

from transformer.cli import data, decoding, exchange, scores, training
from transformer.cli.command import check_outputs, parser
from transformer.support.files import InputError

STAGES = (data, training, decoding, scores, exchange)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Wrong input or an unusable file ends with a message on standard error and status 1."""
    try:
        commands = parser(__doc__, STAGES)
        argcomplete.autocomplete(commands)
        arguments = commands.parse_args(argv)
        check_outputs(arguments)
        if arguments.chosen.torch:
            gc.disable()  # it would look for garbage among PyTorch's many objects while they load, in vain
            import torch

            gc.freeze()  # it will not look among them later or at exit either
            gc.enable()
            torch.set_num_threads(arguments.threads)
        arguments.chosen.handler(arguments)
    except BrokenPipeError:
        _give_up_output()
        return 1
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        _give_up_output()
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _give_up_output() -> None:
    """Close standard output if it accepts no more. Otherwise Python would flush it again at exit, and fail."""
    try:
        if sys.stdout is not None:  # it is None if it was closed before the start
            sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
