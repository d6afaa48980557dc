import numpy as np
import pytest

from transformer.length.problems import DIGITS, FIRST, PLUS, SEPARATOR, TASKS, longest_row, rows
from transformer.model.ids import END, PADDING


def problem(task, length, seed=1):
    """The question and the answer of a problem, as symbols, from the row that a decoder reads."""
    read, said = rows(task, np.random.default_rng(seed), [length], 20)
    [row], [answers] = read.tolist(), said.tolist()
    at = row.index(SEPARATOR)
    assert answers == [PADDING] * at + row[at + 1 :] + [END]
    return row[:at], row[at + 1 :]


def digits(ids):
    return [each - FIRST for each in ids]


def number(ids):
    """The value of a binary number from its digits, last digit first."""
    return sum(digit * 2**place for place, digit in enumerate(digits(ids)))


@pytest.mark.parametrize("length", [1, 2, 7])
def test_each_answer_is_right(length):
    question, answer = problem("copy-one", length)
    assert answer == question == [question[0]] * length
    question, answer = problem("copy", length)
    assert answer == question
    question, answer = problem("reverse", length)
    assert answer == question[::-1]
    question, answer = problem("sum", length)
    assert digits(answer) == [sum(digits(question)[: n + 1]) % 10 for n in range(length)]
    assert all(1 <= digit <= 9 for digit in digits(question))
    question, answer = problem("addition", length)
    assert question[length] == PLUS
    assert len(answer) == length + 1
    assert number(answer) == number(question[:length]) + number(question[length + 1 :])


@pytest.mark.parametrize("task", TASKS)
def test_problems_of_several_lengths_are_padded_to_the_longest(task):
    read, said = rows(task, np.random.default_rng(1), [5, 2, 3, 2], 20)
    assert read.shape == said.shape == (4, longest_row(task, 5))
    for row, answers in zip(read, said, strict=True):
        used = np.flatnonzero(row != PADDING)
        assert used.tolist() == list(range(len(used)))
        assert (answers == END).nonzero()[0].tolist() == [len(used) - 1]


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_gives_the_same_problems_and_another_seed_others(task):
    first, again, other = (rows(task, np.random.default_rng(seed), [6] * 9, 20)[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_problem_draws_from_all_the_symbols():
    read, _ = rows("copy", np.random.default_rng(1), [50] * 9, 12)
    assert set(np.unique(read)) == {SEPARATOR, *range(FIRST, FIRST + 12)}
    assert DIGITS == 10
    read, _ = rows("sum", np.random.default_rng(1), [50] * 9, 12)
    assert set(np.unique(read[:, :50])) == set(range(FIRST + 1, FIRST + DIGITS))
