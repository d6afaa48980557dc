"""Published marks: BLEU that others published for a model and a text of ours, beside our own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.evaluation.bleu import TokenBleu, token_bleu
from transformer.evaluation.significance import token_bleu_error
from transformer.support.files import read_parallel
from workflow.results.common.cells import beside, number, printed
from workflow.results.common.plan import Row
from workflow.results.common.records import over_seeds
from workflow.results.common.result import Content, Job, Plan, Selection, Table
from workflow.results.common.scored import read_inputs

CAPTION = """\
**Published marks.** BLEU of lower-cased tokens on the test sets of Multi30k. Others published it for the model and the
text of this experiment; we measure it on {scores} runs of ours. Check first whether our
reference has as many tokens as theirs. Then see how far our BLEU is from theirs, and whether the precisions and the
brevity penalty agree.
"""
QUANTILE = 1.96  # of the normal distribution; 95 % lie within it


def marks(selection: Selection) -> list[dict[str, Any]]:
    """The published marks for texts and models of the experiment, each with the files to compare."""
    marks = []
    for row in selection.published["marks"]:
        task, model, part = row["task"], row["model"], row["part"]
        if selection.trained([(task, model)]) and selection.experiment.tasks[task].corpus == row["corpus"]:
            scores = selection.runs.averaged_scores({task: [model]})
            translations = [str(Path(path).with_name(f"{part}.translation")) for path in scores]
            reference = f"{selection.runs.paths.corpus(task)}/{part}.target"
            marks.append({**row, "translations": translations, "reference": reference})
    return marks


def plan(selection: Selection) -> Plan | None:
    """The translations of these texts, and their references."""
    if not (rows := marks(selection)):
        return None
    shown = [(row["task"], row["model"]) for row in rows]
    return selection.on_test(shown, rows=rows).reading(
        translations=[path for row in rows for path in row["translations"]],
        references=[row["reference"] for row in rows],
    )


def flat(row: Mapping[str, Any], seed: int, bleu: TokenBleu, error: float) -> dict[str, Any]:
    """The scores of a translation and the error of its BLEU, as `over_seeds` reads them."""
    precisions = {f"precision{n}": precision for n, precision in enumerate(bleu.precisions, start=1)}
    rest = {"score": bleu.score, "error": error, "brevity_penalty": bleu.brevity_penalty, "tokens": bleu.tokens}
    return {"task": row["task"], "model": row["model"], "seed": seed, **rest, **precisions}


def table_row(row: Mapping[str, Any], pair: str, ours: Mapping[str, float], bleus: Sequence[TokenBleu]) -> Row:
    """The row of a mark; `pair` is its pair of languages, `ours` the means over seeds, and `bleus` each seed's."""
    precisions = (ours[f"precision{n}"] for n in range(1, 5))
    least, most = (ours["score"] + sign * QUANTILE * ours["error"] for sign in (-1, 1))
    return {
        ("Pair", ""): pair,
        ("Test set", ""): row["test"],
        ("Published by", ""): row["source"],
        **beside("BLEU", row.get("bleu"), ours, "score", 1),
        ("BLEU", "over sentences"): f"{least:.1f} to {most:.1f}",
        ("BLEU", "each seed"): " ".join(number(bleu.score, 1) for bleu in bleus),
        ("Precisions", "published"): "/".join(number(each, 1) for each in row.get("precisions", ())),
        ("Precisions", "ours"): "/".join(number(each, 1) for each in precisions),
        ("Brevity penalty", "published"): printed(row.get("brevity_penalty"), 3),
        ("Brevity penalty", "ours"): number(ours["brevity_penalty"], 3),
        ("Tokens of the reference", "published"): number(row.get("tokens"), 0),
        ("Tokens of the reference", "ours"): number(ours["tokens"], 0),
    }


def content(job: Job) -> Content:
    """The table and its notes."""
    _, _, notes = read_inputs(job)
    rows = []
    signatures: dict[str, None] = {}
    for row in job.params.rows:
        texts = [read_parallel(path, row["reference"]) for path in row["translations"]]
        scores = [(token_bleu(*text), token_bleu_error(*text)) for text in texts]
        signatures |= dict.fromkeys(score.signature for score, _ in scores)
        ours = over_seeds(pd.DataFrame(flat(row, seed, *score) for seed, score in enumerate(scores)))
        bleus = [bleu for bleu, _ in scores]
        rows.append(table_row(row, job.params.pairs[row["task"]], ours[row["task"], row["model"]], bleus))
    return Content(rows, 3, [*notes, f"Signature of BLEU: {' '.join(signatures)}"], ("each seed",))


RESULTS = (
    Table(
        name="marks",
        section="6.1",
        title="Published marks",
        detail="BLEU of lower-cased tokens on the test sets of Multi30k",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
)
