"""The look of figures, whatever the user's texts and settings are."""

import os
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import pytest

from workflow.results.common import drawing

ROOT = Path(__file__).parents[3]
TEXTS = [
    "costs $5",
    "costs $5, not $40",
    r"saves $\frobnicate{x}$",
    r"already \$5 and \$",
    "$$",
    "{head} ^a_b & 50 % <b>#1</b> \\alpha | ~ -- ]]>",
    "two\nlines\tand\x00 \x07 controls",
    "🙂 日本語 עברית",
    "a\u200db \ud800",
    "",
    " ",
    "long " * 3000,
    "x" * 20000,
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_drawn_as_it_is_written(tmp_path, text):
    figure, axes = drawing.panels(1, 1, 3, 2)
    shown = axes[0, 0].text(0, 0, drawing.literal(text))
    axes[0, 0].set_yticks([0], [drawing.literal(text)])
    paths = [tmp_path / f"x.{kind}" for kind in ("svg", "pdf", "png")]
    drawing.save(figure, paths)
    xml.dom.minidom.parse(str(paths[0]))
    assert shown._preprocess_math(shown.get_text())[1] is False
    assert len(shown.get_text()) < 2 * drawing.MOST
    assert all(path.stat().st_size < 100_000 for path in paths)


def test_a_text_is_shortened_and_put_on_one_line_only_if_it_must_be():
    assert drawing.literal("One head is worse") == "One head is worse"
    assert drawing.literal("a\n b") == "a b"
    assert drawing.literal("a" * 200) == "a" * 69 + "…"


def test_coordinates_of_an_svg_are_short_and_scales_are_whole():
    path = '<path d="M 0.123456 1.5 L -20.987654 3" transform="scale(0.015625)"/><use x="3.14159" y="2"/>'
    assert drawing.shortened(path) == (
        '<path d="M 0.12 1.5 L -20.99 3" transform="scale(0.015625)"/><use x="3.14" y="2"/>'
    )


DRAW = """
from workflow.results.claims import table as claims
from workflow.results.common import drawing
from workflow.results.common.figure import Figure
figure = Figure(name="x", section="", titles={"x": ""}, caption="", plan=None, draw=lambda job: [draw()])
def draw():
    from matplotlib.lines import Line2D
    shown, axes = drawing.panels(1, 1, 2, 2)
    axes[0, 0].plot([1, 1000], [1, 2], label="a")
    axes[0, 0].set_xscale("log")
    axes[0, 0].legend()
    return shown
class job:
    output = {"x": ["x.svg", "x.pdf", "x.png"]}
figure.make(job)
"""


def drawn(folder, monkeypatch):
    """What a process with this folder as its working folder draws, in each format."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    run = subprocess.run([sys.executable, "-c", DRAW], cwd=folder, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    return [(folder / f"x.{kind}").read_bytes() for kind in ("svg", "pdf", "png")]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What is drawn for a user without settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MPLBACKEND", "MATPLOTLIBRC", "DISPLAY"):
            patch.delenv(name, raising=False)
        return drawn(tmp_path_factory.mktemp("plain"), patch)


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ("text.usetex: True\nfont.size: 30\naxes.facecolor: black\nsvg.fonttype: none\n", {}),
        ("text.parse_math: False\nbackend: nonsense\nno.such.key: 3\nsavefig.dpi: x\n", {}),
        ("axes.grid\xff", {}),
        ("", {"MPLBACKEND": "nonsense"}),
        ("", {"MPLBACKEND": "TkAgg", "DISPLAY": ":99"}),
        ("", {"MPLBACKEND": "module://nowhere"}),
        ("", {"MATPLOTLIBRC": "/no/such/file"}),
    ],
    ids=["look", "nonsense", "latin-1", "backend", "display", "module", "rc"],
)
def test_the_user_s_matplotlibrc_and_backend_change_nothing(tmp_path, plain, settings, environment, monkeypatch):
    (tmp_path / "matplotlibrc").write_text(settings, "latin-1")
    for name in ("MPLBACKEND", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for key, value in {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc"), **environment}.items():
        monkeypatch.setenv(key, value)
    assert drawn(tmp_path, monkeypatch) == plain


ORDER = """
import random, kiwisolver
from workflow.results.common import drawing
variable = kiwisolver.Variable
for seed in range(6):
    variables = [variable("") for _ in range(400)]
    random.Random(seed).shuffle(variables)
    kiwisolver.Variable = lambda name: variables.pop()
    figure, axes = drawing.panels(8, 1, 7.4, 18, height_ratios=[9, 6, 13, 17, 4, 2, 17, 10])
    for number, each in enumerate(axes[:, 0]):
        each.plot([0, 1], [0, 1])
        each.set_xlabel("x")
        each.set_yticks([0], ["claim " * number])
    drawing.save(figure, [f"{seed}.svg", f"{seed}.pdf"])
"""


def test_the_order_of_objects_in_memory_changes_no_byte(tmp_path):
    """Matplotlib's layout adds in their order, and an SVG has hashes of all digits of the sums."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", ORDER], cwd=tmp_path, env=environment, check=True)
    for kind in ("svg", "pdf"):
        files = list(tmp_path.glob(f"*.{kind}"))
        assert len(files) == 6
        assert len({file.read_bytes() for file in files}) == 1
