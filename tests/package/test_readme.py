import json
import re

import pytest
import yaml

from transformer.model.config import AttentionOverParametersConfig
from transformer.package.config import read_package_config
from transformer.package.readme import write_readme
from transformer.support.files import read_lines


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
        ({"attention": "additive"}, "A Transformer of", ", d_v 8, positions sinusoidal, attention additive"),
        ({"attention_over_parameters": PARAMETERS}, "A Transformer of", " (h_p 2, d_pk 3, d_pv 4, n_p 5)"),
        ({"network": "recurrent", "N": 2}, "A recurrent network", "| model | N 2, d_model 16"),
    ],
)
def test_the_readme_names_the_kind_and_the_sizes_of_a_network(save, changes, kind, sizes):
    lines = read_lines(save(**changes) / "README.md")
    assert any(line.startswith(kind) for line in lines)
    assert any(line.endswith(f"{sizes} |") for line in lines)


def test_the_readme_of_a_parser_says_how_to_parse_and_only_a_line_feed_ends_a_line(save, change_package):
    folder = save()
    corpus = json.loads((folder / "config.json").read_text())["corpus"] | {"description": "one\u2028two\x85three"}
    change_package(folder, kind="parsing", corpus=corpus)
    write_readme(folder, read_package_config(folder), [])
    lines = read_lines(folder / "README.md")
    assert "Parse sentences, one per line:" in lines
    assert any("(one\u2028two\x85three; " in line for line in lines)
