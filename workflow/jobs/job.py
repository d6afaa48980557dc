"""How Snakemake calls the scripts in this folder."""

import contextlib
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformer.support.files import InputError


def run(main: Callable[[Any], None], names: Mapping[str, Any]) -> None:
    """Call `main` with Snakemake's object, if a script's `names` have it. The traceback of an error goes to the log.

    What a user can mend (InputError) ends the process with its message instead, which also goes to the log.
    """
    if job := names.get("snakemake"):
        log = Path(job.log[0])
        log.write_text("")
        try:
            main(job)
        except InputError as error:
            with contextlib.suppress(OSError):
                log.write_text(f"error: {error}\n", "utf-8")
            sys.exit(f"error: {error}")
        except Exception:
            with contextlib.suppress(OSError):  # the failure itself tells of a full disk
                log.write_text(traceback.format_exc(), "utf-8")
            raise
