from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_conda_and_pip_users_get_the_same_versions():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["dependencies"][-1]["pip"] == pins
    assert all("==" in pin for pin in pins)
