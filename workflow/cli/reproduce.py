"""`make reproduce` and `make report`: find out which text this machine can get, install, run the experiment, report.

It installs nothing before it knows that it can get a text. So it imports only the standard library, and modules of this
project that do the same. Run it in the clone: python -m workflow.cli.reproduce [report]
"""

import argparse
import http.client
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

from transformer.corpora.debian import DebianPackage, fetch_pages
from transformer.support.files import InputError, check_mirror, locked, sha256

APT_SECONDS = 120  # each of two calls of apt-get may take this long
SNAKEMAKE = [
    "python",
    "-m",
    "snakemake",
    "--cores",
    "all",
]  # the script `snakemake` does not survive a move of the clone
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


def choose(results: Path, mirror: Path | None) -> str:
    """The experiment, `quick` or `quick-captions`, whose text this machine can get. It is printed.

    The experiment whose text was fetched before is tried first. Raises InputError when the machine can get neither.
    """
    corpora, reasons = Path("config/corpora.yaml").read_text("utf-8"), []
    fetched = (results / "quick/corpora/origin/libreoffice-help.tsv").exists()
    texts = {"quick": "the help pages of LibreOffice", "quick-captions": "the captions of Multi30k"}
    for name in reversed(texts) if (results / "quick-captions").exists() and not fetched else texts:
        try:
            if name == "quick-captions":
                check_captions(dict(CAPTIONS.findall(corpora)), results, mirror)
            elif not fetched:
                packages = {language: DebianPackage(*package) for language, *package in PACKAGE.findall(corpora)}
                fetch_pages(packages, mirror, APT_SECONDS)
        except InputError as error:
            reasons.append(f"{texts[name]}: {error}")
        else:
            why = f" ({'; '.join(reasons)})" if reasons else ""
            print(f"{name}: on {texts[name]}, results in {results / name}{why}", file=sys.stderr)
            return name
    raise InputError(
        f"no text was found here, so nothing was installed ({'; '.join(reasons)}); run it where there is internet, or "
        "set TRANSFORMER_MIRROR to a folder that has one of them (config/README.md, Without internet)"
    )


def check_captions(urls: dict[str, str], results: Path, mirror: Path | None) -> None:
    """Raises InputError when this machine cannot get the captions of Multi30k: URL -> SHA-256."""
    for url, digest in urls.items():
        place = url.partition("://")[2]
        if mirror and (mirror / place).exists():
            if (got := sha256(mirror / place)) != digest:
                raise InputError(f"{mirror / place}: SHA-256 {got}, expected {digest}; replace it")
        elif not (results / "downloads" / place).exists():
            try:
                urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=10).close()
            except (OSError, http.client.HTTPException) as error:
                # This Python may have no certificates; what downloads brings its own.
                if not isinstance(reason := getattr(error, "reason", error), ssl.SSLCertVerificationError):
                    raise InputError(f"{url} does not answer ({reason})") from error
            return  # the others are there, too


def run(command: list[str], lock: int) -> None:
    """Run a command, which holds the lock, to its end, also after a signal. End with its status if it fails."""
    process = subprocess.Popen(command, pass_fds=[lock])
    signal.signal(signal.SIGINT, lambda *_: None)  # a terminal's Ctrl-C reaches the command as well
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    if status := process.wait():
        sys.exit(status)


def main(target: str, lock: int) -> None:
    """Run the experiment, or write its report. Raises InputError when it cannot."""
    mirror, results = setting("mirror") or os.environ.get("TRANSFORMER_MIRROR"), Path(setting("results") or "results")
    check_mirror(folder := Path(mirror) if mirror else None)
    name = choose(results, folder)
    overlays = [] if name == "quick" else [f"config/{name}.yaml"]
    options = ["--configfile", *overlays] if overlays else []
    if target == "report" and not (results / name / "tables").exists():
        raise InputError(f"{results / name} has no tables yet; run make reproduce first")
    run(["make", "--silent", ".venv/installed"], lock)
    # make has put .venv first already, but if `python3` is a script of pyenv, that has put another Python before it.
    os.environ["PATH"] = f"{Path('.venv/bin').absolute()}:{os.environ['PATH']}"
    if target == "reproduce":
        summary, mark = ["python", "-m", "workflow.results.summary"], results / ".reproduce"
        if mark.exists():  # an earlier call was killed, and has left Snakemake's lock
            run([*SNAKEMAKE, "--unlock", "--quiet", "all", *options], lock)
        results.mkdir(parents=True, exist_ok=True)
        mark.touch()
        try:
            run([*summary, "before", *overlays], lock)
            run([*SNAKEMAKE, *options], lock)
        finally:
            mark.unlink(missing_ok=True)
        run([*summary, "after", *overlays], lock)
    report = str(results / name / "report.html")
    run([*SNAKEMAKE, *options, "--report", report], lock)
    print(f"All of it on one page, the report: {report}")
    if (page := results / name / "figures/explore.html").exists():
        print(f"A model that runs in your browser, to try: {page}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.cli.reproduce", description=__doc__)
    parser.add_argument("target", nargs="?", choices=("reproduce", "report"), default="reproduce")
    target = parser.parse_args().target
    try:
        with Path("Makefile").open("r+") as lock:  # NFS locks only what may be written
            if target == "reproduce" and not locked(lock):
                sys.exit("another make reproduce is running in this folder: wait until it ends, or end it")
            main(target, lock.fileno())
    except InputError as error:
        sys.exit(f"error: {error}")
    except PermissionError as error:
        sys.exit(f"error: {error.filename}: you may not write to it; work in a clone of your own")
    except KeyboardInterrupt:
        sys.exit(130)
