"""The scale of an experiment, which shrinks every model in the same way."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.support.faults import Keys
from transformer.support.fields import STRICT, Config, Factor

WIDTHS = ("d_model", "d_ff", "d_k", "d_v", "d_pk", "d_pv", "n_p")


@dataclass(frozen=True, config=STRICT)
class Scale(Config):
    """The factors by which models are shrunk. Scaled widths have to be whole numbers."""

    width: Factor = Field(description="factor of d_model, d_ff, d_k, d_v and the appendix's n_p, d_pk, d_pv")
    depth: Factor = Field(description="factor of N, which is then rounded, to at least 1")

    def shrunk(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Keys, str]]:
        """The values at this scale, and what is wrong with those that do not become whole numbers, by their keys."""
        scaled = dict(values)
        faults: dict[Keys, str] = {}
        for key, value in values.items():
            if isinstance(value, Mapping):
                scaled[key], inner = self.shrunk(value)
                faults |= {(key, *keys): text for keys, text in inner.items()}
            elif key == "N":
                scaled[key] = max(1, round(value * self.depth))
            elif key in WIDTHS and (size := value * self.width).denominator > 1:
                below = value - value % self.width.denominator
                near = " or ".join(str(each) for each in (below, below + self.width.denominator) if each)
                text = f"{value} x width {self.width} is {size}, not a whole number; write {near}"
                faults[(key,)] = f"{text}, or change scale.width"
            elif key in WIDTHS:
                scaled[key] = int(size)
        return scaled, faults
