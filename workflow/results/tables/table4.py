"""Table 4: constituency parsing, F1 on the test set: the literature, the paper, and our runs."""

from collections.abc import Mapping
from typing import Any

from transformer.evaluation.metrics import Column, metrics_of
from transformer.support.strict import read_keys
from workflow.experiment.config import Experiment
from workflow.experiment.sources import OWN_FILES
from workflow.results.common.cells import NOT_RUN, beside, number, spread
from workflow.results.common.plan import Row
from workflow.results.common.records import over_seeds
from workflow.results.common.result import OWN, Content, Job, Plan, Rows, Run, Selection, Table
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Table 4.** Constituency parsing, F1 of labelled brackets on the test set. We train
{trees}.
The paper's numbers are on section 23 of the Wall Street Journal. See how far our semi-supervised row is above ours
without parsed text.
"""
DETAILS = [column for metric in metrics_of("parsing", shared=False) for column in metric.details]  # for the csv


def shows(rows: Rows) -> list[Run]:
    """The paper's own rows, but for those whose task a user trains on other trees: these are rows of their own."""
    runs = ((row["task"], row["model"]) for row in rows.published["table4"] if "task" in row)
    return [run for run in runs if not (run[0] in rows.runs.trained and on_own_trees(rows.experiment, run[0]))]


def on_own_trees(experiment: Experiment, task: str) -> bool:
    """Whether a task's trees, or those of the parser from which it learns, are no corpus of config/corpora.yaml."""
    gold = experiment.corpus_of(task).tasks().get("gold")
    own = experiment.tasks[task].corpus not in read_keys(OWN_FILES[1])["corpora"]
    return own or (gold is not None and on_own_trees(experiment, gold))


def own_row(rows: Rows, task: str, model: str) -> dict[str, Any] | None:
    """A row that says on which corpus it is trained, if that is the user's own."""
    trained = rows.experiment.tasks[task]
    training = trained.corpus if on_own_trees(rows.experiment, task) else OWN
    own = {"name": model, "model": model, "task": task, "training": training}
    return own if trained.kind == "parsing" else None


def curves(rows: Rows) -> dict[str, list[Run]]:
    """All rows that are run."""
    return rows.curve("Table 4", "table4")


def trees(rows: Rows) -> dict[str, str]:
    """The trees that each parsing task is trained on. They stand beside each number."""
    return {task: rows.experiment.corpus_of(task).description for task in rows.parsers()}


def plan(selection: Selection) -> Plan:
    """The rows that are run."""
    trained_on = trees(selection)
    listed = "; ".join(f"{task} on {text}" for task, text in trained_on.items())
    own = selection.own_rows["table4"]
    return selection.on_test(selection.shown["table4"], own=own, trained_on=trained_on, trees=listed)


def table_row(row: Mapping[str, Any], ours: Mapping[str, float], trained_on: Mapping[str, str]) -> Row:
    """A row; `trained_on`: task -> the trees behind our number."""
    cells: dict[tuple[str, str], str] = {}
    for column in (column for metric in metrics_of("parsing", shared=False) for column in metric.columns):
        if column.published:
            missing = NOT_RUN if "task" in row else ""
            cells |= beside(column.heading, row.get(column.published), ours, column.key, column.digits, missing)
        else:
            cells["Ours", column.heading] = spread(ours, column.key, column.digits)
    return {
        ("Training", ""): row["training"],
        ("Parser", ""): row["name"],
        ("Ours: trees", ""): trained_on[row["task"]] if ours else "",
        **cells,
        ("Ours", "sentences"): number(ours.get("sentences"), 0),
        ("Ours", "steps"): number(ours.get("steps"), 0),
        **{("Ours", column.heading): detail(ours, column) for column in DETAILS},
    }


def detail(ours: Mapping[str, float], column: Column) -> str:
    """Another number of EVALB's summary; one without digits is a count."""
    return spread(ours, column.key, column.digits) if column.digits else number(ours.get(column.key), 0)


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes = read_inputs(job)
    papers = over_seeds(runs)
    own = {(row["task"], row["model"]): papers.pop((row["task"], row["model"]), {}) for row in job.params.own}
    printed = (
        row for row in published["table4"] if "task" not in row or is_shown(job, papers, row["task"], row["model"])
    )
    rows = [
        table_row(row, of.get((row.get("task"), row.get("model")), {}), job.params.trained_on)
        for some, of in ((job.params.own, own), (printed, papers))
        for row in some
    ]
    return Content(rows, 3, notes, ["difference", *(column.heading for column in DETAILS)])


RESULTS = (
    Table(
        name="table4",
        section="6.3",
        title="Table 4: constituency parsing",
        detail="F1, test set",
        caption=CAPTION,
        shows=shows,
        own_row=own_row,
        curves=curves,
        plan=plan,
        content=content,
        printed={"Training": "", "Parser": "Table 4", "F1, published": "F1, paper", "F1, ours": "ours"},
    ),
)
