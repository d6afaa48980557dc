"""Tell the answer. What cannot be judged ends the job, and so snakemake, with an error."""

from pathlib import Path
from typing import Any

from transformer.support.files import InputError, read_json
from workflow.jobs.job import run


def main(job: Any) -> None:
    """Write the sentences of the answer to the log, from which `brief` shows them."""
    answer = read_json(Path(job.input.answer))
    if answer["reason"]:
        raise InputError(" ".join(answer["sentences"]))
    Path(job.log[0]).write_text("".join(f"trial: {each}\n" for each in answer["sentences"]), "utf-8")


run(main, globals())
