"""`make reproduce` and `make report`: find out which text this machine can get, install, run the experiment, report.

It installs nothing before it knows that it can get a text. So it imports only the standard library, and modules of this
project that do the same. Run it in the clone: python -m workflow.cli.reproduce [report]
"""

import argparse
import http.client
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer.corpora.debian import DebianPackage, fetch_pages
from transformer.support.files import InputError, check_mirror, locked, sha256
from workflow.dag.environment import find_first_in

TEXTS = {"quick": "the help pages of LibreOffice", "quick-captions": "the captions of Multi30k"}
CORPORA = Path("config/corpora.yaml")
APT_SECONDS = 120  # each of two calls of apt-get may take this long
SNAKEMAKE = ["python", "-m", "snakemake"]  # the script `snakemake` does not survive a move of the clone
# Nothing that reads YAML is installed yet. A test checks that these patterns find what a reader of YAML finds.
PACKAGE = re.compile(r"^      (\w+):\n        name: (\S+)\n        sha256: (\w+)$", re.MULTILINE)
CAPTIONS = re.compile(
    r"^  (https?://(?!\S+/test_2017)\S+/multi30k/\S+):\n    \{bytes: \d+, sha256: (\w+)\}$", re.MULTILINE
)


def setting(name: str) -> str | None:
    """A key of config/config.yaml that has a path or null."""
    line = re.search(rf"^{name}: *(.*?) *(?: #.*)?$", Path("config/config.yaml").read_text("utf-8"), re.MULTILINE)
    value = line[1].strip("'\"") if line else "null"
    return None if value in ("", "null", "~") else value


class Texts:
    """The texts that `quick` can be run on, and the places where they may be."""

    def __init__(self) -> None:
        mirror = setting("mirror") or os.environ.get("TRANSFORMER_MIRROR")
        self.results, self.mirror = Path(setting("results") or "results"), Path(mirror) if mirror else None
        self.pages = self.results / "quick/corpora/origin/libreoffice-help.tsv"
        check_mirror(self.mirror)

    def choose(self) -> str:
        """Choose the experiment, `quick` or `quick-captions`, whose text this machine can get. Print the choice.

        The experiment whose text was fetched before is tried first. Raises InputError when it can get neither text.
        """
        begun = (self.results / "quick-captions").exists() and not self.pages.exists()
        checks = {"quick": self.check_pages, "quick-captions": self.check_captions}
        reasons = []
        for name in reversed(checks) if begun else checks:
            try:
                checks[name]()
            except InputError as error:
                reasons.append(f"{TEXTS[name]}: {error}")
            else:
                why = f" ({'; '.join(reasons)})" if reasons else ""
                print(f"{name}: on {TEXTS[name]}, results in {self.results / name}{why}", file=sys.stderr)
                return name
        raise InputError(
            f"no text was found here, so nothing was installed ({'; '.join(reasons)}); run it where there is "
            "internet, or set TRANSFORMER_MIRROR to a folder that has one of them (config/README.md, Without internet)"
        )

    def check_pages(self) -> None:
        """Raises InputError when this machine cannot get the help pages of LibreOffice."""
        if not self.pages.exists():
            written = PACKAGE.findall(CORPORA.read_text("utf-8"))
            packages = {language: DebianPackage(name, digest) for language, name, digest in written}
            fetch_pages(packages, self.mirror, APT_SECONDS)

    def check_captions(self) -> None:
        """Raises InputError when this machine cannot get the captions of Multi30k."""
        missing = []
        for url, digest in CAPTIONS.findall(CORPORA.read_text("utf-8")):
            place = url.partition("://")[2]
            if self.mirror and (self.mirror / place).exists():
                if (got := sha256(self.mirror / place)) != digest:
                    raise InputError(f"{self.mirror / place}: SHA-256 {got}, expected {digest}; replace it")
            elif not (self.results / "downloads" / place).exists():
                missing.append(url)
        if missing:
            _ask(missing[0])


def _ask(url: str) -> None:
    """Raises InputError when a URL does not answer."""
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=10).close()
    except (OSError, http.client.HTTPException) as error:
        # This Python may have no certificates; what downloads brings its own.
        if not isinstance(reason := getattr(error, "reason", error), ssl.SSLCertVerificationError):
            raise InputError(f"{url} does not answer ({reason})") from error


def _run(target: str, texts: Texts, lock: int) -> None:
    name = texts.choose()
    overlays = [] if name == "quick" else [f"config/{name}.yaml"]
    options = ["--configfile", *overlays] if overlays else []
    if target == "report" and not (texts.results / name / "tables").exists():
        raise InputError(f"{texts.results / name} has no tables yet; run make reproduce first")
    subprocess.run(["make", "--silent", ".venv/installed"], check=True)
    # make has put .venv first already, but if `python3` is a script of pyenv, that has put another Python before it.
    find_first_in(Path(".venv/bin"))
    if target == "reproduce":
        summary = ["python", "-m", "workflow.results.summary"]
        with _unlocked(texts.results / ".reproduce", options):
            subprocess.run([*summary, "before", *overlays], check=True)
            _to_the_end([*SNAKEMAKE, "--cores", "all", *options], lock)
        subprocess.run([*summary, "after", *overlays], check=True)
    report = str(texts.results / name / "report.html")
    _to_the_end([*SNAKEMAKE, "--cores", "all", *options, "--report", report], lock)
    print(f"All of it on one page, the report: {report}")


@contextmanager
def _unlocked(mark: Path, options: list[str]) -> Iterator[None]:
    """Remove Snakemake's lock if an earlier call was killed in this context. Other locks belong to a running Snakemake.

    `mark` is a file that exists while this context lasts. Raises InputError if it was left, and a Snakemake of this
    user runs: it may be working in this folder, and unlocking would remove its locks, too.
    """
    if mark.exists():
        if running := _snakemakes():
            raise InputError(
                f"a make reproduce was killed here, and a Snakemake is running (process {running}), perhaps in this "
                f"folder; when it has ended, run make reproduce again"
            )
        subprocess.run([*SNAKEMAKE, "--unlock", "--quiet", "all", *options], check=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def _snakemakes() -> str:
    """The numbers of this user's processes that are Snakemake. Empty where there is no pgrep."""
    if not shutil.which("pgrep"):
        return ""
    command = ["pgrep", "-u", str(os.getuid()), "-f", "(^|/)snakemake( |$)| -m snakemake( |$)"]
    return ", ".join(subprocess.run(command, capture_output=True, text=True).stdout.split())


def _to_the_end(command: list[str], lock: int) -> None:
    """Run a command to its end. The command holds the lock, too, and ends by itself after a signal.

    Raises CalledProcessError when it fails.
    """
    process = subprocess.Popen(command, pass_fds=[lock])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches the command as well
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    if status := process.wait():
        raise subprocess.CalledProcessError(status, command)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main(target: str) -> None:
    """Run the experiment, or write its report. Ends with a line on standard error when it cannot."""
    try:
        with Path("Makefile").open("r+") as lock:  # NFS locks only what may be written
            if target == "reproduce" and not locked(lock):
                sys.exit("another make reproduce is running in this folder: wait until it ends, or end it")
            _run(target, Texts(), lock.fileno())
    except InputError as error:
        sys.exit(f"error: {error}")
    except PermissionError as error:
        sys.exit(f"error: {error.filename}: you may not write to it; work in a clone of your own")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.cli.reproduce", description=__doc__)
    parser.add_argument("target", nargs="?", choices=("reproduce", "report"), default="reproduce")
    main(parser.parse_args().target)
