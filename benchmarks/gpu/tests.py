"""Run the tests marked `gpu`."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any


def measure(_model: str, _seconds: float, _tiny: bool) -> Iterator[dict[str, Any]]:
    """The last line of pytest. Raises RuntimeError when a test fails and when there are no tests."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "--color=no"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    last = ""
    for line in process.stdout or ():
        print(line, end="", flush=True)
        last = line.strip() or last
    yield {"summary": last}
    if process.wait():
        raise RuntimeError(f"pytest -m gpu: {last}")
