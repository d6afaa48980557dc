"""docs/own-idea.md: it is short, its file and its overlays can be tried, and it says what the code says."""

import re

import pytest

from tests.pages import ROOT
from workflow.dag.checks import checked, sources_of
from workflow.experiment.config import read_experiment
from workflow.results.ideas import judge
from workflow.results.ideas.check import SMALL
from workflow.results.ideas.released import archives, compared, released

PAGE = (ROOT / "docs/own-idea.md").read_text()
MINE, TINY = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_a_researcher_reads_the_page_in_five_minutes():
    assert len(PAGE.split()) <= 1200


def test_the_idea_of_the_page_is_a_file_of_the_clone():
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert code == (ROOT / "ideas/rms_norm.py").read_text()


@pytest.mark.parametrize(("text", "given"), [(MINE, []), ("", ["idea=ideas/rms_norm.py"])])
def test_what_the_page_tries_can_be_tried(text, given, tmp_path):
    (overlay := tmp_path / "overlay.yaml").write_text(text)
    experiment, _ = checked(sources_of([overlay] if text else [], given)[0], {})
    assert experiment.experiment == "small"
    assert experiment.trial


def test_the_answer_of_the_page_is_that_of_the_code():
    experiment, paths = read_experiment([SMALL]), archives()
    row, base = (released(experiment, name, paths) for name in ("C-ff4096", "base"))
    some = [[runs[seed] for seed in experiment.seeds] for runs in (row, base)]
    answer = {
        **{"idea": "mine", "status": "screened", "against": "small/base", "reason": "", "unfit": ""},
        **{"seeds": experiment.seeds, "control": {"seed": 1, "perplexity": 0.0, "bleu": 0.0}, "k": 1},
        **{"measures": {name: compared(name, *some) for name in judge.GAINS}},
        **{"power": judge.powers(experiment, paths, 1)},
    }
    quoted = " ".join(re.findall(r"^> (.*)$", PAGE, re.MULTILINE))
    assert " ".join(judge.sentences(answer)) == quoted
