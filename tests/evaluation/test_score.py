import pytest

from transformer.evaluation.score import scores_in_words
from transformer.package.config import read_package_config
from transformer.package.readme import write_readme
from transformer.support.files import InputError, read_lines, write_json

DECODING = {"beam": 4, "alpha": 0.6, "sample": None, "precision": "float32"}


@pytest.fixture
def scores(tmp_path):
    """Write a part's scores for the package of `save`, in the format of `score`, with some values changed."""

    def write(part, **changes):
        made = {"task": "ende", "model": "base", "seed": 1, "average": 3, "part": part, "sentences": 2500}
        scored = {"decoding": DECODING, "perplexity": 5.678, **changes}
        path = tmp_path / f"{part}.scores.json"
        write_json(path, {key: value for key, value in (made | scored).items() if value is not ...})
        return path

    return write


def rows(folder, *paths):
    """The rows of scores in a package's README.md, after writing it with the given files."""
    config = read_package_config(folder)
    write_readme(folder, config, list(scores_in_words(folder, config, paths)))
    return [line for line in read_lines(folder / "README.md") if line.startswith("| scores |")]


WHERE = "2,500 sentences, beam 4, length penalty 0.6: "


def test_the_readme_has_the_scores_of_each_part(save, scores):
    sacrebleu = {"score": 27.25, "signature": "nrefs:1|tok:13a", "length": 0.913}
    paper = {"score": 27.96, "signature": "nrefs:1|tok:none"}
    bleus = {"sacrebleu": sacrebleu, "paper_bleu": paper}
    dev, test = rows(save(), scores("dev", **bleus), scores("test", perplexity=6.0, **bleus))
    text = "BLEU 28.0 (nrefs:1\\|tok:none), sacreBLEU 27.2, length 0.91 (nrefs:1\\|tok:13a) |"
    assert dev == f"| scores | dev, {WHERE}Perplexity 5.68, {text}"
    assert test == f"| scores | test, {WHERE}Perplexity 6.00, {text}"


def test_the_readme_of_a_parser_has_the_scores_of_its_brackets(save, scores, change_package):
    folder = save()
    change_package(folder, kind="parsing")
    brackets = {"f1": 91.26, "recall": 90.5, "precision": 92.04, "exact": 40.04, "repaired": 3}
    (test,) = rows(folder, scores("test", brackets=brackets))
    assert test == (
        f"| scores | test, {WHERE}Perplexity 5.68, F1 91.3, recall 90.5, precision 92.0, exact 40.0, repaired 3 |"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "big"}, "scores of .*'model': 'big'.* give those of this package"),
        ({}, "has no paper_bleu; make it again"),
        ({"task": ..., "average": ...}, "is not a file that `score` writes; give one"),
        ({"sentences": "x", "brackets": {}}, "ValueError.*score again"),
        ({"decoding": ..., "beam": 4, "alpha": 0.6}, "has no decoding; make it again"),
    ],
)
def test_scores_of_another_package_are_refused(save, scores, changes, message):
    folder = save()
    before = (folder / "README.md").read_bytes()
    with pytest.raises(InputError, match=rf"dev\.scores\.json: .*{message}"):
        rows(folder, scores("dev", **changes))
    assert (folder / "README.md").read_bytes() == before
