"""What a room declares of a figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workflow.results.common.drawing import Drawing, own_look, save
from workflow.results.common.plan import Job
from workflow.results.common.result import Result


@dataclass(frozen=True, kw_only=True)
class Figure(Result):
    """A figure, or several that one rule draws. `draw` gives a drawing or a text for each of the `titles`, in order."""

    category = "Figures"
    titles: Mapping[str, str]  # file name -> title
    draw: Callable[[Job], Sequence[Drawing | str]]
    kinds: Sequence[str] = ("svg", "pdf", "png")  # the report shows the first
    verb: str = "draw"
    target: str = "figures"

    def files(self, results: str) -> dict[str, list[str]]:
        """All kinds of each figure."""
        return {name: [f"{results}/figures/{name}.{kind}" for kind in self.kinds] for name in self.titles}

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of each figure's first kind."""
        return {name: {"section": self.section, "figure": title} for name, title in self.titles.items()}

    def make(self, job: Job) -> None:
        """Draw and write them."""
        if "pdf" in self.kinds:  # matplotlib draws it
            own_look()
        for name, drawing in zip(self.titles, self.draw(job), strict=True):
            save(drawing, job.output[name])
