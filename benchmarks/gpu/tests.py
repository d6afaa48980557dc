"""Run the tests marked `gpu`. For pytest, this file is also a plugin that prints the outcome of each test at once."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

# These have all tests marked `gpu`. Others need more packages.
MARKED = ("tests/gpu", "tests/model/test_kernels.py", "tests/training/test_reference.py")
PROCESSES = 8  # most of a test's time is compiling
PLUGIN = "benchmarks.gpu.tests"
OUTCOME = re.compile(r'\{"(passed|failed)": .*\}$')


class Outcomes:
    """Prints a line of JSON for each test that passes or fails."""

    def __init__(self, config: Any):
        self.config = config

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each phase of a test."""
        if report.failed or (report.when == "call" and report.passed):
            text = str(report.longrepr.reprcrash.message if hasattr(report.longrepr, "reprcrash") else report.longrepr)
            line = {report.outcome: report.nodeid} | (
                {"error": text.strip().partition("\n")[0]} if report.failed else {}
            )
            self.config.pluginmanager.get_plugin("terminalreporter").write_line(json.dumps(line))

    def pytest_collectreport(self, report: Any) -> None:
        """Called by pytest for each file."""
        if report.failed:
            self.pytest_runtest_logreport(report)


def pytest_configure(config: Any) -> None:
    """Called by pytest. Several processes of pytest send their reports to the one that has started them."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(config))


def measure(_model: str, _seconds: float, _tiny: bool) -> Iterator[dict[str, Any]]:
    """How many tests have passed, the failures with the first line of their errors, and at last pytest's summary.

    Raises RuntimeError when a test fails and when there are no tests.
    """
    processes = min(PROCESSES, os.cpu_count() or 1)
    command = [sys.executable, "-m", "pytest", *MARKED, "-m", "gpu", f"-n={processes}", "--dist=load", "--color=no"]
    command += ["-p", "no:cacheprovider", "-p", PLUGIN, "--durations=5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    last, passed, failures = "", 0, {}
    for line in process.stdout or ():
        print(line, end="", flush=True)
        last = line.strip() or last
        outcome = json.loads(match[0]) if (match := OUTCOME.search(line)) else {}
        if "passed" in outcome:
            yield {"passed": (passed := passed + 1)}
        elif "failed" in outcome:
            failures[outcome["failed"]] = outcome["error"]
            yield {"failures": failures}
    yield {"summary": last}
    if process.wait():
        raise RuntimeError(f"pytest -m gpu: {last}")
