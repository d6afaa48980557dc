import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.characters import is_void
from transformer.text.subwords import Subwords

LEFT_OUT = "\u200b\u200c\u200e\u200f\u2581\ufeff\x07\x7f\ufffd\u00a0\u3000\u2028\t"


@pytest.mark.parametrize("line", ["", " ", *LEFT_OUT, LEFT_OUT])
def test_a_line_of_which_no_subword_is_left_is_void(line):
    assert is_void(line)
    assert not is_void(f"{line}ä")


@given(st.text(st.characters() | st.sampled_from(LEFT_OUT), max_size=8))
def test_a_line_is_void_exactly_if_a_vocabulary_finds_no_subword_in_it(subwords, line):
    assert is_void(line) == (len(Subwords(subwords).encode([line])[0]) == 1)
