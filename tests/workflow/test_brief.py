"""What the logger `brief` shows of Snakemake's reports."""

import io
import logging
from types import SimpleNamespace

import pytest
from calls import snakemake
from snakemake_interface_logger_plugins.common import LogEvent

from transformer.support.progress import Progress
from workflow.cli import brief

MODEL = {"task": "ende", "model": "base"}


@pytest.fixture
def handler():
    settings = SimpleNamespace(dryrun=False, verbose=False, printshellcmds=False, debug_dag=False, quiet=None)
    made = brief.LogHandler(settings, None)
    made.stream = io.StringIO()
    yield made
    made.close()


def report(handler, message=None, event=None, **fields):
    record = logging.LogRecord("snakemake", logging.INFO, __file__, 1, message, (), None)
    record.__dict__.update(fields, **({"event": event} if event else {}))
    handler.emit(record)


def start(handler, number, rule, log=("x.log",), **wildcards):
    fields = {"log": list(log), "wildcards": wildcards}
    report(handler, f"Rule: {rule}", LogEvent.JOB_INFO, jobid=number, rule_name=rule, **fields)


def finish(handler, *numbers):
    for number in numbers:
        report(handler, f"Finished jobid: {number}", LogEvent.JOB_FINISHED, job_id=number)
        report(handler, None, LogEvent.PROGRESS, done=1, total=4)


def fail(handler, number, rule, status):
    report(handler, f"CalledProcessError: Command x returned non-zero exit status {status}.", LogEvent.ERROR)
    report(handler, f"Error in rule {rule}\n    log: x.log", LogEvent.JOB_ERROR, jobid=number)


def test_a_training_has_a_line_and_other_jobs_share_one(handler, monkeypatch):
    report(handler, "Building DAG of jobs...")
    stats = {f"rule{number}": number for number in range(1, 10)} | {"all": 1, "total": 46}
    report(handler, "Job stats:\n...", LogEvent.RUN_INFO, stats=stats)
    start(handler, 5, "train", ["logs/train.log"], **MODEL)
    for number in (7, 8, 9):
        start(handler, number, "score")
    finish(handler, 7, 8, 5)
    monkeypatch.setattr(brief, "SILENT", 0)
    finish(handler, 9)
    report(handler, "Nothing to be done (all requested files are present and up to date).")
    assert handler.stream.getvalue().splitlines() == [
        "46 jobs: rule9 9, rule8 8, rule7 7, rule6 6, rule5 5, rule4 4, ...",
        "train ende base; its progress is in logs/train.log",
        "3 of 46  score 2",
        "3 of 46  train ende base, 0.0 minutes",
        "4 of 46  score 1",
        "Nothing to be done (all requested files are present and up to date).",
    ]


def test_warnings_and_the_answer_of_a_trial_are_shown_when_their_job_ends(handler, tmp_path):
    said = ["ende base: warning: 9 of 20 pairs are left out", "trial: undecided"]
    (tmp_path / "log").write_text("\n".join(["reading", *said]))
    start(handler, 2, "read", [tmp_path / "log"])
    finish(handler, 2)
    assert handler.stream.getvalue().splitlines() == ["1 of 0  read 1", *said]


def test_a_job_that_a_signal_ends_takes_one_line_and_a_failure_beside_it_is_shown_in_full(handler):
    start(handler, 1, "train", **MODEL)
    start(handler, 2, "translate")
    fail(handler, 1, "train", 130)
    fail(handler, 2, "translate", 1)
    assert handler.stream.getvalue().splitlines()[1:] == [
        "train ende base: interrupted; the same command continues",
        "CalledProcessError: Command x returned non-zero exit status 1.",
        "Error in rule translate",
        "    log: x.log",
    ]


def test_a_terminal_shows_how_far_the_run_and_each_training_are(handler, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(handler, "begin", handler.begin - 75)
    report(handler, "Job stats:\n...", LogEvent.RUN_INFO, stats={"train": 1, "total": 3})
    progress = Progress("ende base", 1200, "step", seconds=0)
    progress.update(300, "loss 3.25")
    (tmp_path / "log").write_text(f"waiting for a GPU\n{capsys.readouterr().err}")
    start(handler, 1, "train", [tmp_path / "log"], **MODEL)
    start(handler, 2, "train", [tmp_path / "none"], task="ende", model="big")
    run, base, big = handler.status()
    assert (run, big) == ("0 of 3 jobs, 1:15", "train ende big")
    assert base.startswith("ende base: 300 steps, ")
    assert base.endswith(" s left  loss 3.25")


@pytest.mark.workflow
def test_a_failed_job_is_shown_in_full_with_its_log_and_without_routine_messages(project):
    text = (project / "smoke.yaml").read_text().replace("vocabulary: 100", "vocabulary: 9999")
    (project / "large.yaml").write_text(text)
    target = "failing/smoke/subwords/ende.model"
    given = ("--configfile", "large.yaml", "fetched.yaml", "--config", "results=failing")
    run = snakemake(project, target, *given, status=1)
    _, counts, ended, *lines = run.stderr.splitlines()  # the first names the profile
    assert counts.startswith("4 jobs: ")
    assert ended.startswith("3 of 4  ")
    assert "Error in rule learn_subwords:" in lines
    assert "Logfile failing/smoke/logs/ende/subwords.log:" in lines
    assert any(line.startswith(f"error: {target}: a vocabulary of 9999") for line in lines)
    assert "MissingOutputException" not in run.stderr
