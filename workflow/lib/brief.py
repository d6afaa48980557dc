"""Snakemake's logger `brief`, which profiles/default uses: a line for each job, its warnings, and errors in full.

The job that judges a trial also shows its answer. On a terminal each training has a progress bar, which follows the
training's log. `brief` leaves out Snakemake's other messages about its own work; --verbose and --printshellcmds show
them. All messages are in .snakemake/log.
"""

import contextlib
import re
import sys
import threading
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry
from tqdm import tqdm

SHOWN = {LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.ERROR}
# Messages of Snakemake about its own work that do not belong to an event.
ROUTINE = re.compile(
    "Config file .* is extended|Assuming unrestricted shared|Building DAG|Using shell|Conda environments: ignored"
    "|Singularity containers: ignored|Group jobs: inactive|Select jobs|Touching output|Elapsed time"
)
SIGNALLED = re.compile("returned non-zero exit status (130|143)")  # what a shell returns after SIGINT or SIGTERM
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
            jobs = {rule: count for rule, count in fields["stats"].items() if rule not in ("all", "total")}
            self.total = fields["stats"]["total"]
            counts = ", ".join(f"{rule} {count}" for rule, count in jobs.items())
            self._show(self.format(record) if self.common_settings.dryrun else f"{self.total} jobs: {counts}")
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
            if self.signalled and job in self.running:
                self._show(_interrupted(self.running[job]))
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
        self.done += 1
        if record := self.running.pop(job, None):
            fields = record.__dict__
            made = f" {fields['output'][0]}" if fields["output"] else ""
            self._show(f"{self.done} of {self.total}  {fields['rule_name']}{made}")
            for line in _log(record).splitlines():
                if "warning: " in line or line.startswith("trial: "):
                    self._show(line)

    def _end_bar(self, job: int) -> None:
        with self.changing:
            if bar := self.bars.pop(job, None):
                bar.bar.close()

    def _follow(self) -> None:
        while not self.ended.wait(1):
            with self.changing:
                for bar in self.bars.values():
                    bar.follow()

    def _show(self, text: str) -> None:
        tqdm.write(text, file=self.stream)

    def close(self) -> None:
        """End all bars."""
        self.ended.set()
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


def _log(job: LogRecord) -> str:
    """What a job has printed so far."""
    return "".join(path.read_text(errors="replace") for path in map(Path, job.__dict__["log"]) if path.exists())
