"""What configs are declared with: the types and ranges of their fields, and checks of fields that must fit together.

A config is a frozen dataclass of pydantic with the settings STRICT. A field has its type, range, default and meaning.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from types import FunctionType
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from transformer.support.faults import shown, shown_twice
from transformer.support.strict import GREATEST_ALPHA, GREATEST_SEED
from transformer.support.yaml_words import ONLY_TEXT_IN_1_1

T = TypeVar("T")
# (key, keys that lead to a value, or a list of such that do not fit together; what is wrong)
Faults = Iterator[tuple[str | tuple[str, ...] | list[Any], str]]
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
    if twice := shown_twice(values):
        raise ValueError(twice)
    return values


def _ascending(values: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= values[0] <= values[1]:
        raise ValueError(f"{list(values)} is not a range; write [least, most], from 1 upwards")
    return values


def _possible(value: int) -> int:
    if value > MOST:
        raise ValueError(f"{value} is more than any machine can do; write at most {MOST:,}")
    return value


def _exact(value: Any) -> Fraction:
    """The exact fraction that is written: 0.1 is 1/10. Python would also read 1_0/4, and spell out 1e-999999999."""
    written = str(value)
    if isinstance(value, int | float | str | Fraction) and not isinstance(value, bool):
        with suppress(ValueError, ZeroDivisionError):
            if written.isascii() and not re.search("_|[eE].{4}", written):
                return Fraction(written)
    raise ValueError(f"{shown(value)} is not a number or a fraction such as 1/4")


def _number(value: Any) -> Any:
    """1e-9 as a number, which PyYAML reads as a text, and 0 for -0.0."""
    if isinstance(value, str) and ONLY_TEXT_IN_1_1.fullmatch(value):
        value = number if math.isfinite(number := float(value)) else value
    return value + 0.0 if isinstance(value, float) else value


Positive = Annotated[int, Field(ge=1), AfterValidator(_possible)]
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


class SomeKeysOf:
    """The annotation of a mapping that has some of the fields of these configs. The mapping stays as it is written."""

    def __init__(self, *configs: Any):
        self.configs = configs

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        some = {}
        for name, field in (item for each in self.configs for item in each.__pydantic_fields__.items()):
            hint: Any = Annotated[field.annotation, *field.metadata, Field(description=field.description)]
            some[name] = core_schema.typed_dict_field(handler.generate_schema(hint), required=False)

        def unchanged(value: Any, check: Callable[[Any], Any]) -> Any:
            check(value)
            return value

        strict = core_schema.CoreConfig(strict=True, extra_fields_behavior="forbid", allow_inf_nan=False)
        some_keys = core_schema.typed_dict_schema(some, config=strict)
        read = core_schema.no_info_wrap_validator_function(unchanged, some_keys)
        return core_schema.json_or_python_schema(read, core_schema.dict_schema())


def check(*fields: str) -> Callable[[Check], Check]:
    """Marks a method of a `Config` that yields the faults of these fields together.

    It is called if each of them is valid by itself. Of other fields, it sees only those before the last of them.
    """

    def mark(function: Check) -> Check:
        function.together = frozenset(fields)  # type: ignore[attr-defined]
        return function

    return mark


class Config:
    """The base of configs. It makes their checks a part of validation."""

    @field_validator("*")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> Any:
        known = info.data | {str(info.field_name): value}
        refuse(_faults(cls, known, str(info.field_name)))
        return value


def refuse(faults: Faults) -> None:
    """Raises, in the validator of a field, the faults of the config that has the field, if there are any."""
    details: list[Any] = []
    for key, text in faults:
        keys = [each if isinstance(each, tuple) else (each,) for each in (key if isinstance(key, list) else [key])]
        details.append({"type": PydanticCustomError("fault", "{text}", {"text": text, "keys": keys}), "input": None})
    if details:
        raise ValidationError.from_exception_data("config", details)


@cache
def _checks(cls: type) -> list[Any]:
    functions = (each for base in cls.__mro__ for each in vars(base).values() if isinstance(each, FunctionType))
    return [each for each in functions if hasattr(each, "together")]


def _faults(cls: type, known: Mapping[str, Any], last: str) -> Faults:
    """The faults of the checks for which `last` was the last field that was not known."""
    for each in _checks(cls):
        if last in each.together and each.together <= known.keys():
            part: Any = object.__new__(cls)
            part.__dict__.update(known)
            yield from each(part)
