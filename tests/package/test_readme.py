import json
import re

import pytest
import yaml

from transformer.model.config import AttentionOverParametersConfig
from transformer.package.config import read_package_config
from transformer.package.making import save_package
from transformer.package.readme import write_readme
from transformer.support.files import InputError, read_lines


def test_the_readme_states_model_data_training_and_cost(save):
    readme = "\n".join(read_lines(save() / "README.md"))
    assert "{" not in readme
    assert "# base, en to de" in readme
    assert "trained on toy (random words; CC0)" in readme
    assert "| parameters | 1,234 |" in readme
    assert "| model | N 1, d_model 16, d_ff 32, h 2, d_k 8, d_v 8, positions sinusoidal |" in readme
    assert "| steps | 12 (4,321 target subwords), the average of 3 checkpoint(s) |" in readme
    assert "| training data | 5,678 pairs; 7 with more than 20 subwords on a side were left out |" in readme
    assert "| dev perplexity | 8.77 per subword, on the start of dev at step 12, before averaging |" in readme
    assert "| scores | none yet |" in readme
    assert "python -m transformer translate --package" in readme
    assert "| made with | commit 1234abcd-dirty, torch 2.13.0 |" in readme
    assert re.search(r"\| config \| SHA-256 [0-9a-f]{64} \|", readme)
    assert "| cost | 1.5e+12 FLOPs; 1.00 hours on 2 x abacus, float32 |" in readme


@pytest.mark.parametrize(
    ("kind", "licence", "head"),
    [
        ("translation", "CC BY-NC-SA 4.0", {"language": ["en", "de"], "license": "cc-by-nc-sa-4.0"}),
        ("parsing", "of the: treebank", {"language": ["en"], "license": "other", "license_name": "of the: treebank"}),
    ],
)
def test_model_hubs_can_read_the_head(save, change_package, kind, licence, head):
    folder = save()
    config = json.loads((folder / "config.json").read_text())
    change_package(folder, kind=kind, corpus=config["corpus"] | {"licence": licence})
    write_readme(folder, read_package_config(folder), [])
    said = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert head.items() <= said.items()
    assert said["datasets"] == ["toy"]


PARAMETERS = AttentionOverParametersConfig(h_p=2, d_pk=3, d_pv=4, n_p=5)


@pytest.mark.parametrize(
    ("changes", "kind", "sizes"),
    [
        (
            {"attention": "additive", "attention_dropout": 0.1},
            "A Transformer of",
            "N 1, d_model 16, d_ff 32, h 2, d_k 8, d_v 8, positions sinusoidal, attention additive, "
            "attention_dropout 0.1",
        ),
        (
            {"attention_over_parameters": PARAMETERS},
            "A Transformer of",
            "N 1, d_model 16, h 2, d_k 8, d_v 8, positions sinusoidal, "
            "attention_over_parameters (h_p 2, d_pk 3, d_pv 4, n_p 5)",
        ),
        ({"network": "recurrent", "N": 2}, "A recurrent network", "N 2, d_model 16"),
        (
            {"network": "convolutional", "positions": "learned", "N": 2},
            "A convolutional network",
            "N 2, d_model 16",
        ),
    ],
)
def test_the_readme_names_the_kind_and_the_sizes_of_a_network(save, changes, kind, sizes):
    lines = read_lines(save(**changes) / "README.md")
    assert any(line.startswith(kind) for line in lines)
    assert f"| model | {sizes} |" in lines


def test_the_readme_of_a_parser_says_how_to_parse_and_only_a_line_feed_ends_a_line(save, change_package):
    folder = save()
    corpus = json.loads((folder / "config.json").read_text())["corpus"] | {"description": "one\u2028two\x85three"}
    change_package(folder, kind="parsing", corpus=corpus)
    write_readme(folder, read_package_config(folder), [])
    lines = read_lines(folder / "README.md")
    assert "Parse sentences, one per line:" in lines
    assert any("(one\u2028two\x85three; " in line for line in lines)


@pytest.mark.parametrize(
    ("record", "changes", "history", "told"),
    [
        ("corpus", {"licence": ...}, None, "other: the records of corpus and training do not fit .*'licence'"),
        ("training", {"seconds": "long"}, None, "other: the records of corpus and training do not fit"),
        ("corpus", {"pairs": "many"}, None, "other: the records of corpus and training do not fit"),
        ("", {"source": None}, None, "other: source: Input should be a valid string"),
        ("", {}, "step,dev_perplexity\n1,low\n", r"mine\.csv: not a history of a training"),
        ("", {}, "step,loss\n1,2\n", r"mine\.csv: not a history of a training"),
    ],
)
def test_records_that_do_not_fit_are_refused_before_anything_is_written(save, tmp_path, record, changes, history, told):
    whole, other = save(), tmp_path / "other"
    config = json.loads((whole / "config.json").read_text())
    changed = config[record] if record else config
    changed.update(changes)
    for key in [key for key, value in changes.items() if value is ...]:
        del changed[key]
    (tmp_path / "mine.csv").write_text(history or (whole / "history.csv").read_text())
    with pytest.raises(InputError, match=told):
        save_package(other, config, {}, whole / "subwords.model", tmp_path / "mine.csv")
    assert not other.exists()
