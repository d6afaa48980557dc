"""Snakemake's logger `brief`, which profiles/default uses: trainings, what else has ended, warnings, errors in full.

A training has a line when it ends. Other jobs share lines: one before anything else is shown, and one when a job ends
after a minute without a line. On a terminal, the last lines show how far the run and each training are. --verbose and
--printshellcmds show Snakemake's messages about its own work, too. All messages are in .snakemake/log.
"""

import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

SILENT = 60  # seconds without a line, after which the next job that ends has one
LISTED = 6  # kinds of jobs in a line
CLEAR = "\033[J"  # tells a terminal to clear the lines from here on
# Messages of Snakemake about its own work that do not belong to an event.
ROUTINE = re.compile(
    "Config file .* is extended|Assuming unrestricted shared|Building DAG|Using shell|Conda environments: ignored"
    "|Singularity containers: ignored|Group jobs: inactive|Select jobs|Touching output|Elapsed time"
    "|Creating report|Missing metadata for file|Adding |Loading script code|Downloading resources"  # of --report
)
# What a shell returns after SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM and SIGXCPU, on which a training saves its state.
SIGNALLED = re.compile("returned non-zero exit status (129|130|138|140|143|152)")


def register() -> None:
    """Register the logger. Otherwise Snakemake would find it only in an installed package of its own."""
    LoggerPluginRegistry().register_plugin("snakemake_logger_plugin_brief", sys.modules[__name__])


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
        self.others: Counter[str] = Counter()  # jobs that have ended, but trainings, that no line has shown yet
        self.begin = self.told = time.time()
        self.total = self.done = 0
        self.signalled, self.ended = False, threading.Event()
        self.terminal = self.stream.isatty() and not settings.dryrun
        if self.terminal:
            threading.Thread(target=self._follow, daemon=True).start()

    @property
    def has_filter(self) -> bool:
        """Whether to leave out Snakemake's own filter. That filter obeys --quiet; without --quiet it shows too much."""
        return not (self.whole or self.common_settings.quiet)

    def emit(self, record: LogRecord) -> None:
        """Show one message of Snakemake, or only note it."""
        fields, message, dry = record.__dict__, record.getMessage(), self.common_settings.dryrun
        match fields.get("event"):
            case _ if self.whole:
                self._show(self.format(record))
            case LogEvent.RUN_INFO:
                self.total = fields["stats"]["total"]
                jobs = {rule: count for rule, count in fields["stats"].items() if rule not in ("all", "total")}
                self._show(self.format(record) if dry else f"{self.total} jobs: {_listed(jobs)}")
            case LogEvent.JOB_INFO:
                self.running[fields["jobid"]] = record
                if fields["rule_name"] == "train" and not dry and not self.terminal:
                    self._show(f"{_named(record)}; its progress is in {fields['log'][0]}")
            case LogEvent.JOB_FINISHED if job := self.running.pop(fields["job_id"], None):
                self._finish(job, record.created)
            case LogEvent.ERROR if SIGNALLED.search(message):
                self.signalled = True  # Snakemake reports the job next
            case LogEvent.JOB_ERROR if self.signalled and (job := self.running.pop(fields["jobid"], None)):
                self._show(f"{_named(job)}: interrupted; the same command continues")
                self.signalled = False
            case LogEvent.JOB_ERROR | LogEvent.GROUP_ERROR | LogEvent.ERROR:
                self.running.pop(fields.get("jobid", 0), None)
                self._show(self.format(record))
            case None if not ROUTINE.match(message):
                self._show(self.format(record))

    def _finish(self, job: LogRecord, ended: float) -> None:
        """Count a job that has ended. Show a training, and warnings and the answer of a trial in the log of any job."""
        self.done += 1
        lines = [line for line in _log(job).splitlines() if line.startswith("trial: ") or "warning: " in line]
        if job.__dict__["rule_name"] == "train":
            lines.insert(0, f"{self.done} of {self.total}  {_named(job)}, {(ended - job.created) / 60:.1f} minutes")
        else:
            self.others[job.__dict__["rule_name"]] += 1
        if lines or ended - self.told >= SILENT:
            self._show(*lines)

    def _show(self, *texts: str) -> None:
        """Show texts, and before them a line for the jobs that have ended since the last line."""
        if self.others:
            texts = (f"{self.done} of {self.total}  {_listed(self.others)}", *texts)
            self.others.clear()
        print(CLEAR * self.terminal + "\n".join(texts), file=self.stream, flush=True)
        self.told = time.time()

    def _follow(self) -> None:
        """Show once a second how far the run is, in lines that the next ones replace."""
        while not self.ended.wait(1):
            width = shutil.get_terminal_size().columns - 1
            lines = [line[:width] for line in self.status()]
            up = f"\033[{len(lines) - 1}A" if lines[1:] else ""
            self.acquire()
            try:
                print(CLEAR + "\n".join(lines), end=f"\r{up}", file=self.stream, flush=True)
            finally:
                self.release()

    def status(self) -> list[str]:
        """How many jobs have ended, and for how long the run has run; then the last line of each training's log."""
        minutes, seconds = divmod(int(time.time() - self.begin), 60)
        trainings = [job for job in list(self.running.values()) if job.__dict__["rule_name"] == "train"]
        lines = [_log(job).rstrip().rpartition("\n")[2] or _named(job) for job in trainings]
        return [f"{self.done} of {self.total} jobs, {minutes}:{seconds:02}", *lines]

    def close(self) -> None:
        """Show what has ended, and no more progress."""
        self.ended.set()
        if self.others:
            self._show()
        super().close()


def _named(job: LogRecord) -> str:
    return " ".join([job.__dict__["rule_name"], *job.__dict__["wildcards"].values()])


def _listed(jobs: Mapping[str, int]) -> str:
    """The most frequent of some jobs, with their numbers."""
    kinds = [f"{rule} {count}" for rule, count in Counter(jobs).most_common(LISTED)]
    return ", ".join(kinds + ["..."] * (len(jobs) > LISTED))


def _log(job: LogRecord) -> str:
    """What a job has printed so far."""
    return "".join(path.read_text(errors="replace") for path in map(Path, job.__dict__["log"]) if path.exists())
