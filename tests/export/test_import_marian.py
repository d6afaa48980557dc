import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer.cli.main import main
from transformer.export.import_marian import from_marian
from transformer.package.loading import load_package
from transformer.support.files import InputError

CPU = torch.device("cpu")


def change(path, **values):
    """Change keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def put(axis, place):
    """Puts 0.5 at a place of an axis."""
    return lambda tensor: tensor.index_fill_(axis, torch.tensor([place]), 0.5)


def test_export_and_import_give_the_same_package(ours, marian, tmp_path):
    from_marian(marian, tmp_path / "back")
    before, after = load_package(ours, CPU), load_package(tmp_path / "back", CPU)
    weights = before.model.state_dict()
    assert weights["embedding"][0].any()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in after.model.state_dict().items())
    for key in ("task", "source", "target", "vocabulary", "decoding", "averaged", "corpus", "training"):
        assert getattr(before.config, key) == getattr(after.config, key)
    for key in ("P_drop", "attention_dropout"):
        assert getattr(before.config.architecture, key) == getattr(after.config.architecture, key)


def test_a_marian_model_by_others_becomes_a_package(marian, tmp_path):
    (marian / "package.json").unlink()
    weights = load_file(marian / "model.safetensors")
    weights["lm_head.weight"] = weights["model.shared.weight"].clone()
    del weights["final_logits_bias"]
    save_file({name: tensor.bfloat16() for name, tensor in weights.items()}, marian / "model.safetensors")
    assert main(["import", "--marian", str(marian), "--output", str(tmp_path / "back")]) == 0
    config = load_package(tmp_path / "back", CPU).config
    assert (config.source, config.target, config.averaged) == ("en", "de", ())


@pytest.mark.agreement(witness="Hugging Face")
def test_a_model_that_transformers_saved_is_imported(ours, marian, tmp_path):
    transformers = pytest.importorskip("transformers")
    for part in (transformers.MarianMTModel, transformers.MarianTokenizer):
        part.from_pretrained(marian).save_pretrained(tmp_path / "saved")
    from_marian(tmp_path / "saved", tmp_path / "back")
    after = load_package(tmp_path / "back", CPU).model.state_dict()
    before = load_package(ours, CPU).model.state_dict()
    assert all(torch.equal(after[name][1:], tensor[1:]) for name, tensor in before.items())


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
def test_a_config_that_our_model_cannot_have_is_refused_with_key_and_value(marian, tmp_path, key, value):
    change(marian / "config.json", **{key: value})
    with pytest.raises(InputError, match=rf"config\.json: {key} is {json.dumps(value)}, not"):
        from_marian(marian, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("final_logits_bias", put(1, 5), "final_logits_bias must be all 0, but has 0.5"),
        ("model.shared.weight", put(0, 0), r"of padding\) must be all 0, but has 0.5"),
        ("model.shared.weight", lambda t: t[1:], r"shared\.weight is \[59, 16\], expected shape \[60, 16\]"),
        ("model.encoder.layers.0.fc1.weight", lambda t: t[1:], r"fc1\.weight is \[31, 16\], expected shape \[32, 16\]"),
        ("model.encoder.layers.1.fc1.bias", lambda _: None, r"fc1\.bias is missing"),
        ("lm_head.weight", lambda _: torch.ones(60, 16), "lm_head.weight is neither"),
        ("model.encoder.embed_positions.weight", lambda _: torch.ones(1024, 16), "embed_positions.weight is neither"),
        ("model.encoder.layernorm_embedding.weight", lambda _: torch.ones(16), "layernorm_embedding.weight is neither"),
    ],
)
def test_weights_that_our_model_cannot_have_are_refused_by_name(marian, tmp_path, name, changed, message):
    weights = load_file(marian / "model.safetensors")
    tensor = changed(weights.pop(name, None))
    save_file(weights | ({} if tensor is None else {name: tensor.contiguous()}), marian / "model.safetensors")
    with pytest.raises(InputError, match=rf"model\.safetensors: .*{message}"):
        from_marian(marian, tmp_path / "back")


def test_more_layers_than_tensors_are_refused(marian, tmp_path):
    change(marian / "config.json", encoder_layers=10**7, decoder_layers=10**7)
    with pytest.raises(InputError, match=r"model\.safetensors: has \d+ tensors, too few for 10000000 layers"):
        from_marian(marian, tmp_path / "back")


def test_a_vocabulary_that_no_memory_holds_is_refused(marian, tmp_path):
    change(marian / "config.json", vocab_size=10**12, decoder_vocab_size=10**12)
    with pytest.raises(InputError, match=r"shared\.weight is \[60, 16\], expected shape \[1000000000000, 16\]"):
        from_marian(marian, tmp_path / "back")


def test_files_that_are_missing_damaged_or_of_another_vocabulary_are_named(marian, tmp_path):
    with pytest.raises(InputError, match=r"has no config\.json; name a folder that save_pretrained"):
        from_marian(tmp_path, tmp_path / "back")
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


@pytest.mark.parametrize("row", [None, [0.5] * 15, ["a"] * 16])
def test_a_malformed_row_of_padding_is_refused(marian, tmp_path, row):
    change(marian / "package.json", padding=row)
    with pytest.raises(InputError, match=r"package\.json: `padding` must be a list of 16 numbers; export the package"):
        from_marian(marian, tmp_path / "back")
