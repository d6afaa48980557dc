from types import SimpleNamespace

from workflow.jobs import remove_states


def test_finished_trainings_lose_their_states_and_interrupted_ones_keep_them(tmp_path):
    packages = []
    for seed, file in (("1", "finished.json"), ("2", "state.safetensors"), ("3", None)):
        packages += [tmp_path / seed / f"average-{count}/package/config.json" for count in (1, 5)]
        if file:
            (tmp_path / seed / "state").mkdir(parents=True)
            (tmp_path / seed / "state" / file).touch()
    remove_states.main(SimpleNamespace(input=SimpleNamespace(packages=packages)))
    assert [path.name for path in tmp_path.glob("*/state/*")] == ["state.safetensors"]
    assert not (tmp_path / "1/state").exists()
