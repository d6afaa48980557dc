"""Call pip for `make`. Its messages go to install.log in the virtual environment; a line a minute shows the last one.

If pip fails, the end of the log is shown. It imports only the standard library:

python3 -I workflow/cli/install.py VENV ARGUMENT...
"""

import subprocess
import sys
import time
from pathlib import Path

SHOWN = 40  # lines of the log, after a failure


def main(folder: str, *arguments: str) -> int:
    """The status of `pip install` in a virtual environment."""
    log, start = Path(folder, "install.log"), time.monotonic()
    command = [f"{folder}/bin/python", "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    with log.open("a") as stream, subprocess.Popen([*command, *arguments], stdout=stream, stderr=stream) as pip:
        while True:
            try:
                status = pip.wait(60)
                break
            except subprocess.TimeoutExpired:
                [last] = log.read_text(errors="replace").split("\n")[-2:-1] or ["pip starts"]
                print(f"  {time.monotonic() - start:.0f} s  {last.strip()[:100]}", flush=True)
    if status:
        last_lines = log.read_text(errors="replace").splitlines()[-SHOWN:]
        print(*last_lines, f"pip failed; all of its messages: {log}", sep="\n", file=sys.stderr)
    elif "--requirement" in arguments:
        print(f"  installed in {time.monotonic() - start:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
