"""`python -m transformer COMMAND`: a command for each stage, so that all works without Snakemake too."""

import contextlib
import sys
from collections.abc import Sequence

from transformer.cli import data, decoding, exchange, scores, training
from transformer.cli.command import parser
from transformer.support.files import InputError

STAGES = (data, training, decoding, scores, exchange)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Wrong input or an unusable file ends with a message on standard error and status 1."""
    try:
        arguments = parser(__doc__, STAGES).parse_args(argv)
        if arguments.chosen.torch:
            import torch

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
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
