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
