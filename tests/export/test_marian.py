import json

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from transformer.decoding.beam import beam_search
from transformer.export.package import length_exponent
from transformer.package.loading import load_package

CPU = torch.device("cpu")


def batch(package, text):
    """Sources and targets, sorted so that the longest are first."""
    ids = sorted(package.subwords.encode(text(5, 4)), key=len, reverse=True)
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(sentence) for sentence in ids], batch_first=True)
    return padded, padded.flip(0)


def marian_logits(folder, source, target):
    """MarianMTModel of Transformers, written again here: it states the meaning of the files."""
    config, weights = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    d, h, shared = config["d_model"], config["encoder_attention_heads"], weights["model.shared.weight"]

    def linear(x, name):
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, (d,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-5)

    def attention(x, memory, name, mask):
        q, k, v = (
            linear(y, f"{name}.{part}_proj").unflatten(-1, (h, -1)).transpose(1, 2)
            for y, part in ((x, "q"), (memory, "k"), (memory, "v"))
        )
        y = ((q @ k.mT / (d // h) ** 0.5).masked_fill(mask, -torch.inf)).softmax(-1) @ v
        return linear(y.transpose(1, 2).flatten(2), f"{name}.out_proj")

    def embed(ids):
        angles = torch.arange(ids.size(1))[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        return F.embedding(ids, shared) * d**0.5 + torch.cat([angles.sin(), angles.cos()], -1)

    padding = (source == config["pad_token_id"])[:, None, None]
    causal = torch.ones(target.size(1), target.size(1), dtype=torch.bool).triu(1)
    x, y = embed(source), embed(F.pad(target[:, :-1], (1, 0), value=config["decoder_start_token_id"]))
    for i in range(config["encoder_layers"]):
        layer = f"model.encoder.layers.{i}"
        x = norm(x + attention(x, x, f"{layer}.self_attn", padding), f"{layer}.self_attn_layer_norm")
        x = norm(x + linear(F.relu(linear(x, f"{layer}.fc1")), f"{layer}.fc2"), f"{layer}.final_layer_norm")
    for i in range(config["decoder_layers"]):
        layer = f"model.decoder.layers.{i}"
        y = norm(y + attention(y, y, f"{layer}.self_attn", causal), f"{layer}.self_attn_layer_norm")
        y = norm(y + attention(y, x, f"{layer}.encoder_attn", padding), f"{layer}.encoder_attn_layer_norm")
        y = norm(y + linear(F.relu(linear(y, f"{layer}.fc1")), f"{layer}.fc2"), f"{layer}.final_layer_norm")
    return F.linear(y, shared) + weights["final_logits_bias"]


@pytest.mark.agreement(witness="Marian")
def test_marian_computes_the_same_logits(ours, marian, text, our_logits):
    package = load_package(ours, CPU)
    source, target = batch(package, text)
    expected, got = our_logits(package, source, target), marian_logits(marian, source, target)
    real = target != 0
    assert (expected - got)[real][:, 1:].abs().max() < 2e-5
    assert (got[..., 0] < -9000).all()


def test_the_marian_folder_has_the_values_that_transformers_reads(ours, marian):
    names = {"config", "generation_config", "package", "tokenizer_config", "vocab"}
    others = {"README.md", "history.csv", "model.safetensors", "source.spm", "target.spm"}
    assert {path.name for path in marian.iterdir()} == {f"{name}.json" for name in names} | others
    for name in ("source.spm", "target.spm"):
        assert (marian / name).read_bytes() == (ours / "subwords.model").read_bytes()
    vocabulary = json.loads((marian / "vocab.json").read_text())
    assert list(vocabulary)[:3] == ["<pad>", "</s>", "<unk>"]
    assert list(vocabulary.values()) == list(range(len(load_package(ours, CPU).subwords)))
    assert "trained on toy (random words; CC0)" in (marian / "README.md").read_text()


@pytest.mark.agreement(witness="Hugging Face")
def test_transformers_gives_the_same_ids_logits_and_hypotheses(ours, marian, text, our_logits):
    transformers = pytest.importorskip("transformers")
    package, model = load_package(ours, CPU), transformers.AutoModelForSeq2SeqLM.from_pretrained(marian)
    tokenizer = transformers.AutoTokenizer.from_pretrained(marian)
    source, target = batch(package, text)
    decoder = F.pad(target[:, :-1], (1, 0))
    with torch.inference_mode():
        logits = model(input_ids=source, attention_mask=(source != 0).long(), decoder_input_ids=decoder).logits
    assert (logits - our_logits(package, source, target))[target != 0][:, 1:].abs().max() < 1e-4
    for line in text(5, 4):
        encoded = tokenizer([line], return_tensors="pt")
        assert encoded["input_ids"].tolist() == package.subwords.encode([line])
        got = model.generate(**encoded, num_beams=1, do_sample=False, max_new_tokens=8)[0, 1:].tolist()
        best = beam_search(package.model, encoded["input_ids"], 1, 0.0, 8)[0][0]
        assert [i for i in got if i != 1] == best.ids[:8]


def test_the_marian_folder_searches_like_the_package(marian):
    generation = json.loads((marian / "generation_config.json").read_text())
    assert (generation["num_beams"], generation["length_penalty"]) == (3, pytest.approx(0.6 * 20 / 25))
    assert json.loads((marian / "tokenizer_config.json").read_text())["model_max_length"] == 1024


def test_the_exponent_ranks_like_our_penalty_at_the_typical_length():
    """d log(length^p) = d log((5 + length)^alpha) at 20 subwords."""
    assert 20**-1 * length_exponent(0.6) == pytest.approx(0.6 / (5 + 20))


@pytest.mark.agreement(witness="Hugging Face")
def test_the_readme_says_which_text_transformers_reads_otherwise(ours, marian):
    transformers = pytest.importorskip("transformers")
    subwords = load_package(ours, CPU).subwords
    theirs, said = transformers.MarianTokenizer.from_pretrained(marian), (marian / "README.md").read_text()
    alike = [
        "a\u200bb",
        "a\u200cb",
        "a\u00adb",
        "a\u2066b",
        "a\u2581b",
        "a\ufffdb",
        "a ||| b",
        "\u201cthe\u201d",
        " a  b ",
    ]
    other = {"<unk>": "a <unk> b", "</s>": "a </s> b", "<pad>": "a <pad> b", ">>...<<": ">>de<< a"}
    for text in [*alike, *other.values()]:
        same = theirs(text)["input_ids"] == subwords.encode([text])[0]
        assert same == (text in alike), text
    assert all(name in said.partition("MarianTokenizer takes")[2] for name in other)
