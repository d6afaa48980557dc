"""Why scores are divided by sqrt(d_k): their variance, entropy and gradient of their softmax, against d_k."""

from transformer.evaluation.dot_products import against_d_k
from workflow.results.common.drawing import COLOURS, Drawing, panels
from workflow.results.common.figure import Figure
from workflow.results.common.result import Job, Plan, Selection

CAPTION = """\
**Why scores are divided by √d_k** (section 3.2.1, footnote 4). We draw 2,000 queries with 32 keys each, with
independent elements of mean 0 and variance 1. *Left*: the variance of q·k grows like d_k. If q·k is divided by √d_k,
its variance stays 1. Dots are measured, lines are expected. *Middle*: without the division, the softmax gives more and
more of its weight to a single key. *Right*: then its gradient (the norm of its Jacobian) grows up to d_k 8 and falls
towards 0 after it. Look at d_k 64, the paper's value: from there on the gradient is smaller without the division than
with it.
"""
D_K = tuple(2**power for power in range(11))
KEYS = 32
QUERIES = 2000  # for each d_k
LOOKS = {
    "unscaled": (COLOURS[1], "o", r"$q \cdot k$"),
    "scaled": (COLOURS[0], "s", r"$q \cdot k\,/\,\sqrt{d_k}$"),
}
TITLES = {
    "variance": "Variance of a score",
    "entropy": f"Entropy of the softmax\nover {KEYS} keys, nats",
    "gradient": "Norm of the Jacobian\nof the softmax",
}


def plan(selection: Selection) -> Plan | None:
    """Nothing is read. One row of en-de alone has nothing to explain."""
    return Plan({}) if "ende" in selection.in_full else None


def draw(_: Job) -> list[Drawing]:
    """A panel for each quantity."""
    from matplotlib.ticker import NullLocator

    measured = against_d_k(D_K, KEYS, QUERIES)
    figure, [axes] = panels(1, 3, 7.2, 2.6)
    for panel, (key, title) in zip(axes, TITLES.items(), strict=True):
        for name, (colour, marker, label) in LOOKS.items():
            values = [getattr(each, key) for each in measured[name]]
            # The variance is also known exactly, and that is its line.
            line = "none" if key == "variance" else "-"
            look = {"marker": marker, "markersize": 3, "linestyle": line, "linewidth": 1.2}
            panel.plot(D_K, values, color=colour, label=label, **look)
        panel.set_title(title)
        panel.set_xscale("log", base=2)
        panel.set_xticks(D_K[::2], map(str, D_K[::2]), fontsize=7)
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlabel("$d_k$")
    axes[0].plot(D_K, D_K, color=COLOURS[1], linewidth=1, label="expected: $d_k$")
    axes[0].plot(D_K, [1] * len(D_K), color=COLOURS[0], linewidth=1, label="expected: 1")
    axes[0].set_yscale("log")
    axes[0].legend()
    axes[1].set_ylim(bottom=0)
    axes[2].set_ylim(bottom=0)
    axes[2].legend(loc="lower left")
    return [figure]


RESULTS = (
    Figure(
        name="dot_products",
        section="3.2.1",
        titles={"dot_products": "Why scores are divided by √d_k"},
        caption=CAPTION,
        plan=plan,
        draw=draw,
    ),
)
