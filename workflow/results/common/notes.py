"""What a table reads of our runs, and the notes that these need below it."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from transformer.evaluation.metrics import METRICS
from workflow.results.common.cells import power


def corpus_note(corpus: Mapping[str, Any]) -> str:
    """The text that our numbers are from."""
    pairs = ", ".join(f"{count:,} {part}" for part, count in corpus["pairs"].items())
    text = f"{corpus['corpus']}: {corpus['description']} ({corpus['licence']})"
    leaves = f"; trees hold {corpus['leaves']} in place of XX" if corpus.get("leaves", "XX") != "XX" else ""
    return f"Text, {corpus['source']} to {corpus['target']}: {text}; pairs: {pairs}{leaves}."


def seed_notes(runs: pd.DataFrame) -> list[str]:
    """How many seeds our numbers have, and what that means."""
    if runs.empty:
        return []
    seeds = runs.groupby(["task", "model"])["seed"].nunique().max()
    if seeds == 1:
        return ["Each of our rows has one seed, so small differences between rows mean nothing."]
    return [f"Our numbers are means ± standard deviations over {seeds} seeds."]


def score_notes(scores: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why some scores say little: the notes of score files, with the runs that they are about."""
    about: dict[str, list[str]] = {}
    for score in scores:
        for note in score.get("notes", ()):
            about.setdefault(note, []).append(f"{score['task']} {score['model']}")
    return [f"{', '.join(dict.fromkeys(runs))}: {note}." for note, runs in about.items()]


def token_notes(runs: pd.DataFrame) -> list[str]:
    """The tasks whose BLEU has other tokens than that of the paper's languages."""
    others = runs["paper_bleu.signature"].astype(str).str.contains("|tokens:", regex=False)
    tasks = ", ".join(runs["task"][others].unique())
    return [f"BLEU of {tasks} is an exception: its tokens are those of sacreBLEU."] if tasks else []


def signature_notes(runs: pd.DataFrame, signatures: Mapping[str, str]) -> list[str]:
    """The signatures of metrics and tests: key of a signature -> the name of what it belongs to."""
    return [
        f"Signature of {name}: {signature}"
        for key, name in signatures.items()
        for signature in runs[key].dropna().unique()
    ]


def run_notes(runs: pd.DataFrame, which: str) -> list[str]:
    """How our numbers were made: part, decoding, averaging, batches, devices, and the signatures of the scores."""
    notes = []
    for (task, part, sentences, decoding), group in runs.groupby(["task", "part", "sentences", "decoding"]):
        first = group.groupby("model", sort=False)["average"].first()
        each = ", ".join(f"{model} {n}" for model, n in first.items())
        averages = f"{first.iloc[0]} of each model" if first.nunique() == 1 else each
        notes.append(
            f"{which}Scores of {task}: {sentences:,} sentences of {part}, {decoding}; checkpoints averaged: {averages}."
        )
    for task, group in runs.groupby("task"):
        tokens = group["target_tokens"] / group["steps"]
        alike = tokens.max() < 1.1 * tokens.min()  # batches of one size are about equal
        told = f"{tokens.mean():,.0f}" if alike else f"{tokens.min():,.0f} to {tokens.max():,.0f}"
        notes.append(f"A training step of {task!s} has {told} target subwords; the paper's has about 25,000.")
    for (task, longest, left_out), group in runs.groupby(["task", "longest_pair", "left_out"]):
        if left_out:
            models = group["model"].unique()
            every = len(models) == runs.loc[runs["task"] == task, "model"].nunique()
            notes.append(
                f"Training of {'every model' if every else ', '.join(models)} ({task}) leaves "
                f"out {left_out:,.0f} of "
                f"{left_out + group['pairs'].iloc[0]:,.0f} pairs: they have more than {longest:.0f} subwords on a side."
            )
    measured = runs["sustained"].map(dict.fromkeys).explode()  # a run's equal measurements count once
    used = pd.DataFrame(measured.dropna().tolist(), columns=["device", "flops"])
    for device, flops in used.groupby("device")["flops"].mean().items():
        notes.append(f"Device: {device}, {power(flops)} FLOP/s sustained.")
    signed = {
        metric.signature: metric.columns[0].heading for metric in METRICS if metric.signature and not metric.second
    }
    signed |= {
        "randomisation.signature": "the approximate randomisation",
        "bootstrap.signature": "the paired bootstrap",
        "chrf.signature": "chrF",
    }
    return notes + signature_notes(runs, signed)
