"""Whether a line may be used: the one place that says so, for corpora and for what models read (`text.lines`)."""

from transformer.model.ids import LONGEST
from transformer.support.characters import is_void

EMPTY, NUL, NO_SUBWORD = UNUSABLE = ("empty side", "NUL character", "no subword")


def unusable(*sides: str) -> str:
    """Why no model can learn from a line, or from the sides of a pair: one of UNUSABLE. Empty if one can."""
    if not all(side.strip() for side in sides):
        return EMPTY
    if any("\0" in side for side in sides):
        return NUL
    return NO_SUBWORD if any(map(is_void, sides)) else ""


def undecodable(*sides: str) -> str:
    """Why no model can decode or score a pair; empty if one can. A word has at least one subword."""
    too_long = any(len(side.split()) > LONGEST for side in sides)
    return unusable(*sides) or (f"more than {LONGEST} words on a side" if too_long else "")
