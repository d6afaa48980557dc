"""The look of figures, whatever the user's texts and settings are."""

import os
import subprocess
import sys
import xml.dom.minidom

import pytest

from tests.pages import ROOT
from workflow.results.common import drawing

TEXTS = [
    r"costs $5, not $40; \$5 $\frobnicate{x}$ $$ {head} ^a_b & 50 % <b>#1</b> \alpha | ~ -- ]]>",
    "two\nlines\tand\x00 \x07 controls 🙂 日本語 עברית a\u200db \ud800",
    "",
    "long " * 3000,
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
from workflow.results.claims import figure as claims
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


def test_the_user_s_matplotlibrc_and_backend_change_nothing(tmp_path):
    look = "text.usetex: True\nfont.size: 30\naxes.facecolor: black\nsvg.fonttype: none\n"
    faults = "text.parse_math: False\nbackend: nonsense\nno.such.key: 3\nsavefig.dpi: x\naxes.grid\xff"
    settings = {
        "plain": ("", {}),
        "look": (look, {"MPLBACKEND": "TkAgg", "DISPLAY": ":99"}),
        "faults": (faults, {"MPLBACKEND": "nonsense"}),
    }
    drawn = set()
    for name, (text, given) in settings.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "matplotlibrc").write_text(text, "latin-1")
        unset = {key: value for key, value in os.environ.items() if key not in ("MPLBACKEND", "DISPLAY")}
        environment = unset | {"PYTHONPATH": str(ROOT), "MATPLOTLIBRC": str(folder / "matplotlibrc"), **given}
        run = subprocess.run([sys.executable, "-c", DRAW], cwd=folder, env=environment, capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (0, "")
        drawn.add(tuple((folder / f"x.{kind}").read_bytes() for kind in ("svg", "pdf", "png")))
    assert len(drawn) == 1
