"""The tasks of the study of length: random questions of any length, and their answers."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from transformer.model.ids import END, PADDING

SEPARATOR, PLUS = 2, 3  # the ids after a question and between two numbers
FIRST = 4  # the id of the first symbol; the first ten symbols are also the digits
DIGITS = 10

Problems = tuple[np.ndarray, np.ndarray]  # questions and answers, one row per problem
Task = Callable[[np.random.Generator, int, int, int], Problems]


def _copy_one(generator: np.random.Generator, count: int, length: int, symbols: int) -> Problems:
    """One repeated symbol; the answer equals the question."""
    question = generator.integers(symbols, size=(count, 1)).repeat(length, 1)
    return question, question


def _copy(generator: np.random.Generator, count: int, length: int, symbols: int) -> Problems:
    """Random symbols; the answer equals the question."""
    question = generator.integers(symbols, size=(count, length))
    return question, question


def _reverse(generator: np.random.Generator, count: int, length: int, symbols: int) -> Problems:
    """Random symbols; the answer is the question reversed."""
    question = generator.integers(symbols, size=(count, length))
    return question, question[:, ::-1]


def _addition(generator: np.random.Generator, count: int, length: int, _: int) -> Problems:
    """Two binary numbers of `length` digits, last digit first. The answer is their sum, with one digit more."""
    numbers = generator.integers(2, size=(2, count, length))
    digits, carry = np.zeros((count, length + 1), int), np.zeros(count, int)
    for place in range(length):
        carry, digits[:, place] = np.divmod(numbers[:, :, place].sum(0) + carry, 2)
    digits[:, length] = carry
    plus = np.full((count, 1), PLUS - FIRST)
    return np.concatenate((numbers[0], plus, numbers[1]), 1), digits


def _sum(generator: np.random.Generator, count: int, length: int, _: int) -> Problems:
    """Digits from 1 to 9; the answer is the last digit of each running sum."""
    question = generator.integers(1, DIGITS, size=(count, length))
    return question, question.cumsum(1) % DIGITS


TASKS: dict[str, Task] = {
    "copy-one": _copy_one,
    "copy": _copy,
    "reverse": _reverse,
    "addition": _addition,
    "sum": _sum,
}


def vocabulary(symbols: int) -> int:
    """The number of ids."""
    return FIRST + max(symbols, DIGITS)


def longest_row(task: str, length: int) -> int:
    """The number of ids that a decoder reads for a problem of this length."""
    (read, _) = rows(task, np.random.default_rng(0), [length], DIGITS)
    return read.shape[1]


def rows(task: str, generator: np.random.Generator, lengths: Sequence[int], symbols: int) -> Problems:
    """One problem of each given length, as inputs [R, L] and as targets [R, L], the ids that should follow each input.

    The inputs are the question, the separator and the answer. The targets are the answer and END. The rest is PADDING.
    """
    groups = []
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        question, answer = (FIRST + part for part in TASKS[task](generator, count, length, symbols))
        separator, end = np.full((count, 1), SEPARATOR), np.full((count, 1), END)
        read = np.concatenate((question, separator, answer), 1)
        said = np.concatenate((np.full_like(question, PADDING), answer, end), 1)
        groups.append((read, said))
    longest = groups[-1][0].shape[1]  # lengths ascend
    reads, saids = zip(*groups, strict=True)
    return _stacked(reads, longest), _stacked(saids, longest)


def _stacked(parts: Iterable[np.ndarray], length: int) -> np.ndarray:
    """Rows of several lengths in one array, padded to `length`."""
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, length - part.shape[1])), constant_values=PADDING) for part in parts]
    )
