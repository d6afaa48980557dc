"""Snakemake's logger `brief`, which profiles/default uses: trainings, what else has ended, warnings, errors in full.

A training has a line when it ends, with the time that it took. Other jobs share lines, with their numbers: one before
anything else is shown, and one when a job ends after a minute without a line. The job that judges a trial also shows
its answer. On a terminal, a line shows how far the run is, and a bar shows the progress of each training, which it
reads in the training's log.
`brief` leaves out Snakemake's other messages about its own work; --verbose and --printshellcmds show them. All messages
are in .snakemake/log.
"""

import contextlib
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry
from tqdm import tqdm

SILENT = 60  # seconds without a line, after which the next job that ends has one
LISTED = 6  # kinds of jobs in the first line
SHOWN = {LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.ERROR}
# Messages of Snakemake about its own work that do not belong to an event.
ROUTINE = re.compile(
    "Config file .* is extended|Assuming unrestricted shared|Building DAG|Using shell|Conda environments: ignored"
    "|Singularity containers: ignored|Group jobs: inactive|Select jobs|Touching output|Elapsed time"
    "|Creating report|Missing metadata for file|Adding |Loading script code|Downloading resources"  # of --report
)
# What a shell returns after SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM and SIGXCPU, on which a training saves its state.
SIGNALLED = re.compile("returned non-zero exit status (129|130|138|140|143|152)")
ENDING = re.compile("Exiting because a job|Complete log|(WorkflowError:\\s*)?At least one job did not complete")
STEPS = re.compile(r": (\d+) steps, .* % of (\d+), \d+ s left *(.*)")  # as transformer.support.progress writes them


def register() -> None:
    """Register the logger. Otherwise Snakemake would find it only in an installed package of its own."""
    LoggerPluginRegistry().register_plugin("snakemake_logger_plugin_brief", sys.modules[__name__])


class Bar:
    """The progress bar of a training. It shows the last line of the training's log."""

    def __init__(self, job: LogRecord):
        wildcards = job.__dict__["wildcards"]
        self.log = Path(job.__dict__["log"][0])
        self.bar = tqdm(desc=" ".join(wildcards.values()), unit="step", leave=False, dynamic_ncols=True)

    def follow(self) -> None:
        """Show the last line of the log."""
        with contextlib.suppress(OSError), self.log.open("rb") as stream:
            stream.seek(max(0, self.log.stat().st_size - 500))
            last = stream.read().decode(errors="replace").rstrip().rpartition("\n")[2]
            if steps := STEPS.search(last):
                if self.bar.total is None:  # the rate leaves out Python's start and steps of earlier runs
                    self.bar.reset(int(steps[2]))
                    self.bar.initial = int(steps[1])
                self.bar.n = int(steps[1])
            self.bar.set_postfix_str(steps[3] if steps else last)


class LogHandler(LogHandlerBase):
    """Shows what Snakemake reports."""

    has_formatter = needs_rulegraph = writes_to_file = False
    writes_to_stream = True

    def __post_init__(self) -> None:
        """Begin to follow the logs of trainings, if there is a terminal."""
        settings = self.common_settings
        self.stream = sys.stdout if settings.dryrun else sys.stderr
        self.whole = settings.verbose or settings.printshellcmds or settings.debug_dag
        self.running: dict[int, LogRecord] = {}
        self.bars: dict[int, Bar] = {}
        self.ended_jobs: list[LogRecord] = []  # that no line has shown yet
        self.begin = self.told = time.monotonic()
        self.overview: tqdm[Any] | None = None
        self.total = self.done = 0
        self.signalled = self.interrupted = self.failed = False
        self.ended, self.changing = threading.Event(), threading.Lock()
        if self.stream.isatty():
            threading.Thread(target=self._follow, daemon=True).start()

    @property
    def has_filter(self) -> bool:
        """Whether to leave out Snakemake's own filter. That filter obeys --quiet; without --quiet it shows too much."""
        return not (self.whole or self.common_settings.quiet)

    def emit(self, record: LogRecord) -> None:
        """Show one message of Snakemake, or only note it."""
        event, fields = record.__dict__.get("event"), record.__dict__
        if self.whole:
            self._show(self.format(record))
        elif event == LogEvent.RUN_INFO:
            self.total = fields["stats"]["total"]
            self._show(self.format(record) if self.common_settings.dryrun else _kinds(fields["stats"]))
            if self.stream.isatty() and not self.common_settings.dryrun:
                self.overview = tqdm(bar_format="{desc}", leave=False, dynamic_ncols=True)
        elif event == LogEvent.JOB_INFO:
            self.running[fields["jobid"]] = record
            if fields["rule_name"] == "train" and not self.common_settings.dryrun:
                self._begin(fields["jobid"])
        elif event == LogEvent.JOB_FINISHED:
            self._finish(fields["job_id"])
        elif event in SHOWN or (event is None and not ROUTINE.match(record.getMessage())):
            self._tell(record)

    def _tell(self, record: LogRecord) -> None:
        """Show an error or a message. A job that a signal has ended, such as Ctrl-C, takes one line."""
        message, job = record.getMessage(), record.__dict__.get("jobid", 0)
        if SIGNALLED.search(message):
            self.signalled = True  # Snakemake reports the job next
        elif record.__dict__.get("event") == LogEvent.JOB_ERROR:
            self._end_bar(job)
            if (ended := self.running.pop(job, None)) and self.signalled:
                self._show(_interrupted(ended))
                self.interrupted = True
            else:
                self._show(self.format(record))
                self.failed = True
            self.signalled = False
        elif self.failed or not (self.interrupted and ENDING.match(message)):
            self._show(self.format(record))

    def _begin(self, job: int) -> None:
        record = self.running[job]
        if self.stream.isatty():
            with self.changing:
                self.bars[job] = Bar(record)
        else:
            run = " ".join(record.__dict__["wildcards"].values())
            self._show(f"training {run}; its progress is in {record.__dict__['log'][0]}")

    def _finish(self, job: int) -> None:
        self._end_bar(job)
        record = self.running.pop(job, None)
        told = [line for line in _log(record).splitlines() if line.startswith("trial: ") or "warning: " in line]
        if record and record.__dict__["rule_name"] == "train":
            self._show(f"{self.done + 1} of {self.total}  {_trained(record)}")
        elif record:
            self.ended_jobs.append(record)
        self.done += 1
        for line in told:
            self._show(line)
        if time.monotonic() - self.told >= SILENT:
            self._show_ended()

    def _show_ended(self) -> None:
        """A line for the jobs that have ended since the last line."""
        if self.ended_jobs:
            self._write(f"{self.done} of {self.total}  {_listed(self.ended_jobs)}")
            self.ended_jobs = []

    def _end_bar(self, job: int) -> None:
        with self.changing:
            if bar := self.bars.pop(job, None):
                bar.bar.close()

    def _follow(self) -> None:
        while not self.ended.wait(1):
            with self.changing:
                for bar in self.bars.values():
                    bar.follow()
                self.show_overview()

    def show_overview(self) -> None:
        """Show how far the run is, for how long it has run, and what runs."""
        if self.overview is not None:
            counts = f"{self.done} of {self.total} jobs, {tqdm.format_interval(time.monotonic() - self.begin)}"
            running = _rules(list(self.running.values()))
            self.overview.set_description_str(f"{counts}, running: {running}" if running else counts)

    def _show(self, text: str) -> None:
        self._show_ended()
        self._write(text)

    def _write(self, text: str) -> None:
        tqdm.write(text, file=self.stream)
        self.told = time.monotonic()

    def close(self) -> None:
        """End all bars, and show what has ended."""
        self.ended.set()
        with self.changing:
            if self.overview is not None:
                self.overview.close()
        self._show_ended()
        for job in list(self.bars):
            self._end_bar(job)
        if self.interrupted and not self.failed:
            self._show("interrupted; the same command continues")
            self.interrupted = False  # close may be called again
        super().close()


def _interrupted(job: LogRecord) -> str:
    """A line for a job that a signal has ended, with the last line of its log."""
    fields = job.__dict__
    last = _log(job).rstrip().rpartition("\n")[2]
    last = last if last.startswith("interrupted") else "interrupted"
    return " ".join([fields["rule_name"], *fields["wildcards"].values()]) + f": {last}"


def _kinds(stats: Mapping[str, int]) -> str:
    """How many jobs there are, and how many of the most frequent kinds."""
    jobs = Counter({rule: count for rule, count in stats.items() if rule not in ("all", "total")})
    kinds = [f"{rule} {count}" for rule, count in jobs.most_common(LISTED)]
    others = jobs.total() - sum(count for _, count in jobs.most_common(LISTED))
    kinds += [f"others {others}"] * bool(others)
    return f"{stats['total']} job{'s' * (stats['total'] > 1)}: {', '.join(kinds)}"


def _listed(jobs: Sequence[LogRecord]) -> str:
    """The job with its first output if it is one; the number of jobs of each rule if they are several."""
    return f"{_rules(jobs)}{''.join(f' {path}' for path in jobs[0].__dict__['output'][:1] if len(jobs) == 1)}"


def _rules(jobs: Sequence[LogRecord]) -> str:
    """The number of jobs of each rule."""
    rules = Counter(job.__dict__["rule_name"] for job in jobs)
    return ", ".join(f"{rule} {count}" if count > 1 else rule for rule, count in rules.items())


def _trained(job: LogRecord) -> str:
    """A training that has ended, and how long it took where it ran."""
    fields = job.__dict__
    name = " ".join(["train", *fields["wildcards"].values()])
    with contextlib.suppress(OSError, ValueError, IndexError, TypeError):
        seconds = float(Path(fields["benchmark"]).read_text().splitlines()[1].split("\t")[0])
        name += f", {seconds / 60:.1f} minutes" if seconds < 2 * 3600 else f", {seconds / 3600:.1f} hours"
    return name


def _log(job: LogRecord | None) -> str:
    """What a job has printed so far."""
    if job is None:
        return ""
    return "".join(path.read_text(errors="replace") for path in map(Path, job.__dict__["log"]) if path.exists())
