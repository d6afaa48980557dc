"""What the logger `brief` shows of Snakemake's reports."""

import io
import logging
from types import SimpleNamespace

import pytest
from calls import SMOKE, snakemake
from snakemake_interface_logger_plugins.common import LogEvent

from transformer.support.progress import Progress
from workflow.cli import brief


class Terminal(io.StringIO):
    def isatty(self):
        return True


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


def start(handler, number, rule, **fields):
    output = [f"results/{rule}"]
    fields = {"log": [], "wildcards": {}, "benchmark": None} | fields
    report(handler, f"Rule: {rule}", LogEvent.JOB_INFO, jobid=number, rule_name=rule, output=output, **fields)


def finish(handler, *numbers):
    for number in numbers:
        report(handler, f"Finished jobid: {number}", LogEvent.JOB_FINISHED, job_id=number)
        report(handler, None, LogEvent.PROGRESS, done=1, total=4)


def test_a_training_has_a_line_and_other_jobs_share_one(handler, tmp_path):
    report(handler, "Building DAG of jobs...")
    stats = {"score": 3, "train": 1, "all": 1, "total": 5}
    report(handler, "Job stats:\n...", LogEvent.RUN_INFO, stats=stats)
    report(handler, "Select jobs to execute...")
    (tmp_path / "train.tsv").write_text("s\th:m:s\n250.21\t0:04:10\n")
    where = {"log": ["logs/train.log"], "benchmark": str(tmp_path / "train.tsv")}
    start(handler, 5, "train", wildcards={"task": "ende", "model": "base"}, **where)
    for number in (7, 8, 9):
        start(handler, number, "score")
    finish(handler, 7, 8, 5, 9)
    handler.close()
    assert handler.stream.getvalue().splitlines() == [
        "5 jobs: score 3, train 1",
        "training ende base; its progress is in logs/train.log",
        "2 of 5  score 2",
        "3 of 5  train ende base, 4.2 minutes",
        "4 of 5  score results/score",
    ]


def test_the_first_line_counts_rare_kinds_of_jobs_together(handler):
    stats = {f"rule{number}": number for number in range(1, 10)} | {"all": 1, "total": 46}
    report(handler, "Job stats:\n...", LogEvent.RUN_INFO, stats=stats)
    frequent = ", ".join(f"rule{number} {number}" for number in range(9, 3, -1))
    assert handler.stream.getvalue() == f"46 jobs: {frequent}, others 6\n"


def test_jobs_that_have_ended_are_shown_at_least_once_a_minute(handler, monkeypatch):
    for number in (1, 2, 3):
        start(handler, number, "encode")
    finish(handler, 1, 2)
    assert handler.stream.getvalue() == ""
    monkeypatch.setattr(brief, "SILENT", 0)
    finish(handler, 3)
    assert handler.stream.getvalue() == "3 of 0  encode 3\n"


def test_a_terminal_shows_how_far_the_run_is_and_what_runs(handler, monkeypatch):
    handler.stream = Terminal()
    stats = {"score": 2, "train": 1, "total": 3}
    report(handler, "Job stats:\n...", LogEvent.RUN_INFO, stats=stats)
    for number in (1, 2):
        start(handler, number, "score")
    finish(handler, 1)
    monkeypatch.setattr(handler, "begin", handler.begin - 75)
    handler.show_overview()
    assert handler.overview.desc == "1 of 3 jobs, 01:15, running: score"


def test_warnings_of_a_job_are_shown_when_it_ends(handler, tmp_path):
    (tmp_path / "log").write_text("reading\nende base: warning: 9 of 20 pairs are left out\n")
    start(handler, 1, "train", wildcards={"task": "ende"}, log=[tmp_path / "log"])
    start(handler, 2, "read", log=[tmp_path / "log"])
    finish(handler, 1, 2)
    warning = "ende base: warning: 9 of 20 pairs are left out"
    assert handler.stream.getvalue().splitlines()[1:] == [
        "1 of 0  train ende",
        warning,
        "2 of 0  read results/read",
        warning,
    ]


ENDING = ["Exiting because a job execution failed. Look above", "WorkflowError:\nAt least one job did not complete."]


def fail(handler, number, rule, status):
    report(handler, f"CalledProcessError: Command x returned non-zero exit status {status}.", LogEvent.ERROR)
    report(handler, f"Error in rule {rule}", LogEvent.JOB_ERROR, jobid=number)


def end(handler):
    """What is shown when Snakemake ends after a failure."""
    for message in ENDING:
        report(handler, message, LogEvent.ERROR)
    handler.close()
    return handler.stream.getvalue()


def test_a_job_that_ctrl_c_ends_takes_one_line(handler, tmp_path):
    (tmp_path / "log").write_text("training\ninterrupted by SIGINT; the state is saved\n")
    start(handler, 1, "train", wildcards={"task": "ende", "model": "base"}, log=[tmp_path / "log"])
    start(handler, 2, "score", wildcards={"part": "dev"}, log=[tmp_path / "none"])
    fail(handler, 1, "train", 130)
    fail(handler, 2, "score", 130)
    assert end(handler).splitlines()[1:] == [
        "train ende base: interrupted by SIGINT; the state is saved",
        "score dev: interrupted",
        "interrupted; the same command continues",
    ]


def test_a_failure_beside_interrupted_jobs_is_shown_in_full(handler):
    start(handler, 1, "score")
    start(handler, 2, "translate")
    fail(handler, 1, "score", 130)
    fail(handler, 2, "translate", 1)
    shown = end(handler)
    assert shown.startswith("score: interrupted\nCalledProcessError: Command x returned non-zero exit status 1.\n")
    assert shown.endswith("\n".join(["Error in rule translate", *ENDING, ""]))


def test_messages_that_are_not_routine_are_shown(handler):
    report(handler, "Nothing to be done (all requested files are present and up to date).")
    report(handler, "Error in rule score, jobid: 7\n    log: logs/score.log", LogEvent.JOB_ERROR, jobid=7)
    assert handler.stream.getvalue().splitlines() == [
        "Nothing to be done (all requested files are present and up to date).",
        "Error in rule score, jobid: 7",
        "    log: logs/score.log",
    ]


def test_a_bar_follows_the_log_of_a_training(tmp_path, capsys):
    job = SimpleNamespace(wildcards={"task": "ende", "model": "base"}, log=[tmp_path / "train.log"])
    bar = brief.Bar(job)
    bar.follow()
    progress = Progress("ende base", 1200, "step", 100, seconds=0)
    (tmp_path / "train.log").write_text("waiting for a GPU\n")
    bar.follow()
    assert bar.bar.postfix == "waiting for a GPU"
    capsys.readouterr()
    progress.update(200, "loss 3.25")
    (tmp_path / "train.log").write_text(f"waiting for a GPU\n{capsys.readouterr().err}")
    bar.follow()
    assert (bar.bar.n, bar.bar.total, bar.bar.postfix) == (300, 1200, "loss 3.25")
    assert bar.bar.initial == 300, "the rate does not count what was there before"
    bar.bar.close()


@pytest.mark.workflow
def test_a_failed_job_is_shown_in_full_with_its_log_and_without_routine_messages(project):
    text = (project / "smoke.yaml").read_text().replace("vocabulary: 100", "vocabulary: 9999")
    (project / "large.yaml").write_text(text)
    target = "failing/smoke/subwords/ende.model"
    run = snakemake(project, target, "--configfile", "large.yaml", "fetched.yaml", "--config", "results=failing")
    assert run.returncode == 1
    profile, counts, *lines = run.stderr.splitlines()
    assert profile.startswith("Using workflow specific profile")
    assert counts == "3 jobs: configure_corpus 1, read_files 1, learn_subwords 1"
    assert lines[0] == "2 of 3  configure_corpus, read_files", run.stderr
    assert "Error in rule learn_subwords:" in lines
    assert "Logfile failing/smoke/logs/ende/subwords.log:" in lines
    assert any(line.startswith(f"error: {target}: a vocabulary of 9999") for line in lines)
    assert "Traceback" not in run.stderr


@pytest.mark.workflow
def test_snakemake_looks_for_jobs_only_when_one_has_ended(project):
    """With its own limit of jobs per second it would also look again and again while jobs wait."""
    run = snakemake(
        project, "--verbose", "--cores", "1", *SMOKE, "--config", "results=looking", "--until", "configure_run"
    )
    assert run.returncode == 0, run.stderr
    done = sum(line.startswith("Finished jobid") for line in run.stderr.splitlines())
    assert done > 5
    assert sum(line.startswith("Ready jobs") for line in run.stderr.splitlines()) <= done
