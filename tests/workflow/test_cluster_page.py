"""The commands of docs/cluster.md, run as they are printed there."""

import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from calls import jobs

from tests import forks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cluster.md").read_text()
SHARED_NODES, WHOLE_NODES = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
MADE = "results/mine/tokens/ende/train.ids.npy"  # what follows needs no texts
WORDS = ["a", "the", "dog", "cat", "house", "tree", "sees", "likes", "big", "red", "old"]
SMALL = {
    "experiment": "mine",
    "scale": {"width": "1/16", "depth": "1/6"},
    "models": {"base": {"steps": 4, "warmup": 2, "checkpoint_every": 1, "average": 2}},
}


def code_blocks(title):
    """The blocks of commands in a section of docs/cluster.md."""
    section = PAGE.partition(f"# {title}\n")[2].partition("\n#")[0]
    blocks = [""]
    for line in section.splitlines():
        if line.startswith("    "):
            blocks[-1] += line[4:] + "\n"
        elif line and blocks[-1]:
            blocks.append("")
    return list(filter(None, blocks))


@pytest.fixture
def typed(tmp_path):
    """Run commands in a folder like a user, with `snakemake` and torch of this environment.

    A copy of a process would not be in the network of a `prefix`.
    """

    def run(folder, commands, *prefix, **environment):
        shell = {
            "PATH": f"{Path(sys.executable).parent if prefix else forks.folder()}:{os.environ['PATH']}",
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "HOME": str(tmp_path),
            "OMP_NUM_THREADS": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }
        command = [*prefix, "bash", "-euo", "pipefail", "-c", commands]
        return subprocess.run(command, cwd=folder, env=shell | environment, capture_output=True, text=True, timeout=600)

    return run


def write_wheel(folder):
    """A package `tiny` that pip can install."""
    folder.mkdir(parents=True)
    files = {
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr("tiny-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in files))


def write_texts(folder, url):
    """Parallel text as tables, and the config of an experiment that downloads it."""
    draw, downloads, parts = random.Random(1), {}, {}
    for part, pairs in {"train": 200, "dev": 20, "test": 20}.items():
        lines = [draw.choices(WORDS, k=6) for _ in range(pairs)]
        content = "".join(f"{' '.join(line)}\t{' '.join(line[::-1])}\n" for line in lines).encode()
        (folder / f"{part}.tsv").write_bytes(content)
        downloads[f"{url}/{part}.tsv"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        parts[part] = [{"en": f"{url}/{part}.tsv#1", "de": f"{url}/{part}.tsv#2"}]
    tasks = {name: {"models": []} for name in ("enfr", "wsj", "semi")}
    tasks["ende"] = {"corpus": "mine", "vocabulary": 60, "models": ["base"], "decoding": {"extra": 5}}
    return SMALL | {"tasks": tasks, "corpora": {"mine": {"origin": "files", **parts}}, "downloads": downloads}


@pytest.mark.workflow
def test_nodes_without_internet_get_environment_and_texts_from_a_shared_folder(tmp_path, copy_project, typed, server):
    offline = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*offline, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let `unshare --map-root-user --net` switch the network off")
    served, url, asked = server
    write_wheel(served / "simple/tiny")
    config = write_texts(served, url)
    shared = f"SHARED={tmp_path}/shared\n"
    blocks = code_blocks("Nodes without internet")
    assert len(blocks) == 2
    for name, commands in zip(("connected", "isolated"), blocks, strict=True):
        assert "SHARED=/scratch/transformer\n" in commands
        clone = tmp_path / name
        clone.mkdir()
        copy_project(clone)
        for pins in ("requirements.txt", "requirements-torch.txt"):  # tiny instead of gigabytes of packages
            (clone / pins).write_text("tiny==1.0\n")
        (clone / "mine.yaml").write_text(yaml.safe_dump(config))
        commands = commands.replace("SHARED=/scratch/transformer\n", shared).replace("--cores all", f"{MADE} --cores 2")
        before = len(asked)
        if name == "connected":
            run = typed(clone, commands, PIP_INDEX_URL=f"{url}/simple")
            assert {"/train.tsv", "/dev.tsv", "/test.tsv"} <= set(asked)
        else:
            run = typed(clone, commands, *offline)
            assert len(asked) == before
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        installed = typed(clone, ".venv/bin/python -I -c 'import tiny'")
        assert installed.returncode == 0
    assert (tmp_path / "isolated" / MADE).exists()
    assert not (tmp_path / "connected/results").exists()


@pytest.fixture
def clone(tmp_path, copy_project, server):
    """A clone with a mirror beside it and two experiments on the same text, mine and yours."""
    served, url, _ = server
    folder = tmp_path / "clone"
    folder.mkdir()
    copy_project(folder)
    config = write_texts(served, url)
    shutil.copytree(served, tmp_path / "downloads" / url.removeprefix("http://"))
    for name, settings in {"mine": {}, "yours": {"beta2": 0.99}}.items():
        models = {"base": config["models"]["base"] | settings}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(config | {"experiment": name, "models": models}))
    return folder


@pytest.mark.workflow
def test_users_share_a_clone_a_mirror_and_the_outputs_of_the_data_stages(tmp_path, clone, typed, server):
    _, _, asked = server
    [commands] = code_blocks("Several experiments and users")
    for name in ("mine", "yours"):
        work = tmp_path / f"home of {name}"
        work.mkdir()
        shutil.move(clone / f"{name}.yaml", work / "mine.yaml")
        ids = f"results/{name}/tokens/ende/train.ids.npy"
        run = typed(
            work, commands.replace("/scratch/transformer", str(tmp_path)).replace("--cores all", f"{ids} --cores 1")
        )
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        assert (work / ids).readlink().parent == tmp_path / "cache"
    assert run.stdout.count("to cache") + run.stderr.count("to cache") == 0  # the cache had all that `yours` needs
    assert not asked
    assert not {".snakemake", "results"} & {path.name for path in clone.iterdir()}


@pytest.mark.workflow
def test_two_experiments_run_in_one_folder_at_once_with_results_on_another_disk(tmp_path, clone, typed):
    [folder] = re.findall("Add `results=(.*)` to the `--config` of every command; where this page says `results`", PAGE)
    folder = folder.replace("/scratch/$USER", str(tmp_path))

    def run(name, target):
        made = f"snakemake {target} --cores 1 --configfile {name}.yaml --config results={folder}"
        return typed(clone, made, TRANSFORMER_MIRROR=f"{tmp_path}/downloads")

    model = f"{folder}/{{}}/subwords/ende.model".format
    assert run("mine", "downloads").returncode == 0
    with ThreadPoolExecutor() as pool:
        for finished in pool.map(lambda name: run(name, model(name)), ("mine", "yours")):
            assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    assert (tmp_path / "transformer/yours/subwords/ende.model").exists()
    assert not (clone / "results").exists()


@pytest.mark.workflow
def test_the_dry_run_and_the_smoke_run_have_the_page_s_profile_for_nodes_with_8_gpus(clone, typed):
    profile = yaml.safe_load((ROOT / "profiles/slurm/profile.yaml").read_text())
    passes = "micro_batch_tokens"
    for other in (SHARED_NODES, WHOLE_NODES):
        timing = other["set-resources"]["measure_step_time"]
        assert timing[passes] == profile["set-resources"]["measure_step_time"][passes]
    assert SHARED_NODES.keys() <= profile.keys()
    assert SHARED_NODES["set-resources"].keys() == profile["set-resources"].keys()
    rules = {rule: keys | SHARED_NODES["set-resources"][rule] for rule, keys in profile["set-resources"].items()}
    filled = yaml.safe_dump(profile | SHARED_NODES | {"set-resources": rules}).replace("FILL_IN", "YOURS")
    (clone / "my-slurm").mkdir()
    (clone / "my-slurm/profile.yaml").write_text(filled)
    for command in code_blocks("Dry run and smoke run")[0].replace("\\\n", "").splitlines():
        run = typed(clone, f"{command} --dry-run")
        assert run.returncode == 0, run.stderr
        assert jobs(run)["train"] == "1"


@pytest.mark.workflow
def test_a_job_with_a_whole_node_trains_with_a_profile_for_it(tmp_path, clone, typed):
    assert WHOLE_NODES["set-resources"].keys() == SHARED_NODES["set-resources"].keys()
    (clone / "my-node").mkdir()
    (clone / "my-node/profile.yaml").write_text(yaml.safe_dump(WHOLE_NODES))
    [commands] = code_blocks("Whole nodes, and many short trainings")
    [wrapped] = re.findall(r'--wrap "(.*?)"$', commands, re.DOTALL | re.MULTILINE)
    made = "results/mine/runs/ende/base/1/training.json"
    wrapped = wrapped.replace("config/paper.yaml", "mine.yaml").replace("exec snakemake", f"exec snakemake {made}")
    run = typed(clone, wrapped.replace("\\\n", ""), TRANSFORMER_MIRROR=f"{tmp_path}/downloads")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert (clone / made).exists()
