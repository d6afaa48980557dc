import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_tests_and_their_processes_see_no_gpu_unless_they_are_marked():
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_conda_and_pip_users_get_the_same_versions():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["dependencies"][-1]["pip"] == pins
    assert all("==" in pin for pin in pins)


def test_the_container_installs_the_pinned_versions_into_the_environment_that_it_uses(tmp_path):
    text = (ROOT / "Containerfile").read_text().replace("\\\n", "")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    given = {word: [value for name, value in steps if name == word] for word, _ in steps}
    assert given["FROM"] == ["docker.io/library/debian:12-slim"]
    assert given["COPY"] == ["requirements.txt /opt/transformer/requirements.txt"]
    (tmp_path / "requirements.txt").touch()  # no packages, because the real ones are gigabytes
    install = given["RUN"][1].replace("/opt/transformer", str(tmp_path)).replace("python3", sys.executable)
    subprocess.run(["sh", "-euc", install], check=True, capture_output=True)
    assert (tmp_path / "venv/bin/python").exists()
    assert given["ENV"][0].startswith("PATH=/opt/transformer/venv/bin:$PATH ")
