import json
import shutil

import pytest
import torch

from transformer.package.loading import load_package
from transformer.support.files import InputError
from transformer.support.tensors import read_tensors

CPU = torch.device("cpu")


def test_a_saved_package_is_loaded_ready_to_use(save, run_config):
    folder = save()
    loaded = load_package(folder, CPU)
    weights, _ = read_tensors(folder / "model.safetensors")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in loaded.model.state_dict().items())
    assert not loaded.model.training
    assert loaded.config.architecture == run_config().architecture
    assert loaded.config.decoding.beam == 3
    assert loaded.config.averaged == (6, 9, 12)
    assert loaded.config.vocabulary == len(loaded.subwords)


def test_a_package_works_after_it_is_moved(save, tmp_path, text, translations):
    lines = text(3, 5)
    folder = save()
    before = list(translations(load_package(folder, CPU), lines, 2, 200))
    moved = shutil.move(folder, tmp_path / "elsewhere" / "model")
    assert not folder.exists()
    assert list(translations(load_package(moved, CPU), lines, 2, 200)) == before
    assert sorted(path.name for path in moved.iterdir()) == [
        "README.md",
        "config.json",
        "history.csv",
        "model.safetensors",
        "subwords.model",
    ]
    assert all(str(tmp_path).encode() not in path.read_bytes() for path in moved.iterdir())


def test_saving_a_package_twice_writes_the_same_bytes(save):
    one, other = save("one"), save("other")
    assert all((other / path.name).read_bytes() == path.read_bytes() for path in one.iterdir())


@pytest.mark.parametrize("name", ["model.safetensors", "subwords.model", "history.csv"])
def test_a_damaged_and_a_missing_file_is_named(save, name):
    path = save() / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}: SHA-256 [0-9a-f]{{64}}, expected [0-9a-f]{{64}}"):
        load_package(path.parent, CPU)
    path.unlink()
    with pytest.raises(InputError, match=f"{name}: no such file"):
        load_package(path.parent, CPU)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.update(seed=2),
        lambda config: config["decoding"].update(beam=4),
        lambda config: config["sha256"].pop("config.json"),  # like packages of earlier versions
    ],
)
def test_a_config_that_is_changed_by_hand_is_refused(save, change):
    path = save() / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config, indent=4))
    assert load_package(path.parent, CPU)
    change(config)
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=rf"{path}: changed or damaged .* unpack or make the package again"):
        load_package(path.parent, CPU)


def test_a_path_without_a_package_and_a_half_written_one_are_refused(save, tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(InputError, match=f"{path}: is not a package"):
            load_package(path, CPU)
    (tmp_path / "package/config.json").mkdir(parents=True)
    with pytest.raises(InputError, match=r"config\.json: is a folder"):
        save()
    assert (tmp_path / "package/model.safetensors").exists()
    with pytest.raises(InputError, match="is not a package"):
        load_package(tmp_path / "package", CPU)
