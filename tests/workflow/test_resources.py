"""The resources that jobs request from a cluster."""

import re
import subprocess

import pytest
from calls import touch_treebank

from tests import forks
from tests.pages import ROOT

ON_GPU = ("train", "translate", "score", "measure_lengths", "measure_step_time")
MEMORY = '    mem_mb: "32000 * min(attempt, 3)"\n'  # of a training on a GPU, in the profile
LOCAL = re.compile("all|fetch|configure|gather|remove|write|show|draw_(?!plain)")


@pytest.fixture(scope="module", params=[1, 2])
def jobs(request, tmp_path_factory):
    """All jobs of `paper`: rule -> the requests of its jobs in the first or the second attempt.

    In the second one, trainings have the memory that they request without a GPU.
    """
    profile = tmp_path_factory.mktemp("slurm") / "profile.yaml"
    text = (ROOT / "profiles/slurm/profile.yaml").read_text().replace("FILL_IN", "mine")
    assert MEMORY in text
    profile.write_text(text if request.param == 1 else text.replace(MEMORY, ""))
    touch_treebank(profile.parent / "wsj")
    overlay = profile.parent / "trees.yaml"
    overlay.write_text(f"corpora: {{penn-treebank: {{trees: {profile.parent}/wsj}}}}")
    command = [forks.folder() / "snakemake", "--dry-run", "--attempt", str(request.param)]
    command += ["--printshellcmds", "--profile", profile.parent, "--forceall"]
    command += ["--configfile", "config/paper.yaml", overlay]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    requests = {}
    for job in run.stdout.split("\n["):
        if name := re.search(r"^rule (\w+):", job, re.M):
            resources = dict(re.findall(r"(\w+)=([^,\n]*)", re.search("    resources: (.*)", job)[1]))
            requests.setdefault(name[1], []).append((job, resources))
    return request.param, requests


def test_every_rule_with_a_command_requests_resources_or_is_local():
    rules = [rule for path in (ROOT / "workflow/rules").glob("*.smk") for rule in path.read_text().split("\nrule ")[1:]]
    asking = [rule for rule in rules if "shell:" in rule and "runtime=" in rule]
    assert len(asking) > 10
    for rule in rules:
        assert "runtime=" in rule or "shell:" not in rule or LOCAL.match(rule) or rule.startswith("plan:"), rule


@pytest.mark.workflow
def test_every_job_on_a_node_requests_resources_within_the_limits_of_the_profile(jobs):
    _, requests = jobs
    on_nodes = {"read_files", "learn_subwords", "encode_part", "train", "average_checkpoints", "translate"}
    assert on_nodes <= requests.keys()
    for rule, asked in requests.items():
        for _, resources in asked:
            if LOCAL.match(rule):
                assert "runtime" not in resources
            else:
                assert 30 <= int(resources["runtime"]) <= 1440
                assert 2000 <= int(resources["mem_mb"]) <= 128_000
            assert resources.get("gpu") == ("1" if rule in ON_GPU else None)


def measuring(*options):
    """What a dry run says of the job that measures the time of a step of `quick`."""
    command = [forks.folder() / "snakemake", "--dry-run", "--forceall", "--printshellcmds", *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    [job] = [job for job in run.stdout.split("\n[") if "rule measure_step_time:" in job]
    return job


@pytest.mark.workflow
def test_no_other_job_runs_while_time_is_measured_with_the_threads_of_a_training():
    set_as = ("--set-threads", "train=2", "--set-resources", "train:micro_batch_tokens=512")
    job = measuring("--cores", "7", *set_as)
    assert "    threads: 7\n" in job
    assert "--threads 2 --micro-batch-tokens 512" in job


@pytest.mark.workflow
def test_on_a_cluster_time_is_measured_with_the_cpus_of_a_training(jobs):
    _, requests = jobs
    [(job, resources)] = requests["measure_step_time"]  # a dry run gives every job one thread
    assert resources["training_threads"] == "4"
    assert "--threads 4 --micro-batch-tokens 10000 " in job  # not those of a training: several models are in memory


@pytest.mark.workflow
def test_without_a_gpu_a_large_model_requests_more_memory_and_a_second_attempt_twice_as_much(jobs):
    attempt, requests = jobs
    trainings = [(job, resources) for job, resources in requests["train"] if "task=ende, " in job]
    base, big = (
        next(resources for job, resources in trainings if f" model={model}," in job) for model in ("base", "big")
    )
    assert all(re.search(r" --micro-batch-tokens \d+ --trainings-per-gpu 1 ", job) for job, _ in trainings)
    asked = [int(each["mem_mb"]) for each in (base, big)]
    assert asked == ([32_000, 32_000] if attempt == 1 else [2 * 42_215, 128_000])
    assert 60 < int(base["runtime"]) < int(big["runtime"])
    assert base["slurm_extra"] == "--signal=TERM@120"
