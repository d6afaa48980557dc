"""A run beside the released verdicts: whether its differences point as those that the replication reproduced."""

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from workflow.results.claims.verdicts import Tested
from workflow.results.common.table_formats import Row

Released = Mapping[tuple[str, str, str], Mapping[str, str]]  # section, claim, measure -> row


def read_released(path: str | Path) -> Released:
    """The rows of a released table of claims that were tested."""
    with Path(path).open(encoding="utf-8", newline="") as stream:
        return {key(row): row for row in csv.DictReader(stream) if row["In favour, interval"]}


def key(row: Mapping[str, str]) -> tuple[str, str, str]:
    """The section, the claim and the measure of a row, without the part on which it is measured."""
    return row["Section"], row["Claim"], row["Measure"].partition(",")[0]


def cells(each: Tested, known: Released) -> Row:
    """The released verdict of a claim, and whether ours points the same way where that is reproduced."""
    released = {} if each.timed else known.get(each.key, {})
    bound = re.search(r" (\(.*\))$", released.get("Rows", "")) if released.get("Rows") != each.rows else None
    verdict = released.get("Verdict", "").partition(":")[0] + (f" {bound[1]}" if bound else "")
    tells = verdict.startswith("reproduced") and each.ours is not None and not each.alike
    same = ("yes" if (each.ours or 0) > 0 else "no") if tells else ""
    return {("Verdict", "released"): verdict, ("Verdict", "same way"): same}


def lead(rows: Iterable[Mapping[str, str]], path: Path) -> str:
    """How many claims point the same way as released, and how many do in a single released seed.

    `rows` are those of a csv of claims. Empty if none can be compared.
    """
    told = [row for row in rows if row.get("Verdict, same way")]
    if not told:
        return ""
    known = read_released(path)
    reproduced = [row for row in known.values() if row["Verdict"].startswith("reproduced") and row["p, family"]]
    seeds = zip(*(re.findall(r"[+-][\d.]+", known[key(row)]["In favour, each seed"]) for row in told), strict=False)
    counts = sorted({sum(one[0] == "+" for one in seed) for seed in seeds})
    alone = " to ".join(map(str, counts[:1] + counts[-1:] * (len(counts) > 1)))
    same = sum(row["Verdict, same way"] == "yes" for row in told)
    return (
        f"{same} of the {len(told)} reproduced claims that this run tests point the same way here (the replication "
        f"reproduced {len(reproduced)}; one of its seeds alone has {alone} of these {len(told)}, a coin "
        f"{len(told) / 2:g})."
    )
