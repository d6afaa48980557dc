"""The scale of an experiment, which shrinks every model in the same way."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.support.faults import Fault, Keys
from transformer.support.fields import STRICT, Config, Factor

WIDTHS = ("d_model", "d_ff", "d_k", "d_v", "d_pk", "d_pv", "n_p")


@dataclass(frozen=True, config=STRICT)
class Scale(Config):
    """The factors by which models are shrunk. Scaled widths have to be whole numbers."""

    width: Factor = Field(description="factor of d_model, d_ff, d_k, d_v and the appendix's n_p, d_pk, d_pv")
    depth: Factor = Field(description="factor of N, which is then rounded, to at least 1")

    def shrunk(
        self, values: Mapping[str, Any], keys: Keys, faults: list[Fault], written: dict[Keys, tuple[str, str]]
    ) -> dict[str, Any]:
        """The values at this scale. `keys` lead to them in the config. Adds faults to `faults`.

        For each value that changes, `written` has its keys, and the new value with how it follows from the config's.
        """
        scaled = dict(values)
        for key, value in values.items():
            place = (*keys, key)
            if isinstance(value, Mapping):
                scaled[key] = self.shrunk(value, place, faults, written)
                continue
            if key == "N":
                size, by = Fraction(max(1, round(value * self.depth))), f"depth {self.depth}, rounded"
            elif key in WIDTHS:
                size, by = value * self.width, f"width {self.width}"
            else:
                continue
            if size.denominator > 1:
                step = self.width.denominator
                near = " or ".join(str(size * step) for size in (value // step, value // step + 1) if size)
                text = f"{value} x {by} is {size}, not a whole number; write {near}, or change scale.width"
                faults.append(Fault(place, text))
            elif size != value:
                scaled[key] = int(size)
                written[place] = str(size), f"{value} x scale.{by}"
        return scaled


def in_row(fault: Fault, place: Keys, written: Mapping[Keys, tuple[str, str]]) -> Fault:
    """A fault of a run's config as one of its row, to which `place` leads.

    `written` is that of `Scale.shrunk`; if the size at fault is in it, the text says how it was scaled.
    """
    keys, text = (*place, *fault.keys[1:]), fault.text
    size, how = written.get(keys, ("", ""))
    if how and text.startswith(f"{size} "):
        text = f"{size} ({how}){text.removeprefix(size)}"
    return fault._replace(keys=keys, text=text, others=tuple((*place, *each[1:]) for each in fault.others))
