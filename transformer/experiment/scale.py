"""The scale of an experiment, which shrinks every model in the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from transformer.support.strict import not_positive

WIDTHS = ("d_model", "d_ff", "d_k", "d_v", "d_pk", "d_pv", "n_p")


@dataclass(frozen=True)
class Scale:
    """The factors by which models are shrunk: width for d_model, d_ff, d_k, d_v and the appendix's sizes, depth for N.

    N is rounded, to at least 1. Scaled widths have to be whole numbers.
    """

    width: Fraction
    depth: Fraction

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        return not_positive(self, "width", "depth")

    def shrunk(
        self, values: Mapping[str, Any], where: str, faults: list[str], written: dict[str, str]
    ) -> dict[str, Any]:
        """The values at this scale. Adds faults to `faults`.

        For each value that changes, `written` maps the start of a possible fault to the value in the config.
        """
        scaled = dict(values)
        for key, value in values.items():
            if isinstance(value, Mapping):
                scaled[key] = self.shrunk(value, f"{where}.{key}", faults, written)
                continue
            if key == "N" and type(value) is int and value > 0:
                size, by = Fraction(max(1, round(value * self.depth))), f"depth {self.depth}, rounded"
            elif key in WIDTHS and type(value) is int:
                size, by = value * self.width, f"width {self.width}"
            else:
                continue
            if size.denominator > 1:
                faults.append(f"{where}.{key}: {value} x {by} is {size}, not a whole number; change scale.width")
            elif size != value:
                scaled[key] = int(size)
                written[f"{where}.{key}: {size} "] = f"({value} x scale.{by}) "
        return scaled
