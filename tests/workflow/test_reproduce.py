"""Which text `make reproduce` finds on a machine, by nothing but the standard library."""

import hashlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.corpora.debs import HASH, PAGES, TEXT, deb
from tests.pages import ROOT
from transformer.corpora.fetch import local_path
from workflow.cli import reproduce
from workflow.experiment.config import read_experiment
from workflow.experiment.downloads import downloads_of

URL = "https://raw.githubusercontent.com"


@pytest.fixture
def machine(tmp_path):
    """A clone, and a machine that has nothing: no apt-get on PATH, no internet."""
    return Machine(tmp_path)


@pytest.fixture
def debian(machine):
    """A machine whose apt-get has the pages."""
    machine.install_apt_get(machine.package)
    return machine


class Machine:
    def __init__(self, folder):
        self.clone, self.bin, self.mirror = folder / "clone", folder / "bin", folder / "mirror"
        shutil.copytree(ROOT / "config", self.clone / "config")
        shutil.copy(ROOT / "Makefile", self.clone)
        self.bin.mkdir()
        self.mirror.mkdir()
        self.package = deb({TEXT + name: body for name, body in PAGES.items()})
        self.configure(r"(libreoffice-help-..(?:-us)?\n +sha256: )\w+", rf"\g<1>{HASH}")
        self.configure(
            r"(/multi30k/\S+:\n +\{bytes: )\d+(, sha256: )\w+", rf"\g<1>4\g<2>{hashlib.sha256(b'text').hexdigest()}"
        )
        for name in ("make", "snakemake"):
            self.record(name)
        as_script = '[ "$2" = snakemake ] && { shift 2; exec snakemake "$@"; }'
        self.install("python", f'{as_script}; echo python "$@" >> calls')

    def configure(self, pattern, value, file="corpora"):
        path = self.clone / f"config/{file}.yaml"
        changed, count = re.subn(pattern, value, path.read_text(), flags=re.MULTILINE)
        assert count
        path.write_text(changed)

    def install(self, name, script):
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def record(self, name, then="exit 0"):
        """Install a program that records its calls and does no more than `then`."""
        self.install(name, f'echo {name} "$@" >> calls; {then}')

    def install_apt_get(self, package):
        """An apt-get that downloads this package in the place of each."""
        (self.bin / "package").write_bytes(package)
        loop = f'for name; do case $name in libre*) /bin/cp {self.bin}/package "$name"_1_all.deb ;; esac; done'
        self.install("apt-get", f"{loop}\n: > {self.bin}/asked")

    def add_captions(self, folder, content=b"text"):
        for url in downloads_of(read_experiment([ROOT / "config/quick-captions.yaml"])):
            path = folder / local_path(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def make(self, target="reproduce", **environment):
        """What it printed on standard error, and the calls of make and snakemake."""
        nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:1")
        given = {"PATH": str(self.bin), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **nowhere}
        # -S: without what is installed, as before .venv is there.
        command = [sys.executable, "-S", "-m", "workflow.cli.reproduce", target]
        run = subprocess.run(command, cwd=self.clone, env=given | environment, capture_output=True, text=True)
        self.status = run.returncode
        calls = self.clone / "calls"
        return run.stderr, calls.read_text().splitlines() if calls.exists() else []


RUN = [
    "make --silent .venv/installed",
    "python -m workflow.results.summary before",
    "snakemake --cores all",
    "python -m workflow.results.summary after",
    "snakemake --cores all --report results/quick/report.html",
]
REPORT = "snakemake --cores all --configfile config/quick-captions.yaml --report results/quick-captions/report.html"
CAPTIONS = [
    RUN[0],
    *(f"{call}{' --configfile' * call.startswith('snakemake')} config/quick-captions.yaml" for call in RUN[1:-1]),
    REPORT,
]


def test_the_patterns_find_what_a_reader_of_yaml_finds():
    corpora = (ROOT / "config/corpora.yaml").read_text()
    packages = read_experiment([]).corpora["libreoffice-help"].packages
    packed = reproduce.PACKAGE.findall(corpora)
    assert packed == [(language, package.name, package.sha256) for language, package in packages.items()]
    captions = downloads_of(read_experiment([ROOT / "config/quick-captions.yaml"]))
    assert dict(reproduce.CAPTIONS.findall(corpora)) == {url: download.sha256 for url, download in captions.items()}
    for url in captions:
        assert str(local_path(url)) == url.partition("://")[2]


def test_quick_runs_if_apt_get_has_the_pages(debian):
    said, calls = debian.make()
    assert said == "quick: on the help pages of LibreOffice, results in results/quick\n"
    assert calls == RUN


@pytest.mark.parametrize("release", ["none", "another text", "another packing"])
def test_without_the_pages_the_captions_of_a_mirror_are_used_and_the_line_says_why(machine, release):
    machine.add_captions(machine.mirror)
    reason = "apt-get cannot be run"
    if release == "another text":
        machine.install_apt_get(deb({f"{TEXT}a.html": b"newer"}))
        reason = "this release of Debian carries another text"
    if release == "another packing":
        machine.install_apt_get(machine.package.replace(b"data.tar.xz", b"data.tar.zs"))
        reason = "no package of Debian 12"
    said, calls = machine.make(TRANSFORMER_MIRROR=str(machine.mirror))
    assert said.startswith("quick-captions: on the captions of Multi30k, results in results/quick-captions (")
    assert reason in said
    assert said.count("\n") == 1
    assert calls == CAPTIONS


def test_captions_come_from_the_internet(machine, server):
    served, url, _ = server
    machine.add_captions(served)
    machine.configure(URL, f"{url}/raw.githubusercontent.com")
    said, calls = machine.make(no_proxy="127.0.0.1")
    assert calls == CAPTIONS, said


def test_without_a_text_one_line_names_both_remedies_and_nothing_is_installed(machine):
    said, calls = machine.make()
    assert calls == []
    assert said.count("\n") == 1
    assert said.startswith("error: no text was found here, so nothing was installed (the help pages of LibreOffice: ")
    assert "apt-get cannot be run" in said
    assert re.search(rf"the captions of Multi30k: {URL}/multi30k/\S+ does not answer \(.*refused", said)
    assert "run it where there is internet, or set TRANSFORMER_MIRROR to a folder" in said


def test_a_report_without_results_and_a_mirror_that_is_faulty_are_named_and_nothing_is_installed(debian):
    damaged = f"{debian.mirror}/raw\\S+: SHA-256 \\w+, expected \\w+; replace it"
    for target, mirror, told in (
        ("report", "", "error: results/quick has no tables yet; run make reproduce first\n"),
        ("reproduce", "missing", "^error: missing: no such folder; correct `mirror` in the config, or"),
        ("reproduce", str(debian.mirror), damaged),
    ):
        if mirror.startswith("/"):
            (debian.bin / "apt-get").unlink()
            debian.add_captions(debian.mirror, b"page of errors")
        said, calls = debian.make(target, TRANSFORMER_MIRROR=mirror)
        assert re.search(told, said), said
        assert calls == []


def test_an_experiment_that_was_begun_goes_on_and_has_a_report_without_internet(debian):
    debian.add_captions(debian.clone / "results/downloads")
    (debian.clone / "results/quick-captions").mkdir()
    assert debian.make()[1] == CAPTIONS
    (debian.clone / "results/quick-captions/tables").mkdir()
    assert debian.make("report")[1][len(CAPTIONS) :] == [RUN[0], REPORT]
    text = debian.clone / "results/quick/corpora/origin/libreoffice-help.tsv"
    text.parent.mkdir(parents=True)
    (debian.clone / "results/quick/tables").mkdir()
    text.touch()
    assert debian.make("report")[1][-1] == RUN[-1]
    assert not (debian.bin / "asked").exists()


def test_a_second_make_reproduce_in_the_same_folder_is_refused(debian):
    again = f"{shlex.quote(sys.executable)} -S -m workflow.cli.reproduce reproduce"
    debian.record("make", f"{again} || echo refused >> calls")
    said, calls = debian.make()
    assert said.splitlines()[1:] == ["another make reproduce is running in this folder: wait until it ends, or end it"]
    assert calls == [RUN[0], "refused", *RUN[1:]]
    debian.install("snakemake", f"{again} || echo refused >> calls")
    assert debian.make()[1][len(calls) :] == [RUN[0], "refused", RUN[1], "refused", RUN[3], "refused"]


def test_only_the_lock_of_an_earlier_call_that_was_killed_is_removed(debian):
    debian.record("snakemake", 'case "$*" in *unlock*) ;; *) kill -9 $PPID ;; esac')
    assert debian.make()[1] == RUN[:3]
    unlocked = [RUN[0], "snakemake --cores all --unlock --quiet all", *RUN[1:]]
    assert debian.make()[1][3:] == unlocked[:4]
    debian.record("snakemake")
    assert debian.make()[1][7:] == unlocked
    assert debian.make()[1][13:] == RUN


@pytest.mark.parametrize(
    ("program", "when", "calls"), [("make", "*", 1), ("snakemake", "*", 3), ("snakemake", "*report*", 5)]
)
def test_make_reproduce_ends_with_the_status_of_the_command_that_fails(debian, program, when, calls):
    debian.record(program, f'case "$*" in {when}) exit 7 ;; esac')
    assert debian.make()[1] == RUN[:calls]
    assert debian.status == 7


def test_a_signal_ends_snakemake_first(debian):
    (debian.bin / "sleep").symlink_to(shutil.which("sleep"))
    # The second sleep writes nowhere, or the test would wait for its end.
    signalled = "trap 'echo ended >> calls; exit 1' TERM; sleep 2; kill -TERM $PPID; sleep 10 >&- 2>&- & wait"
    debian.install("snakemake", signalled)
    assert debian.make()[1] == [RUN[0], RUN[1], "ended"]
