"""The page in which the model of figures 3 to 5 runs."""

from pathlib import Path

from transformer.explore.page import explored
from transformer.model.parameters import parameters
from transformer.package.config import HASHED, read_package_config
from workflow.results.common.figure import Figure
from workflow.results.common.result import Job, Plan, Selection

CAPTION = """\
**The paper, alive.** In this page {model} ({task}, the first seed) runs. Type a sentence, or choose one of figures 3 to
5, and see what each head reads, one weight worked out, the decoder step by step, the beam, and what happens when a part
is taken away.
"""
MOST = 10_000_000  # parameters; in a larger model, a subword takes a browser too long


def plan(selection: Selection) -> Plan | None:
    """The package of the run of `figures`, unless it is too large for a page or has an idea."""
    task, model = selection.experiment.drawn
    architecture = selection.experiment.run(task, model, selection.experiment.seeds[0]).architecture
    if architecture.idea is not None or parameters(architecture, selection.experiment.tasks[task].vocabulary) > MOST:
        return None
    attention = [selection.runs.attention()]
    [package], *beside = [selection.runs.packages_behind(attention, name) for name in ("config.json", *HASHED)]
    read = {"package": package, "beside": [path for [path] in beside]}
    return Plan(read, {"task": task, "model": model, "sentences": selection.sentences()})


def page(job: Job) -> list[str]:
    """The page."""
    folder = Path(job.input.package).parent
    return [explored([(folder, read_package_config(folder))], job.params.sentences)]


RESULTS = (
    Figure(
        name="explore",
        section="3",
        titles={"explore": "The paper, alive: a page in which the model runs"},
        caption=CAPTION,
        plan=plan,
        draw=page,
        kinds=("html",),
        verb="write",
        target="explore",
        packed=False,  # it has the weights
    ),
)
