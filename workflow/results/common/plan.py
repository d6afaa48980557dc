"""What a result is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Run = tuple[str, str]  # task, model


@dataclass(frozen=True)
class Plan:
    """The inputs and the parameters of a rule: name -> files, name -> value."""

    input: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def reading(self, **more: Any) -> "Plan":
        """The plan with more inputs."""
        return Plan({**self.input, **more}, self.params)
