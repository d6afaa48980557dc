import json
import shutil
import sys

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from transformer.cli.main import main
from transformer.decoding.beam import beam_search
from transformer.export.ctranslate2 import to_ctranslate2
from transformer.export.import_marian import from_marian
from transformer.export.marian import to_marian
from transformer.model.config import AttentionOverParametersConfig
from transformer.package.package import load_package
from transformer.support.files import InputError

CPU = torch.device("cpu")
LIKE_MARIAN = {"N": 2, "d_model": 16, "h": 2, "d_k": 8, "d_v": 8}


@pytest.fixture
def ours(save):
    return save("ours", **LIKE_MARIAN)


@pytest.fixture
def marian(ours, tmp_path):
    to_marian(ours, tmp_path / "marian")
    return tmp_path / "marian"


def batch(package, text):
    """Sources and targets, the longest first so that nothing else has to be padded."""
    ids = sorted(package.subwords.encode(text(5, 4)), key=len, reverse=True)
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(sentence) for sentence in ids], batch_first=True)
    return padded, padded.flip(0)


def our_logits(package, source, target):
    with torch.inference_mode():
        logits = package.model.logits(package.model(source, target))
    return logits.clone()


def marian_logits(folder, source, target):
    """MarianMTModel of Transformers, stated again: what its files mean."""
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


def test_marian_computes_the_same_logits(ours, marian, text):
    package = load_package(ours, CPU)
    source, target = batch(package, text)
    expected, got = our_logits(package, source, target), marian_logits(marian, source, target)
    real = target != 0
    assert (expected - got)[real][:, 1:].abs().max() < 2e-5
    assert (got[..., 0] < -9000).all()


def test_the_marian_folder_has_what_transformers_reads(ours, marian):
    assert sorted(path.name for path in marian.iterdir()) == [
        "README.md",
        "config.json",
        "generation_config.json",
        "history.csv",
        "model.safetensors",
        "package.json",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ]
    for name in ("source.spm", "target.spm"):
        assert (marian / name).read_bytes() == (ours / "subwords.model").read_bytes()
    vocabulary = json.loads((marian / "vocab.json").read_text())
    assert list(vocabulary)[:3] == ["<pad>", "</s>", "<unk>"]
    assert list(vocabulary.values()) == list(range(len(load_package(ours, CPU).subwords)))
    assert "trained on toy (random words; CC0)" in (marian / "README.md").read_text()


def test_export_and_import_give_the_same_package_but_the_row_of_padding(ours, marian, tmp_path):
    from_marian(marian, tmp_path / "back")
    before, after = load_package(ours, CPU), load_package(tmp_path / "back", CPU)
    weights = before.model.state_dict()
    weights["embedding"][0] = 0
    assert all(torch.equal(tensor, weights[name]) for name, tensor in after.model.state_dict().items())
    for key in ("task", "source", "target", "vocabulary", "decoding", "averaged", "corpus", "training"):
        assert getattr(before.config, key) == getattr(after.config, key)


def test_a_marian_folder_of_others_becomes_a_package(marian, tmp_path):
    (marian / "package.json").unlink()
    weights = load_file(marian / "model.safetensors")
    weights["lm_head.weight"] = weights["model.shared.weight"].clone()
    del weights["final_logits_bias"]
    save_file({name: tensor.bfloat16() for name, tensor in weights.items()}, marian / "model.safetensors")
    assert main(["import", "--marian", str(marian), "--output", str(tmp_path / "back")]) == 0
    config = load_package(tmp_path / "back", CPU).config
    assert (config.source, config.target, config.averaged) == ("en", "de", ())


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_ctranslate2_gives_the_same_scores_and_hypotheses(save, tmp_path, text, positions):
    ctranslate2 = pytest.importorskip("ctranslate2")
    folder = save(**LIKE_MARIAN, positions=positions)
    to_ctranslate2(folder, tmp_path / "out")
    package, translator = load_package(folder, CPU), ctranslate2.Translator(str(tmp_path / "out"))
    lines = sorted(text(5, 4), key=len)
    pieces, ids = [package.subwords.pieces(line) for line in lines], package.subwords.encode(lines)
    for source, target, result in zip(ids, reversed(ids), translator.score_batch(pieces, pieces[::-1]), strict=True):
        logits = our_logits(package, torch.tensor([source]), torch.tensor([target]))[0]
        logits[:, 0] = -torch.inf  # padding
        expected = logits.log_softmax(-1).gather(1, torch.tensor(target)[:, None])[:, 0]
        assert torch.tensor(result.log_probs) == pytest.approx(expected, abs=1e-4)
    for source, result in zip(
        ids, translator.translate_batch(pieces, beam_size=1, min_decoding_length=0, max_decoding_length=8), strict=True
    ):
        best = beam_search(package.model, torch.tensor([source]), 1, 0.0, 8)[0][0]
        assert [package.subwords.processor.piece_to_id(piece) for piece in result.hypotheses[0]] == best.ids[:8]


def test_transformers_gives_the_same_ids_logits_and_hypotheses(ours, marian, text):
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


def test_what_transformers_saves_is_imported(ours, marian, tmp_path):
    transformers = pytest.importorskip("transformers")
    for part in (transformers.MarianMTModel, transformers.MarianTokenizer):
        part.from_pretrained(marian).save_pretrained(tmp_path / "saved")
    from_marian(tmp_path / "saved", tmp_path / "back")
    after = load_package(tmp_path / "back", CPU).model.state_dict()
    before = load_package(ours, CPU).model.state_dict()
    assert all(torch.equal(after[name][1:], tensor[1:]) for name, tensor in before.items())


@pytest.mark.parametrize("to", ["marian", "ctranslate2"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"d_k": 4}, "d_k 4, d_v 8, h 2"),
        ({"h": 3}, "h 3"),
        ({"attention_over_parameters": AttentionOverParametersConfig(2, 8, 8, 4)}, "attention over parameters"),
    ],
)
def test_what_cannot_be_expressed_is_refused(save, tmp_path, capsys, monkeypatch, to, changes, reason):
    if to == "ctranslate2" and "ctranslate2" not in sys.modules:
        monkeypatch.setitem(sys.modules, "ctranslate2", type(sys)("ctranslate2"))
        monkeypatch.setitem(sys.modules, "ctranslate2.specs", type(sys)("specs"))
        sys.modules["ctranslate2.specs"].TransformerSpec = None
    folder = save(**changes)
    assert main(["export", "--package", str(folder), "--to", to, "--output", str(tmp_path / "out")]) == 1
    assert reason in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["package"]


def test_marian_has_no_learned_positions(save, tmp_path):
    with pytest.raises(InputError, match="learned positions, which Marian cannot express"):
        to_marian(save(positions="learned"), tmp_path / "out")


def test_without_ctranslate2_its_name_is_in_the_message(ours, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(InputError, match="pip install 'ctranslate2"):
        to_ctranslate2(ours, tmp_path / "out")


def test_a_folder_with_files_is_left_as_it_is(ours, marian, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in marian.iterdir()}
    for write, source in ((to_marian, ours), (from_marian, marian)):
        with pytest.raises(InputError, match="not an empty folder"):
            write(source, marian)
    assert before == {path: path.stat().st_mtime_ns for path in marian.iterdir()}
    (tmp_path / "empty").mkdir()
    to_marian(ours, tmp_path / "empty")


def test_a_full_disk_leaves_nothing(ours, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("transformer.export.package.write_lines", full)
    with pytest.raises(InputError, match="No space left"):
        to_marian(ours, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "bart"),
        ("activation_function", "swish"),
        ("scale_embedding", None),
        ("normalize_before", True),
        ("share_encoder_decoder_embeddings", False),
        ("static_position_embeddings", False),
        ("pad_token_id", 58100),
        ("decoder_layers", 3),
        ("decoder_vocab_size", 7),
        ("d_model", "16"),
        ("d_model", 17),
        ("encoder_layers", 0),
    ],
)
def test_a_config_that_ours_cannot_be_is_refused_with_key_and_value(marian, tmp_path, key, value):
    path = marian / "config.json"
    config = json.loads(path.read_text())
    config[key] = value
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=rf"config\.json: {key} is {json.dumps(value)}, not"):
        from_marian(marian, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("final_logits_bias", lambda t: t.index_fill_(1, torch.tensor([5]), 0.5), "final_logits_bias has 0.5"),
        ("model.shared.weight", lambda t: t.index_fill_(0, torch.tensor([0]), 0.5), "row of padding, has 0.5"),
        ("model.encoder.layers.0.fc1.weight", lambda t: t[1:], r"fc1\.weight is \[31, 16\], expected shape \[32, 16\]"),
        ("model.encoder.layers.1.fc1.bias", lambda _: None, r"fc1\.bias is missing"),
        ("lm_head.weight", lambda _: torch.ones(60, 16), "lm_head.weight is neither"),
        ("model.encoder.embed_positions.weight", lambda _: torch.ones(1024, 16), "embed_positions.weight is neither"),
        ("model.encoder.layernorm_embedding.weight", lambda _: torch.ones(16), "layernorm_embedding.weight is neither"),
    ],
)
def test_weights_that_ours_cannot_have_are_refused_by_name(marian, tmp_path, name, change, message):
    weights = load_file(marian / "model.safetensors")
    changed = change(weights.pop(name, None))
    save_file(weights | ({} if changed is None else {name: changed.contiguous()}), marian / "model.safetensors")
    with pytest.raises(InputError, match=rf"model\.safetensors: .*{message}"):
        from_marian(marian, tmp_path / "back")


def test_files_that_are_missing_damaged_or_of_another_vocabulary_are_named(marian, tmp_path):
    damages = {
        "config.json": lambda path: path.unlink(),
        "model.safetensors": lambda path: path.write_bytes(path.read_bytes()[:99]),
        "target.spm": lambda path: path.write_bytes(b"another"),
        "vocab.json": lambda path: path.write_text('{"<pad>": 1}'),
        "package.json": lambda path: path.write_text("{}"),
    }
    for name, damage in damages.items():
        shutil.copytree(marian, folder := tmp_path / f"without-{name}")
        damage(folder / name)
        with pytest.raises(InputError, match=name.replace(".", r"\.")):
            from_marian(folder, tmp_path / "back")
