import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.scripts import count_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("the dog sees a house .", 6),
        ("der Hund – er sieht’s", 5),
        ("개가 작은 집을 본다", 4),  # Korean has blanks
        ("旧的狗看见小的房子在绿色的河附近。", 8),
        ("旧 的 狗 看见 小 的 房子", 7),  # somebody has separated the words
        ("犬は緑の川のそばの小さな家を見る。", 8),
        ("我用 Python 编程", 3),
        ("สุนัขเห็นบ้านหลังเล็กใกล้แม่น้ำ", 7),
        ("", 0),
        ("……", 1),
    ],
)
def test_words_are_counted_by_blanks_or_by_characters(line, words):
    assert count_words(line) == words


@given(st.text("ab 狗な ก.。", max_size=20))
def test_no_line_has_fewer_words_than_blanks_separate_or_more_than_letters_and_these(line):
    assert len(line.split()) <= count_words(line) <= max(len(line.split()), len(line))
