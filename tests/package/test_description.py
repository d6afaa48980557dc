import dataclasses

import pytest

from transformer.model.config import AttentionOverParametersConfig
from transformer.package.description import describe


def test_a_package_is_described_in_aligned_lines(package):
    lines = describe(package()).splitlines()
    rows = dict(line.split(maxsplit=1) for line in lines)
    assert all(line[13] == " " != line[14] for line in lines)
    assert rows["task"] == "ende (translation), en to de"
    assert rows["architecture"].startswith(
        "N 1, d_model 16, d_ff 32, h 2, d_k 8, d_v 8, P_drop 0.1, positions sinusoidal"
    )
    assert rows["vocabulary"] == "60 subwords of source and target"
    assert rows["corpus"] == "toy (random words; CC0)"
    assert rows["averaged"] == "checkpoints of steps 6, 9, 12"
    assert rows["decoding"] == "beam 3, alpha 0.6, at most source + 10 subwords"


def test_a_description_counts_the_parameters_and_names_the_sizes(package):
    parameters = AttentionOverParametersConfig(h_p=2, d_pk=8, d_pv=8, n_p=24)
    loaded = package(attention_over_parameters=parameters)
    text = describe(loaded)
    assert "attention_over_parameters (h_p 2, d_pk 8, d_pv 8, n_p 24)" in text
    assert f"{sum(p.numel() for p in loaded.model.parameters()):,}" in text


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"network": "recurrent"}, "network recurrent, N 3, d_model 16, P_drop 0.1"),
        (
            {"network": "convolutional", "positions": "learned", "max_length": 24},
            "network convolutional, N 3, d_model 16, P_drop 0.1, max_length 24",
        ),
    ],
)
def test_the_description_of_another_network_names_only_its_own_keys(package, changes, keys):
    rows = dict(line.split(maxsplit=1) for line in describe(package(**changes, N=3)).splitlines())
    assert rows["architecture"] == keys


def test_a_description_says_not_recorded_for_missing_values(package):
    loaded = package()

    def rows(**records):
        config = dataclasses.replace(loaded.config, **records)
        text = describe(dataclasses.replace(loaded, config=config))
        return dict(line.split(maxsplit=1) for line in text.splitlines())

    bare = rows(training={}, corpus={}, averaged=())
    unknown = {name for name, text in bare.items() if text == "not recorded"}
    assert unknown == {"corpus", "pairs", "training", "cost", "averaged"}
    training = {"steps": 12, "seconds": 3.0, "device": "abacus", "precision": "float32"}
    training |= {"target_tokens": 8682087, "devices": 2, "flops": 1.123e14}
    full = rows(training=training, corpus={**loaded.config.corpus, "pairs": {"train": 29000, "dev": 1014}})
    assert full["pairs"] == "train 29000, dev 1014"
    assert full["training"] == "12 steps, 8,682,087 target subwords, float32"
    assert full["cost"] == "3 s on 2 x abacus, 1.12e+14 FLOPs"
    other = rows(training={**training, "attempts": "none", "software": ["torch"]}, corpus={"pairs": 3})
    assert {name for name, text in other.items() if text == "not recorded"} == {"corpus", "cost"}
