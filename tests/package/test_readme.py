import json
import re

import pytest

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


def test_the_readme_names_unusual_kinds_of_attention(save):
    lines = read_lines(save(attention="additive", attention_dropout=0.1) / "README.md")
    more = "d_k 8, d_v 8, positions sinusoidal, attention additive, attention_dropout 0.1"
    assert f"| model | N 1, d_model 16, d_ff 32, h 2, {more} |" in lines


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"network": "recurrent"}, "A recurrent network, LSTMs with attention much like GNMT (arXiv 1609.08144)"),
        (
            {"network": "convolutional", "positions": "learned"},
            "A convolutional network with attention, much like ConvS2S (arXiv 1705.03122)",
        ),
    ],
)
def test_the_readme_of_another_network_does_not_call_it_a_transformer(save, changes, kind):
    readme = "\n".join(read_lines(save(**changes, N=2) / "README.md"))
    assert f"{kind}, trained on toy" in readme
    assert "| model | N 2, d_model 16 |" in readme
    assert "Transformer" not in readme


def test_the_readme_of_a_parser_says_how_to_parse(save, change_package):
    folder = save()
    change_package(folder, kind="parsing")
    write_readme(folder, read_package_config(folder), [])
    assert "Parse sentences, one per line:" in read_lines(folder / "README.md")


def test_only_a_line_feed_ends_a_line_of_the_readme(save, change_package):
    folder = save()
    corpus = json.loads((folder / "config.json").read_text())["corpus"] | {"description": "one\u2028two\x85three"}
    change_package(folder, corpus=corpus)
    write_readme(folder, read_package_config(folder), [])
    assert any("(one\u2028two\x85three; " in line for line in read_lines(folder / "README.md"))


@pytest.mark.parametrize(("record", "key"), [("corpus", "licence"), ("training", "steps")])
def test_a_record_that_lacks_a_key_is_refused_before_anything_is_written(save, tmp_path, record, key):
    whole, other = save(), tmp_path / "other"
    config = json.loads((whole / "config.json").read_text())
    del config[record][key]
    told = f"other: the key '{key}' is missing from the records of corpus and training; make"
    with pytest.raises(InputError, match=told):
        save_package(other, config, {}, whole / "subwords.model", whole / "history.csv")
    assert not other.exists()


@pytest.mark.parametrize(
    ("record", "changes", "told"),
    [
        ("training", {"seconds": "long"}, "other: the records of corpus and training do not fit"),
        ("corpus", {"pairs": "many"}, "other: the records of corpus and training do not fit"),
        ("", {"source": None}, "other: source: Input should be a valid string"),
    ],
)
def test_a_record_with_a_value_of_another_kind_is_refused_before_anything_is_written(
    save, tmp_path, record, changes, told
):
    whole, other = save(), tmp_path / "other"
    config = json.loads((whole / "config.json").read_text())
    (config[record] if record else config).update(changes)
    with pytest.raises(InputError, match=told):
        save_package(other, config, {}, whole / "subwords.model", whole / "history.csv")
    assert not other.exists()


@pytest.mark.parametrize("text", ["step,dev_perplexity\n1,low\n", "step,loss\n1,2\n", "step,loss\n", ""])
def test_a_file_that_is_no_history_is_refused_before_anything_is_written(save, tmp_path, text):
    whole, other = save(), tmp_path / "other"
    (history := tmp_path / "mine.csv").write_text(text)
    with pytest.raises(InputError, match=r"mine\.csv: not a history of a training"):
        save_package(other, json.loads((whole / "config.json").read_text()), {}, whole / "subwords.model", history)
    assert not other.exists()


def test_the_readme_names_the_sizes_of_attention_over_parameters(save):
    over = AttentionOverParametersConfig(h_p=2, d_pk=3, d_pv=4, n_p=5)
    lines = read_lines(save(attention_over_parameters=over) / "README.md")
    [model] = [line for line in lines if line.startswith("| model |")]
    assert "d_ff" not in model
    assert "attention_over_parameters (h_p 2, d_pk 3, d_pv 4, n_p 5)" in model
