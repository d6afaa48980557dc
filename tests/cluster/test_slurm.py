"""The workflow through profiles/slurm, on a real Slurm."""

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from slurm import wait_until

from tests.workflow.calls import snakemake
from transformer.training.attempts import read_attempts

pytestmark = pytest.mark.cluster
SMALL = ("--configfile", "smoke.yaml", "fetched.yaml", "small.yaml")
# The nodes have four CPUs; a job takes some seven seconds.
QUICK = ("--latency-wait", "10", "--max-threads", "1", "--slurm-init-seconds-before-status-checks", "7")
RUNS = "results/smoke/runs/ende"


@pytest.fixture(scope="module")
def cluster(project):
    """The project with a filled-in profile: no account, because this Slurm has none, and an hour for a job."""
    shutil.copy(Path(__file__).with_name("small.yaml"), project)
    profile = project / "profiles/slurm/profile.yaml"
    text = profile.read_text()
    for line, filled in (
        ("  slurm_account: \"'FILL_IN'\"\n", ""),
        ("slurm_partition: \"'FILL_IN'\"", "slurm_partition: \"'normal'\""),
        ("resources: {runtime: 1440, ", "resources: {runtime: 60, "),
    ):
        assert line in text
        text = text.replace(line, filled)
    profile.write_text(text)
    return project


@contextlib.contextmanager
def submitted(cluster, slurm, *arguments, slow=None):
    """A Snakemake that runs through Slurm. slow/sitecustomize.py explains `slow`."""
    slowness = {"SLOW_TRAINING": json.dumps(slow or {}), "PYTHONPATH": str(Path(__file__).with_name("slow"))}
    command = ["snakemake", *arguments, "--profile", "profiles/slurm", *QUICK, *SMALL]
    where = {"cwd": cluster, "env": slurm.environment | slowness | {"OMP_NUM_THREADS": "1"}, "start_new_session": True}
    with (cluster / "output.txt").open("w") as output:
        run = subprocess.Popen(command, **where, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield run
        run.wait(timeout=500)
    finally:
        if run.poll() is None:
            run.terminate()
            run.wait(timeout=60)


def attempts(cluster, run):
    """The first step of each attempt at a run, and the last step that it reached."""
    return [(each["from"], each["to"]) for each in read_attempts(cluster / RUNS / run / "state/attempts")]


def test_the_results_equal_those_of_one_machine_whatever_happens_to_the_jobs(cluster, slurm, tmp_path):
    alone = shutil.copytree(cluster, tmp_path / "alone")
    cancelled, warned, timed_out, unlucky = (f"base/{seed}" for seed in (1, 2, 3, 4))
    options = {"1": "--nodelist=n1", "2": "--nodelist=n1 --signal=TERM@1", "3": "--nodelist=n1", "4": "--nodelist=n2"}
    resources = (
        f"train:slurm_extra={options}[wildcards.seed]",
        "train:runtime=1 if wildcards.seed in '23' and attempt == 1 else 9",
    )
    tables = [f"results/smoke/tables/{name}.csv" for name in ("corpora", "table2", "table3")]
    targets = [*tables, *(f"{RUNS}/{run}/training.json" for run in (warned, timed_out, unlucky))]
    slow = {cancelled: [1], warned: [1], timed_out: [2], unlucky: [1, 1]}

    def at_work(run, attempt):
        def reached():
            assert submission.poll() is None, (cluster / "output.txt").read_text()
            done = attempts(cluster, run)
            return len(done) >= attempt and done[-1][1] > done[-1][0] + 3

        wait_until(reached, 200, f"{run} trains in attempt {attempt}")

    def job_of(run):
        return slurm.jobs()[f"rule_train_wildcards_ende_{run.replace('/', '_')}"]

    work = submitted(cluster, slurm, *targets, "--set-resources", *resources, slow=slow)
    with ThreadPoolExecutor() as pool, work as submission:
        at_work(cancelled, 1)
        slurm("scancel", job_of(cancelled)[0])
        at_work(unlucky, 1)
        job, node = job_of(unlucky)
        slurm.kill_node(node)
        wait_until(lambda: slurm("squeue", "--noheader", "--format=%T", "--job", job) == "PENDING", 60, "requeued")
        slurm.start_node(node)
        at_work(unlucky, 2)
        assert job_of(unlucky)[0] == job
        preempting = ("--partition=urgent", f"--nodelist={node}", "--exclusive", "--output=/dev/null")
        slurm("sbatch", *preempting, "--wrap=true")
        local = pool.submit(snakemake, alone, *targets, *SMALL)
    output = (cluster / "output.txt").read_text()
    assert submission.returncode == 0, output
    for status in ("FAILED", "TIMEOUT", "CANCELLED"):
        assert f"SLURM status is: '{status}'" in output
    records = {run: json.loads((cluster / RUNS / run / "training.json").read_text()) for run in slow}
    assert all(record["resumed"] >= 1 for record in records.values())
    assert records[unlucky]["resumed"] >= 2
    assert records[warned]["steps_redone"] == 0

    assert local.result().returncode == 0, local.result().stderr
    equal = ("checkpoints/*.safetensors", "*/package/model.safetensors")
    equal += ("*/*.translation", "*/*.scores.json", "*/*.comparison.json")
    files = [path for pattern in equal for path in alone.glob(f"{RUNS}/*/*/{pattern}")]
    files += [alone / table for table in tables if "table2" not in table]  # it has the cost in seconds
    assert len(files) == 5 * 2 + 3 + 3 + 3 + 1 + 2
    for path in files:
        assert (cluster / path.relative_to(alone)).read_bytes() == path.read_bytes(), path
    for path in alone.glob(f"{RUNS}/*/*/history.csv"):
        histories = [csv.DictReader(each.open()) for each in (path, cluster / path.relative_to(alone))]
        ours, theirs = ([row | {"tokens_per_second": ""} for row in history] for history in histories)
        assert ours == theirs


def test_trainings_that_outlive_a_killed_snakemake_are_not_trained_again(cluster, slurm):
    runs = ("base/6", "A-h1/6")
    targets = [f"{RUNS}/{run}/average-2/package/config.json" for run in runs]
    with submitted(cluster, slurm, *targets, slow={"base/6": [0.2], "A-h1/6": [0.5]}) as killed:
        wait_until(lambda: all(attempts(cluster, run) for run in runs), 120, "both train")
        os.killpg(killed.pid, signal.SIGKILL)
    assert not any((cluster / RUNS / run / "training.json").exists() for run in runs)
    wait_until(lambda: not slurm("squeue", "--noheader"), 120, "the trainings end by themselves")
    records = [(cluster / RUNS / run / "training.json").read_bytes() for run in runs]
    assert snakemake(cluster, "--unlock", *SMALL).returncode == 0
    with submitted(cluster, slurm, *targets) as again:
        pass
    output = (cluster / "output.txt").read_text()
    assert again.returncode == 0, output
    assert set(re.findall(r"^\d+ of \d+  (\w+) ", output, re.M)) == {"average_checkpoints"}
    assert [(cluster / RUNS / run / "training.json").read_bytes() for run in runs] == records
    assert [json.loads(record)["resumed"] for record in records] == [0, 0]


def test_a_request_that_slurm_rejects_is_reported_with_the_reason(cluster, slurm):
    target = f"{RUNS}/base/5/training.json"
    with submitted(cluster, slurm, target, "--set-resources", "train:gpu=9", "--retries", "0") as run:
        pass
    assert run.returncode != 0
    output = (cluster / "output.txt").read_text()
    assert "Requested node configuration is not available" in output
    assert " --gpus=9 " in output


def test_training_on_two_nodes_gives_the_weights_of_one_process(cluster, slurm):
    wanted = ("gpu=4", "nodes=2", "mpi='srun'", "tasks=2", "tasks_per_gpu=0")
    wanted += ("slurm_extra='--signal=TERM@120 --gpus-per-node=2'",)
    two_nodes = [f"train:{resource}" for resource in wanted]
    alone = "results/alone/smoke/runs/ende/A-h1/2"
    work = submitted(cluster, slurm, f"{RUNS}/A-h1/2/training.json", "--set-resources", *two_nodes)
    with ThreadPoolExecutor() as pool, work as run:
        target = f"{alone}/training.json"
        local = pool.submit(snakemake, cluster, target, *SMALL, "--config", "results=results/alone")
    assert run.returncode == 0, (cluster / "output.txt").read_text()
    assert local.result().returncode == 0, local.result().stderr
    folders = [cluster / RUNS / "A-h1/2", cluster / alone]
    assert [json.loads((folder / "training.json").read_text())["devices"] for folder in folders] == [4, 1]
    losses = [[float(row["loss"]) for row in csv.DictReader((folder / "history.csv").open())] for folder in folders]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
