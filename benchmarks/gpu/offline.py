"""Run `python -m benchmarks.gpu` on a machine without internet, where only PyTorch and common packages are installed.

    python -m benchmarks.gpu.offline --prepare 3.12    # before, on a machine with internet
    python3 -m benchmarks.gpu.offline                  # there, in the project's folder

The first command fetches the packages that are missing there into results/gpu/offline, as wheels for that version of
Python on this kind of machine. Copy this folder along with the project. The second command unpacks them into a
temporary folder. Besides the results, it writes what is printed to log.txt.

Options that are not listed here are given to `python -m benchmarks.gpu`.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
OFFLINE = ROOT / "results/gpu/offline"
# Packages of requirements.txt that a machine with PyTorch may lack. `python -m benchmarks.gpu` imports no other such.
WHEELS = ("annotated-types", "pydantic", "pydantic-core", "typing-extensions", "typing-inspection")


def prepare(python: str) -> int:
    """Fetch the wheels for a version of Python. Returns pip's exit status."""
    wheels = OFFLINE / python
    shutil.rmtree(wheels, ignore_errors=True)
    pins = re.findall(rf"^(?:{'|'.join(WHEELS)})==[^ ]+", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps"]
    pip += ["--only-binary=:all:", "--python-version", python, "--dest", str(wheels), *pins]
    return subprocess.run(pip).returncode


def run(output: Path, options: Sequence[str]) -> int:
    """Run the benchmark with what was prepared. Returns its exit status."""
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as site:
        wheels = OFFLINE / "{}.{}".format(*sys.version_info)
        if not wheels.exists():
            print(f"{wheels}: not found, so packages that are missing here stay missing", file=sys.stderr)
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)  # all that pip does with these, which have no scripts or data
        path = os.pathsep.join(filter(None, (site, str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "benchmarks.gpu", "--output-dir", str(output), *options]
        tee = subprocess.Popen(["tee", str(output / "log.txt")], stdin=subprocess.PIPE)
        log = {"stdout": tee.stdin, "stderr": subprocess.STDOUT}
        status = subprocess.run(command, cwd=ROOT, env=environment, **log).returncode
        tee.communicate()
    return status


def main() -> int:
    """Prepare, or run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.offline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--prepare", metavar="PYTHON", help="fetch what a machine with this version of Python, such as 3.12, may lack"
    )
    parser.add_argument("--output-dir", type=Path, default=ROOT / "results/gpu", help="default: results/gpu")
    arguments, options = parser.parse_known_args()
    if arguments.prepare:
        return prepare(arguments.prepare)
    return run(arguments.output_dir.absolute(), options)


if __name__ == "__main__":
    sys.exit(main())
