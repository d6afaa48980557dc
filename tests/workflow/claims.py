"""Claims for tests of what is computed from them."""

from workflow.experiment.claims import Claim
from workflow.results.claims.plan import Planned

KNOWN = {"claim": "One head is worse", "section": "6.2 A", "group": "printed", "metric": "bleu", "part": "dev"}


def planned(*rows, name="one", scores=(), beside=(), **changes):
    """A claim about rows, and the files that decide it; by default a claim of the paper in BLEU on dev."""
    claim = Claim(**{**KNOWN, "rows": tuple(row if "/" in row else f"ende/{row}" for row in rows), **changes})
    return Planned(name, claim, list(scores), list(beside), widths=[8])
