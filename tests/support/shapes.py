"""Small configs."""

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.support.fields import STRICT, Config, Factor, Some, SomeKeysOf
from transformer.support.strict import added


@dataclass(frozen=True, config=STRICT)
class Circle(Config):
    has_corners: ClassVar[bool] = False

    origin: Literal["circle"]
    radius: float


@dataclass(frozen=True, config=STRICT)
class Square(Config):
    origin: Literal["square"]
    side: float


@dataclass(frozen=True, config=STRICT)
class Inner(Config):
    size: int
    ratio: Factor
    optional: Circle | None = None


@dataclass(frozen=True, config=STRICT)
class Outer(Config):
    name: str
    flag: bool
    kind: Literal["auto", "manual"]
    span: tuple[int, int]
    words: Some[str]
    inner: Inner
    shapes: dict[str, Annotated[Circle | Square, Field(discriminator="origin")]]
    rows: dict[str, Annotated[dict[str, Any], SomeKeysOf(Circle, Inner)]]
    free: dict[str, Any] = field(default_factory=dict)
    number: float = 1.0
    new: int | None = added(None, "added later")


VALUES = {
    "name": "a",
    "flag": True,
    "kind": "auto",
    "span": [1, 2],
    "words": ["x", "y"],
    "inner": {"size": 3, "ratio": "1/4"},
    "shapes": {"one": {"origin": "circle", "radius": 1}, "two": {"origin": "square", "side": 2.5}},
    "rows": {"some": {"size": 1, "optional": {"origin": "circle", "radius": 2}}, "none": {}},
}
