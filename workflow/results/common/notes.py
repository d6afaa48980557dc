"""The notes that a table of our scores needs below it. docs/tables.md has what holds for all tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from transformer.evaluation.metrics import METRICS
from workflow.results.common.cells import power

SIGNED = {metric.signature: metric.columns[0].heading for metric in METRICS if metric.signature} | {
    "chrf.signature": "chrF",
    "randomisation.signature": "approximate randomisation",
    "bootstrap.signature": "paired bootstrap",
}


def run_note(runs: pd.DataFrame) -> list[str]:
    """How many seeds our numbers have, and how they were scored. Empty without runs."""
    if runs.empty:
        return []
    counts = runs.groupby(["task", "model"])["seed"].nunique()
    seeds = " to ".join(map(str, dict.fromkeys((counts.min(), counts.max()))))
    told = (
        f"Means ± standard deviations of {seeds} seeds"
        if counts.max() > 1
        else "One seed: small differences mean nothing"
    )
    scored = []
    for (task, part, sentences, decoding), group in runs.groupby(["task", "part", "sentences", "decoding"]):
        averages = group.groupby("model", sort=False)["average"].first()
        each = ", ".join(f"{model} {n}" for model, n in averages.items())
        averaged = str(averages.iloc[0]) if averages.nunique() == 1 else each
        scored.append(f"{task}: {sentences:,} sentences of {part}, {decoding}, checkpoints averaged: {averaged}")
    return [f"{told}. {'; '.join(scored)}."]


def score_notes(scores: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why some scores say little: the notes of score files, with the runs that they are about."""
    about: dict[str, list[str]] = {}
    for score in scores:
        for note in score.get("notes", ()):
            about.setdefault(note, []).append(f"{score['task']} {score['model']}")
    return [f"{', '.join(dict.fromkeys(runs))}: {note}." for note, runs in about.items()]


def cost_and_signatures(runs: pd.DataFrame) -> str:
    """The FLOP/s by which the cost of runs is estimated, and the signatures of their metrics and tests."""
    measured = runs["sustained"].map(dict.fromkeys).explode()  # a run's equal measurements count once
    used = pd.DataFrame(measured.dropna().tolist(), columns=["device", "flops"]).groupby("device")["flops"].mean()
    told = [f"{device}, {power(flops)} FLOP/s sustained" for device, flops in used.items()]
    told += [f"{name} {signature}" for key, name in SIGNED.items() for signature in runs[key].dropna().unique()]
    return f"{'; '.join(told)}."
