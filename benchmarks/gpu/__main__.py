"""Measure everything about a GPU in at most ten minutes (docs/gpu.md).

    make gpu

The parts are: training of base beside models of other libraries; the tests marked `gpu`; decoding beside CTranslate2;
base of the experiment `multi30k` with its BLEU; and training of big, aop1 and parser, like base. Each part runs in its
own process, which is ended when its time is over; what it has found until then counts. After every part, results.json
and README.md are written to results/gpu/NAME, where NAME is that of the GPU.

Ends with status 1 and names the fault if a part fails, or if a step wrongly runs uncompiled or in float32.
"""

import argparse
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from benchmarks.changes import CHANGES
from benchmarks.gpu.report import NOT_STARTED, Results, faults, report
from transformer.support.files import one_line, write_json, write_lines

ROOT = Path(__file__).parents[2]
SECONDS = 600.0  # of all parts
LEAST = 20.0  # seconds: in less, a part finds nothing
SHOWN = 300  # characters of a finding
COMPILING = 3  # processes with which each process of the tests compiles; another part takes all cores


class Part(NamedTuple):
    """A measurement in its own process: the module of this folder, the model, the time limit, and a change.

    Model and change may be empty. benchmarks/changes.py has the changes.
    """

    module: str
    model: str
    seconds: float
    change: str = ""

    @property
    def name(self) -> str:
        """The part's name in the results."""
        return f"{self.module} {self.model} {self.change}".strip()


PARTS = (  # in the order of their worth
    Part("machine", "", 60),
    Part("training", "base", 150),
    Part("tests", "", 130),
    Part("decoding", "", 60),
    Part("multi30k", "", 120),
    Part("training", "big", 110),
    Part("training", "aop1", 70),
    Part("training", "parser", 70),
)


def measured(part: Part, seconds: float, tiny: bool) -> dict[str, Any]:
    """Run a part in its own process for at most `seconds`. Returns its findings and how it ended."""
    start = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.gpu", "--part", part.name, "--seconds", str(seconds)]
    command += ["--tiny"] * tiny + (["--changes", part.change] if part.change else [])
    compiling = COMPILING if part.module == "tests" else os.cpu_count() or 1
    environment = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": str(compiling)}
    end = ""
    with TemporaryFile("w+") as output:  # unlike a pipe, it never blocks
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, start_new_session=True)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            end = f"cut after {seconds:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it started may outlive it, and hold the GPU's memory
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        output.seek(0)
        lines = output.readlines()
    findings: dict[str, Any] = {}
    for line in lines:
        if line.startswith("{") and line.endswith("\n"):  # the last line may be incomplete
            findings |= json.loads(line)
    if not end and process.returncode:
        end = findings.pop("error", f"status {process.returncode}")
    return findings | {"seconds": round(time.monotonic() - start, 1), "end": end}


def run_part(part: Part, seconds: float, tiny: bool) -> None:
    """Measure a part in this process. Prints each finding as a line of JSON, and its beginning to stderr.

    All other output goes to stderr.
    """
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)
        try:
            module = importlib.import_module(f"benchmarks.gpu.{part.module}")
            if part.change:
                CHANGES[part.change]()
                module.BESIDE = ()  # other libraries were measured without the change
            for findings in module.measure(part.model, seconds, tiny):
                line = json.dumps(findings)
                print(line, file=output, flush=True)
                print(line[:SHOWN], file=sys.stderr, flush=True)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            print(json.dumps({"error": one_line(error)}), file=output, flush=True)
            sys.exit(1)


def main() -> int:
    """Measure all parts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output-dir", type=Path, default=ROOT / "results/gpu", help="default: results/gpu")
    parser.add_argument("--tiny", action="store_true", help="try every part at tiny sizes, on any device")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument(
        "--changes",
        nargs="+",
        choices=CHANGES,
        default=[],
        help="measure only the training of base, as it is and with each of these changes",
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"the most seconds of all parts; default: {SECONDS:.0f}"
    )
    arguments = parser.parse_args()
    parts: Sequence[Part] = PARTS
    if arguments.changes:
        parts = (*PARTS[:2], *(PARTS[1]._replace(change=change) for change in arguments.changes))
    if arguments.part:
        (part,) = (part for part in parts if part.name == arguments.part)
        run_part(part, arguments.seconds, arguments.tiny)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM also ends the running part
    try:
        return measure_all(arguments.output_dir, arguments.tiny, arguments.seconds, parts)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def measure_all(folder: Path, tiny: bool, seconds: float = SECONDS, parts: Sequence[Part] = ()) -> int:
    """Measure `parts`, or all, in at most `seconds`. After each, write all results so far to a folder in `folder`."""
    end, parts = time.monotonic() + seconds, parts or PARTS
    results: dict[str, Any] = {}
    for number, part in enumerate(parts, 1):
        seconds = min(SECONDS if tiny else part.seconds, end - time.monotonic())  # a CPU may be slow
        if number > 1 and seconds < LEAST:
            results[part.name] = {"seconds": 0.0, "end": NOT_STARTED}
            continue
        if number > 1:  # without a GPU only the error line is printed
            print(f"{number} of {len(parts)}: {part.name}, at most {seconds:.0f} s", file=sys.stderr)
        results[part.name] = findings = measured(part, seconds, tiny)
        if part.module == "machine":
            if not findings.get("device"):
                print(f"PyTorch does not work here: {findings['end']}", file=sys.stderr)
                return 1
            if not (findings["gpu"] or tiny):
                print(
                    f"PyTorch {findings['torch']} finds no GPU; run this on a machine with a GPU and a CUDA build of "
                    "PyTorch, or try every part on this CPU (python -m benchmarks.gpu --tiny)",
                    file=sys.stderr,
                )
                return 1
            folder /= re.sub(r"[^\w.]+", "-", findings["device"]) + "-tiny" * tiny
        write(folder, results)
        print(f"{part.name}: {findings['end'] or 'done'} after {findings['seconds']:.0f} s", file=sys.stderr)
    write(folder, results)
    print(folder / "README.md")
    for fault in (wrong := faults(results)):
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if wrong else 0


def write(folder: Path, results: Results) -> None:
    """Write the results as JSON and as text."""
    write_json(folder / "results.json", results)
    try:
        write_lines(folder / "README.md", report(results).splitlines())
    except Exception:  # no part is lost because a text cannot be written
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(main())
