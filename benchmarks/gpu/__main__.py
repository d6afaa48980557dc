"""Measure everything about a GPU in at most ten minutes (docs/gpu.md).

    make gpu

The parts are: the tests marked `gpu`; training of base beside models of other libraries; base of the experiment
`multi30k` with its BLEU; decoding beside CTranslate2; and training of big, parser and aop1, like base. Each part runs
in its own process, which is ended when its time is over; what it has printed until then counts. After every part,
results.json and README.md are written to results/gpu/NAME, where NAME is that of the GPU.

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
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu.report import faults, report
from transformer.support.files import write_json, write_lines

ROOT = Path(__file__).parents[2]
SECONDS = 600.0  # of all parts


class Part(NamedTuple):
    """A measurement in its own process: the module of this folder, the model (may be empty), and the time limit."""

    module: str
    model: str
    seconds: float

    @property
    def name(self) -> str:
        """The part's name in the results."""
        return f"{self.module} {self.model}".strip()


PARTS = (
    Part("machine", "", 30),
    Part("tests", "", 90),
    Part("training", "base", 110),
    Part("multi30k", "", 150),
    Part("decoding", "", 50),
    Part("training", "big", 80),
    Part("training", "parser", 60),
    Part("training", "aop1", SECONDS),  # takes all the time that is left
)


def measured(part: Part, seconds: float, tiny: bool) -> dict[str, Any]:
    """Run a part in its own process for at most `seconds`. Returns its findings and how it ended."""
    start = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.gpu", "--part", part.name, "--seconds", str(seconds)]
    command += ["--tiny"] * tiny
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    end = ""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end = f"cut after {seconds:.0f} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if end:
        output, _ = process.communicate()
    findings: dict[str, Any] = {}
    for line in output[: output.rfind("\n") + 1].splitlines():  # the last line may be incomplete
        findings |= json.loads(line)
    if not end and process.returncode:
        end = findings.pop("error", f"status {process.returncode}")
    return findings | {"seconds": round(time.monotonic() - start, 1), "end": end}


def run_part(part: Part, seconds: float, tiny: bool) -> None:
    """Measure a part in this process. Prints each finding as a line of JSON; all other output goes to stderr."""
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)
        try:
            module = importlib.import_module(f"benchmarks.gpu.{part.module}")
            for findings in module.measure(part.model, seconds, tiny):
                print(json.dumps(findings), file=output, flush=True)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            text = str(error).strip().partition("\n")[0]
            print(json.dumps({"error": f"{type(error).__name__}: {text}"}), file=output, flush=True)
            sys.exit(1)


def main() -> int:
    """Measure all parts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output-dir", type=Path, default=ROOT / "results/gpu", help="default: results/gpu")
    parser.add_argument("--tiny", action="store_true", help="try every part at tiny sizes, on any device")
    parser.add_argument("--part", help=argparse.SUPPRESS, choices=[part.name for part in PARTS])
    parser.add_argument("--seconds", help=argparse.SUPPRESS, type=float, default=SECONDS)
    arguments = parser.parse_args()
    if arguments.part:
        (part,) = (part for part in PARTS if part.name == arguments.part)
        run_part(part, arguments.seconds, arguments.tiny)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM also ends the running part
    try:
        return measure_all(arguments.output_dir, arguments.tiny)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def measure_all(folder: Path, tiny: bool) -> int:
    """Measure all parts. After each, write all results so far to a folder in `folder`."""
    end = time.monotonic() + SECONDS
    results: dict[str, Any] = {}
    for number, part in enumerate(PARTS, 1):
        seconds = min(part.seconds, end - time.monotonic())
        if number > 1:  # without a GPU only the error line is printed
            print(f"{number} of {len(PARTS)}: {part.name}, at most {seconds:.0f} s", file=sys.stderr)
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
        write_json(folder / "results.json", results)
        write_lines(folder / "README.md", report(results).splitlines())
        print(f"{part.name}: {findings['end'] or 'done'} after {findings['seconds']:.0f} s", file=sys.stderr)
    print(folder / "README.md")
    for fault in (wrong := faults(results)):
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
