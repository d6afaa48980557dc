import sys

import pytest

from transformer.cli.main import main
from transformer.export.marian import to_marian
from transformer.model.config import AttentionOverParametersConfig
from transformer.support.files import InputError


@pytest.mark.parametrize("to", ["marian", "ctranslate2"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"d_k": 4}, "d_k 4, d_v 8, h 2"),
        ({"h": 3}, "h 3"),
        ({"attention": "unscaled"}, "unscaled attention"),
        ({"attention": "additive"}, "additive attention"),
        ({"positions": "rotary"}, "positions: rotary, which"),
        ({"attention_over_parameters": AttentionOverParametersConfig(2, 8, 8, 4)}, "attention over parameters"),
        ({"network": "recurrent", "N": 2}, "base has a recurrent network, which"),
        ({"network": "convolutional", "positions": "learned"}, "base has a convolutional network, which"),
    ],
)
def test_a_package_that_an_export_cannot_express_is_refused(save, tmp_path, capsys, monkeypatch, to, changes, reason):
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)  # the refusal does not need it
    folder = save(**changes)
    assert main(["export", "--package", str(folder), "--to", to, "--output", str(tmp_path / "out")]) == 1
    assert reason in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["package"]


def test_the_export_of_a_parser_warns_that_trees_are_not_repaired(ours, change_package, tmp_path, capsys):
    line = ["export", "--to", "marian", "--package", str(ours)]
    assert main([*line, "--output", str(tmp_path / "translator")]) == 0
    assert not capsys.readouterr().err
    change_package(ours, kind="parsing")
    assert main([*line, "--output", str(tmp_path / "parser")]) == 0
    assert capsys.readouterr().err == (
        f"warning: {ours}: is a parser; Marian returns its best hypothesis, which may not be a tree, and only `parse` "
        "chooses and repairs trees\n"
    )


def test_a_folder_with_files_is_left_unchanged(ours, marian, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in marian.iterdir()}
    with pytest.raises(InputError, match="not an empty folder"):
        to_marian(ours, marian)
    assert before == {path: path.stat().st_mtime_ns for path in marian.iterdir()}
    (tmp_path / "empty").mkdir()
    to_marian(ours, tmp_path / "empty")
