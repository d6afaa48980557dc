"""A run beside the released verdicts: whether its differences point as those that the replication reproduced."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workflow.results.claims.claimed import read_first
from workflow.results.claims.second import inserted
from workflow.results.claims.verdicts import Tested
from workflow.results.common.table_formats import Row

SAME = ("Verdict", "same way")
NOTE = (
    "The released verdict is that of the replication (docs/replication.md), whose text, sizes or seeds are others; if "
    "its bound is another, it is named. Same way says whether our difference has the sign that was reproduced there."
)


def beside_released(path: str, tested: Sequence[Tested], rows: Sequence[Row]) -> list[Row]:
    """The rows of claims with the released verdict, and whether ours points the same way where that is reproduced."""
    known, longer = read_first(path), []
    for each, row in zip(tested, rows, strict=True):
        key = each.claim["section"], each.claim["claim"], each.measure.heading
        released = {} if each.timed else known.get(key, {})
        bound = re.search(r" (\(.*\))$", released.get("Rows", "")) if released.get("Rows") != each.rows else None
        verdict = released.get("Verdict", "").partition(":")[0] + (f" {bound[1]}" if bound else "")
        tells = verdict.startswith("reproduced") and each.ours is not None and not each.alike
        same = ("yes" if (each.ours or 0) > 0 else "no") if tells else ""
        longer.append(inserted(row, {("Verdict", "released"): verdict, SAME: same}))
    return longer


def lead(rows: Iterable[Mapping[str, str]], path: Path) -> str:
    """How many claims point the same way as released, and how many do in a single released seed.

    `rows` are those of a csv of claims. Empty if none can be compared.
    """
    told = [row for row in rows if row.get(", ".join(SAME))]
    if not told:
        return ""
    known = read_first(str(path))
    reproduced = [row for row in known.values() if row["Verdict"].startswith("reproduced") and row["p, family"]]
    released = [known[row["Section"], row["Claim"], row["Measure"].partition(",")[0]] for row in told]
    seeds = zip(*(re.findall(r"[+-][\d.]+", row["In favour, each seed"]) for row in released), strict=False)
    counts = sorted({sum(one[0] == "+" for one in seed) for seed in seeds})
    alone = " to ".join(map(str, counts[:1] + counts[-1:] * (len(counts) > 1)))
    same = sum(row[", ".join(SAME)] == "yes" for row in told)
    return (
        f"{same} of the {len(told)} reproduced claims that this run tests point the same way here (the replication "
        f"reproduced {len(reproduced)}). One seed of the replication alone has {alone} of these {len(told)}; a coin "
        f"would have {len(told) / 2:g} on average."
    )
