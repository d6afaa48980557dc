"""Call pip for `make`. Its messages go to a log, and a line tells what it does and for how long.

If pip fails, the end of the log is shown. It imports only the standard library:

python3 -I workflow/cli/install.py VENV ARGUMENT...
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

SHOWN = 40  # lines of the log, after a failure
ROUTINE = re.compile("WARNING: Location |Found existing|.*[Uu]ninstall")


def messages(log: Path, start: int) -> list[str]:
    """The lines of a log from a byte on, without blanks beside them and without those that no reader needs."""
    with log.open("rb") as stream:
        stream.seek(start)
        lines = map(str.strip, stream.read().decode(errors="replace").splitlines())
    return [line for line in lines if line and not ROUTINE.match(line)]


def main(folder: str, *arguments: str) -> int:
    """The status of `pip install` in a virtual environment. The log is its file install.log."""
    venv = Path(folder)
    log, command = venv / "install.log", [str(venv / "bin/python"), "-m", "pip", "install", *arguments]
    terminal, width = sys.stdout.isatty(), shutil.get_terminal_size().columns - 1
    start, told = time.monotonic(), 0.0
    with log.open("ab") as stream:
        begin = stream.tell()
        options = ["--disable-pip-version-check", "--progress-bar", "off"]
        process = subprocess.Popen([*command, *options], stdout=stream, stderr=subprocess.STDOUT)
        while (status := process.poll()) is None:
            time.sleep(0.2)
            seconds = time.monotonic() - start
            if seconds - told >= (1 if terminal else 60):
                told = seconds
                line = f"  {seconds:.0f} s  {(messages(log, begin) or ['pip starts'])[-1]}"[:width]
                print(f"\r{line:<{width}}" if terminal else line, end="" if terminal else "\n", flush=True)
    if terminal and told:
        print(f"\r{'':{width}}\r", end="")
    if status:
        print(*messages(log, begin)[-SHOWN:], f"pip failed; all of its messages: {log}", sep="\n", file=sys.stderr)
    elif "--requirement" in arguments:
        print(f"  installed in {time.monotonic() - start:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
