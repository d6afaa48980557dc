"""What configs are declared with: the types and ranges of their fields, and checks of fields that must fit together.

A config is a frozen dataclass of pydantic with the settings STRICT. A field has its type, range, default and meaning.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from transformer.support.faults import shown
from transformer.support.strict import GREATEST_ALPHA, GREATEST_SEED

T = TypeVar("T")
# (key, keys that lead to a value, or a list of such that do not fit together; what is wrong)
Faults = Iterator[tuple[str | tuple[str | int, ...] | list[Any], str]]
Check = Callable[[Any], Faults]

MOST = 10**12  # of whatever is counted; products of a few such numbers are still finite floats

STRICT = ConfigDict(
    strict=True,  # true is not 1, and "5" is not 5
    extra="forbid",
    allow_inf_nan=False,
    defer_build=True,  # most processes use few of the configs that they import
    validate_default=True,
)


def _distinct(values: Sequence[T]) -> Sequence[T]:
    if twice := [value for place, value in enumerate(values) if value in values[:place]]:
        raise ValueError(f"{twice[0]} comes twice; name it once")
    return values


def _ascending(values: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= values[0] <= values[1]:
        raise ValueError(f"{list(values)} is not a range; write [least, most], from 1 upwards")
    return values


def _exact(value: Any) -> Fraction:
    """The exact fraction that is written: 0.1 is 1/10."""
    if not re.fullmatch(r"-?\d+(/[1-9]\d*|(\.\d+)?(e-?\d{1,3})?)", str(value), re.ASCII):
        raise ValueError(f"{shown(value)} is not a number or a fraction such as 1/4")
    return Fraction(str(value))


def _number(value: Any) -> Any:
    """1e-9 as a number, which PyYAML reads as a text."""
    written = isinstance(value, str) and re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+", value)
    return float(value) if written else value


Positive = Annotated[int, Field(ge=1, le=MOST)]
AS_NUMBER = BeforeValidator(_number)  # it stands last, or else the JSON Schema loses the range
PositiveNumber = Annotated[float, Field(gt=0), AS_NUMBER]
Probability = Annotated[float, Field(ge=0, lt=1), AS_NUMBER]
Share = Annotated[float, Field(gt=0, le=1), AS_NUMBER]
Alpha = Annotated[float, Field(ge=0, le=GREATEST_ALPHA), AS_NUMBER]
Seed = Annotated[int, Field(ge=0, le=GREATEST_SEED)]
Factor = Annotated[Fraction, BeforeValidator(_exact), Field(gt=0)]
Range = Annotated[tuple[int, int], AfterValidator(_ascending)]
Distinct = Annotated[tuple[T, ...], AfterValidator(_distinct)]
Some = Annotated[tuple[T, ...], Field(min_length=1)]
SomeDistinct = Annotated[tuple[T, ...], Field(min_length=1), AfterValidator(_distinct)]


def some_keys_of(*configs: Any) -> GetPydanticSchema:
    """The annotation of a mapping that has some of the fields of these configs. The mapping stays as it is written."""

    def unchanged(value: Any, check: Callable[[Any], Any], info: ValidationInfo) -> Any:
        if info.mode == "json":  # dataclasses.replace gives it as it is
            check(value)
        return value

    fields = [item for each in configs for item in each.__pydantic_fields__.items()]
    hints = {
        name: Annotated[field.annotation, *field.metadata, Field(description=field.description)]
        for name, field in fields
    }
    some = TypedDict("Row", hints, total=False)  # type: ignore[misc]
    some.__pydantic_config__ = STRICT  # type: ignore[attr-defined]
    return GetPydanticSchema(lambda _, handler: handler(Annotated[some, WrapValidator(unchanged)]))


def check(function: Check) -> Check:
    """Marks a method of a `Config` that yields the faults of fields together, each of which is valid by itself.

    The methods run in their order, up to the first that finds a fault.
    """
    function.together = True  # type: ignore[attr-defined]
    return function


class Config:
    """The base of configs. It makes their checks a part of validation."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        values = [each for base in reversed(type(self).__mro__) for each in vars(base).values()]
        for function in (each for each in values if hasattr(each, "together")):
            if found := [*function(self)]:
                raise ValidationError.from_exception_data("config", [_error(*fault) for fault in found])
        return self


def _error(key: str | tuple[str | int, ...] | list[Any], text: str) -> Any:
    keys = [each if isinstance(each, tuple) else (each,) for each in (key if isinstance(key, list) else [key])]
    return {"type": PydanticCustomError("fault", "{text}", {"text": text, "keys": keys}), "loc": keys[0], "input": None}
