"""The study of length: exact match on lengths that were not trained on, published and ours, by positional encoding."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from records import logged, over_seeds, read_json, read_yaml
from tables_common import Row, beside, number, spread, write_table

from transformer.evaluation.claims import judge

TITLE = "Length: exact match on longer problems than were trained on, published and ours"
NOTES = [
    "Exact match: the share of problems whose whole answer is right, in greedy search; the mean over lengths.",
    "Rank: of the encodings that both have, by exact match on unseen lengths, the best first; equal ones share a rank. "
    "Correlation: Spearman's, between the published ranks and ours.",
    "Published: {source}. They trained T5-base decoders (110M parameters, 12 layers) on 100,000 fixed problems for "
    "40,000 steps of 64; copying and reversing on lengths 2 to 20, tested on 21 to 40, arithmetic on 8 and 16. Their "
    "answer to reverse stands there twice. They call sinusoidal APE and none NoPE.",
    "Ours: layer normalisation after each sub-layer as in the paper, new problems in each step, the paper's schedule. "
    "t5 keeps the division by sqrt(d_k), rotary turns whole heads (theirs: a quarter of each). learned is not among "
    "theirs: positions beyond the longest problem of the training are never learnt.",
    "addition: ours has binary numbers with their last digit first, theirs decimal ones with the first. sum: ours "
    "gives each running sum, modulo 10; of theirs, the last one alone, only ranks are known.",
    "alibi is Attention with Linear Biases.",
]


def measured(runs: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A row a run: the mean exact match over the lengths trained on, and over the unseen ones."""
    rows = []
    for run in runs:
        most = run["trained"][1]
        means = pd.Series(run["exact_match"]).groupby(lambda length, most=most: int(length) > most).mean()
        row = {"task": run["task"], "model": run["positions"], "seed": run["seed"]}
        rows.append(row | {"seen": means[False], "unseen": means[True]})
    return pd.DataFrame(rows)


def ranks(scores: Mapping[str, float]) -> pd.Series:
    """1 for the greatest score; equal ones share the mean of their ranks."""
    return pd.Series(scores, dtype=float).rank(ascending=False)


def task_rows(task: str, positions: Iterable[str], published: Mapping[str, Any], ours: Any) -> list[Row]:
    """The rows of a task, an encoding each."""
    found = {encoding: ours[task, encoding] for encoding in positions}
    scores = published.get("exact_match", {})
    theirs = pd.Series(published["ranks"], dtype=float) if "ranks" in published else ranks(scores)
    mine = ranks({encoding: numbers["unseen"] for encoding, numbers in found.items()})
    both = pd.concat([theirs, mine], axis=1, join="inner").rank()
    differ = (both.nunique() > 1).all()  # else there is no correlation
    rows = []
    for encoding, numbers in found.items():
        first = encoding == next(iter(found))
        rows.append(
            {
                ("Task", ""): task,
                ("Positions", ""): encoding,
                ("Lengths trained on", "ours"): spread(numbers, "seen", 3),
                **beside("Unseen lengths", scores.get(encoding), numbers, "unseen", 3),
                ("Rank", "published"): number(both[0].get(encoding), 1).removesuffix(".0"),
                ("Rank", "ours"): number(both[1].get(encoding), 1).removesuffix(".0"),
                ("Correlation of ranks", ""): number(both[0].corr(both[1]), 2) if first and differ else "",
            }
        )
    return rows


def claim_notes(found: pd.DataFrame) -> list[str]:
    """Whether `none` loses least, for each task: its lead over the best other encoding of the same seed, judged.

    Nothing where `none`, or anything beside it, is not run, or has one seed.
    """
    leads = {}
    for task, runs in found.groupby("task", sort=False):
        unseen = runs.pivot(index="seed", columns="model", values="unseen")
        if "none" in unseen and len(unseen.columns) > 1 and len(unseen) > 1:
            leads[task] = (unseen["none"] - unseen.drop(columns="none").max(axis=1)).to_numpy()
    each = [
        f"{task} {one.effect:+.2f} (95 % interval {one.interval[0]:+.2f} to {one.interval[1]:+.2f}), {one.verdict}"
        for task, one in judge({task: (lead, None) for task, lead in leads.items()}).items()
    ]
    claim = (
        "Their claim: without positions (none) a decoder loses least as problems get longer. Ours, the lead of none "
        "over the best other encoding of each seed, with verdicts as in the table claims: "
    )
    return [f"{claim}{'; '.join(each)}."] if each else []


def main(snakemake: Any) -> None:
    study, published = snakemake.params.study, read_yaml(snakemake.input.published)["length"]
    runs = [read_json(path) for path in snakemake.input.runs]
    found = measured(runs)
    ours = over_seeds(found)
    rows = [
        row
        for task in study["tasks"]
        for row in task_rows(task, study["positions"], published["tasks"].get(task, {}), ours)
    ]
    told = [*claim_notes(found), *notes(study, published, runs)]
    write_table(snakemake.output, TITLE, rows, told, names=2)


def notes(study: Mapping[str, Any], published: Mapping[str, Any], runs: list[Mapping[str, Any]]) -> list[str]:
    """What stands under the table."""
    recipe = study["recipe"]
    steps = ", ".join(f"{task} {study['steps'][task]:,}" for task in study["tasks"])
    (least, most), tested = recipe["trained"], recipe["tested"]
    parameters = [run["parameters"] for run in runs]
    several = len(study["seeds"]) > 1
    means = f"are means ± standard deviations over {len(study['seeds'])} seeds" if several else "are of one seed"
    return [
        f"Ours {means}: decoders of N {recipe['N']}, d_model "
        f"{recipe['d_model']}, d_ff {recipe['d_ff']}, h {recipe['h']} ({min(parameters):,} to {max(parameters):,} "
        f"parameters), trained on lengths {least} to {most}, tested on {recipe['problems']} problems of each length "
        f"from {least} to {tested}.",
        f"Ours: {recipe['batch']} problems a step; steps: {steps}.",
        *(note.format(source=published["source"]) for note in NOTES),
    ]


if "snakemake" in globals():
    logged(main, snakemake)
