import numpy as np
import pandas as pd
import pytest

from workflow.results.common import by_length, records
from workflow.results.common.against_base import against_base
from workflow.results.figures import attention, curves
from workflow.results.tables import decoding, positions, table3


@pytest.mark.parametrize(
    ("heads", "figure4", "figure5"), [(8, [5, 6], [1, 2]), (4, [3, 4], [1, 2]), (2, [1, 2], [1]), (1, [1], [1])]
)
def test_figures_3_to_5_show_heads_that_the_model_has(published, heads, figure4, figure5):
    figures = published["attention"]["figures"]
    panels = {
        number: attention.panels_of(number, figures, figures[number]["sentence"].split(), heads) for number in (3, 4, 5)
    }
    making, its = (figures[number]["sentence"].split().index(word) for number, word in ((3, "making"), (4, "its")))
    assert panels[3] == [(range(1, heads + 1), making)]
    assert panels[4] == [(figure4[:1], None), (figure4, its)]
    assert panels[5] == [([head], None) for head in figure5]


def test_the_opacity_of_a_line_is_its_weight_above_an_even_spread_and_first_choices_are_told():
    weights = np.array([[[0.6, 0.3, 0.1], [0.1, 0.5, 0.4], [0.2] * 3], [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.2] * 3]])
    figure = attention.draw(["a", "b", "$c$"], weights, [([1], None), ([1, 2], 1)])
    shown = [[colour[3] for colour in axes.collections[0].get_colors()] for axes in figure.axes]
    assert shown[0] == pytest.approx([(weight - 1 / 3) / (0.6 - 1 / 3) for weight in (0.4, 0.5, 0.6)])
    assert shown[1] == pytest.approx([(weight - 1 / 3) / (0.7 - 1 / 3) for weight in (0.4, 0.5, 0.7)])
    legends = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert legends == [
        ["head 1: a word gives 0.43 to its first choice on average, and at most 0.60, from “a” to “a”"],
        ["head 1: “b” 0.50", "head 2: “a” 0.70"],
    ]


def histories(**runs):
    """Histories of steps 100 to 1000, from each model's loss and perplexity; those of seed 2 are twice as high."""
    steps = pd.RangeIndex(100, 1001, 100)
    return {
        ("ende", model): {
            seed: pd.DataFrame({"loss": seed * loss, "dev_perplexity": seed * perplexity}, steps) for seed in (1, 2)
        }
        for model, (loss, perplexity) in runs.items()
    }


def test_training_curves_are_differences_from_base_of_the_same_seed_after_the_warmup():
    runs = histories(base=(3.0, 10.0), wide=(2.5, 9.0), deep=(3.1, 10.4))
    drawn = curves.draw(runs, {"C": [("ende", model) for _, model in runs]}, {"ende": 400})
    loss, perplexity = drawn.axes[0], drawn.axes[2]
    assert [line.get_label() for line in loss.lines[:2]] == ["wide", "deep"]
    wide, deep, zero = perplexity.lines
    assert wide.get_xdata().min() == 500
    assert wide.get_ydata() == pytest.approx([-10] * 6)
    assert deep.get_ydata() == pytest.approx([4] * 6)
    assert set(zero.get_ydata()) == {0}
    [first, _] = loss.collections
    assert (first.get_paths()[0].get_extents().ymin, first.get_paths()[0].get_extents().ymax) == (-1, -0.5)
    assert drawn.axes[3].lines[0].get_ydata() == pytest.approx([15] * 10)  # base itself


def test_a_long_curve_has_few_points_and_each_is_a_mean():
    line = curves.thinned(pd.Series(range(1000), index=range(0, 2000, 2)), 10)
    assert line.to_dict() == {99.0 + 200 * i: 49.5 + 100 * i for i in range(10)}
    assert curves.thinned(pd.Series(dtype=float), 10).empty


def test_a_model_of_ones_own_has_a_line_and_marks_in_table3(results):
    own = [{"group": "own", "model": "mine", "changes": {"d_ff": 1024}}]
    for runs, more in (([], []), (["base"], []), (["base", "mine"], own)):
        [path] = results.figure("table3", [results.run("ende", model) for model in runs], own=more)
        assert [text in path.read_text() for text in ("<!-- mine -->", "<!-- own -->")] == [bool(more)] * 2


def test_a_line_of_perplexity_ends_where_the_positions_of_a_model_do(results, published):
    runs = [results.run("ende", model) for model in ("base", "E-learned")]
    rows = [(1, 10, 50, 20), (11, 20, 50, 60), (21, 30, 30, 30), (31, 40, 2, 60)]
    lengths = [
        results.lengths(runs[0], *((*row, 9.0) for row in rows)),
        results.lengths(runs[1], *((*row, 8.0) for row in rows[:2]), *((*row, "") for row in rows[2:])),
    ]
    [path] = results.figure("positions", runs, inputs={"lengths": lengths}, longest=20)
    assert all(f"<!-- {name} -->" in path.read_text() for name in ("sinusoids", "learned", "lengths of training"))
    assert "<!-- ALiBi -->" not in path.read_text()
    read = by_length.read_lengths(
        [run.scores for run in runs], lengths, {"ende": {"base": ["base"], "E-learned": ["E-learned"]}}
    )
    perplexity, ratio, bleu, difference = positions.draw(published["positions"], read, 20).axes
    for axes in (perplexity, ratio, bleu, difference):
        ends = [line.get_xdata()[np.isfinite(line.get_ydata())][-1] for line in axes.lines]
        assert ends == [25.5, 15.5]  # two pairs are too few
    assert ratio.lines[1].get_ydata()[0] == 8 / 9
    assert difference.lines[1].get_ydata()[0] == pytest.approx(100 / 8 - 100 / 9)


def test_searches_are_drawn_against_the_task_s_own_decoding(results):
    settings = [(5, 1, 0.6, 9.0, 18.0), (5, 4, 1.0, 10.5, 20.5), (5, 8, 1.0, 10.0, 20.4), (1, 4, 0.6, 9.8, 19.6)]
    runs, inputs = results.searches(*settings)
    [path] = results.figure("decoding", runs, inputs=inputs)
    assert all(f"<!-- {text} -->" in path.read_text() for text in ("beam 8", "alpha 0.6", "alpha 1", "checkpoint"))
    searches = decoding.read_searches([run.scores for run in runs], inputs["others"])
    for axes in decoding.draw(searches).axes:
        lines = [container.lines[0] for container in axes.containers]
        assert [line.get_ydata().astype(float).round(2).tolist() for line in lines] == [
            [-1.5, 0],
            [-1.5, 0.5, 0.2],
            [-0.3],
        ]
        assert lines[1].get_xdata()[0] == 0  # a beam of one has no alpha
        assert lines[2].get_xdata().tolist() == [3]


def test_table3_s_marks_are_the_table_s_changes_from_base_with_their_spread(results, published):
    runs = [
        results.run("ende", model, seed, perplexity=perplexity)
        for model, perplexities in {"base": (4.0, 5.0), "C-N2": (5.0, 5.5)}.items()
        for seed, perplexity in enumerate(perplexities, 1)
    ]
    made = results.job(runs)
    read = records.read_runs(made.input.scores, made.input.packages, made.params.equal)
    ours = records.over_seeds(against_base(read))
    drawn = table3.draw(published["table3"], ours).axes[1]
    paper, marks = (container.lines[0].get_xdata() for container in drawn.containers)
    assert paper[0] == marks[0] == 0  # base itself
    assert paper.max() == pytest.approx(100 * (6.11 / 4.92 - 1))  # C-N2
    assert marks[1] == pytest.approx((25 + 10) / 2)
    [bars] = drawn.containers[1].lines[2]
    assert np.ptp(bars.get_segments()[1][:, 0]) == pytest.approx(2 * np.std([25, 10], ddof=1))
