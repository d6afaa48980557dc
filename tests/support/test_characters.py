import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.characters import is_void, lacks_blanks
from transformer.text.subwords import Subwords

LEFT_OUT = "\u200b\u200c\u200e\u200f\u2581\ufeff\x07\x7f\ufffd\u00a0\u3000\u2028\t"


@pytest.mark.parametrize("line", ["", " ", *LEFT_OUT, LEFT_OUT])
def test_a_line_of_which_no_subword_is_left_is_void(line):
    assert is_void(line)
    assert not is_void(f"{line}ä")


@given(st.text(st.characters(codec="utf-8") | st.sampled_from(LEFT_OUT), max_size=8))
def test_a_line_is_void_exactly_if_a_vocabulary_finds_no_subword_in_it(subwords, line):
    assert is_void(line) == (len(Subwords(subwords).encode([line])[0]) == 1)


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        *[("旧的画下面房子。", True), ("旧 的 画 下面 房子 。", False), ("旧的画下面房子旧的画下面房子 abc def", True)],
        *[("วันนี้ฉันไปโรงเรียน", True), ("วันนี้ ฉัน ไป โรงเรียน", False), ("ខ្ញុំទៅសាលារៀន", True), ("ຂ້ອຍໄປໂຮງຮຽນ", True)],
        *[("ကျွန်တော်ကျောင်းသွားတယ်", True), ("コミュニケーション です か", False), ("今日は学校に行きました。", True)],
        *[("안녕하세요 여러분", False), ("the old house", False), ("house", False), ("", False), ("狗", False)],
    ],
)
def test_text_without_blanks_between_words_is_told_from_separated_words(line, lacking):
    assert lacks_blanks(line) == lacking
