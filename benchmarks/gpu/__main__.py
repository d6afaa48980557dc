"""Measure the speed of a GPU in about ten minutes (docs/gpu.md).

    make gpu

The parts are: the machine; training of base beside models of other libraries; decoding beside CTranslate2; training of
big, aop1 and parser, like base. A part that fails does not stop the others, and what it has found counts. After every
part, results.json and README.md are written to results/gpu/NAME, where NAME is that of the GPU.

Ends with status 1 and names the fault if a part fails, or if a step wrongly runs uncompiled or in float32.
"""

import argparse
import gc
import json
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.changes import CHANGES, make
from benchmarks.gpu import decoding, machine, training
from benchmarks.gpu.made import ROOT
from benchmarks.gpu.report import faults, report
from transformer.support.device import choose_device, device_name, keep_freed_memory
from transformer.support.files import one_line, write_json, write_lines

SHOWN = 300  # characters of a finding
Part = Callable[[torch.device, bool], Iterator[dict[str, Any]]]
PARTS: dict[str, Part] = {  # in the order of their worth
    "machine": machine.measure,
    "training base": partial(training.measure, "base"),
    "decoding": decoding.measure,
    **{f"training {model}": partial(training.measure, model) for model in ("big", "aop1", "parser")},
}


def measured(part: Part, device: torch.device, tiny: bool) -> dict[str, Any]:
    """What a part finds, its seconds, and the error with which it ended, if any. Prints each finding."""
    start, findings, end = time.monotonic(), {}, ""
    try:
        for some in part(device, tiny):
            findings |= some
            print(json.dumps(some)[:SHOWN], file=sys.stderr, flush=True)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        end = one_line(error)
    gc.collect()  # the next part needs the memory of this one
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    return findings | {"seconds": round(time.monotonic() - start, 1), "end": end}


def main() -> int:
    """Measure all parts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output-dir", type=Path, default=ROOT / "results/gpu", help="default: results/gpu")
    parser.add_argument("--tiny", action="store_true", help="try every part at tiny sizes, on any device")
    parser.add_argument("--change", choices=CHANGES, help="measure only the training of base, with this change")
    arguments = parser.parse_args()
    device = choose_device()
    if device.type == "cpu" and not arguments.tiny:
        sys.exit(
            f"error: PyTorch {torch.__version__} finds no GPU; run this on a machine with a GPU and a CUDA build of "
            "PyTorch, or try every part on this CPU (python -m benchmarks.gpu --tiny)"
        )
    parts, name = PARTS, re.sub(r"[^\w.]+", "-", device_name(device)) + "-tiny" * arguments.tiny
    if arguments.change:
        make(arguments.change)
        parts, name = {each: PARTS[each] for each in ("machine", "training base")}, f"{name}-{arguments.change}"
    keep_freed_memory()
    folder, results = arguments.output_dir / name, {}
    for number, (each, part) in enumerate(parts.items(), 1):
        print(f"{number} of {len(parts)}: {each}", file=sys.stderr)
        results[each] = measured(part, device, arguments.tiny)
        write_json(folder / "results.json", results)
        write_lines(folder / "README.md", report(results).splitlines())
    print(folder / "README.md")
    for fault in (wrong := faults(results)):
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
