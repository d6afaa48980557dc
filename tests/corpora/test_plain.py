from pathlib import Path

import pytest

from transformer.corpora.plain import plain_sentences, tokenise
from transformer.support.files import InputError


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('"It isn\'t," he said (twice).', "`` It is n't , '' he said -LRB- twice -RRB- ."),
        ("It’s “good” – 1/2 of it…", "It 's `` good '' -- 1\\/2 of it ..."),
        ("Mr. Vinken's U.S. firm costs $3.50 [sic]!", "Mr. Vinken 's U.S. firm costs $ 3.50 -LSB- sic -RSB- !"),
        ("a\N{NO-BREAK SPACE}naïve*", "a naïve\\*"),
    ],
)
def test_plain_text_is_tokenised_like_the_treebank(line, sentence):
    assert " ".join(tokenise(line)) == sentence


@pytest.fixture
def text(tmp_path: Path):
    def write(lines):
        (tmp_path / "train.source").write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / "train.source"

    return write


LINES = [f"Sentence {number} isn't long." for number in range(200)]


def test_drawn_sentences_are_different_and_have_the_given_lengths(text):
    path = text(["Too short.", "This one (here) has too many words.", ""] * 50 + LINES * 3)
    drawn = plain_sentences(path, 200, (6, 6), 1)
    assert sorted(drawn) == sorted(f"Sentence {number} is n't long ." for number in range(200))
    with pytest.raises(InputError, match=r"train\.source: only 200 different sentences of 6 to 6 words, not 201"):
        plain_sentences(path, 201, (6, 6), 1)


def test_lines_that_a_model_cannot_read_are_left_out_and_counted(text, capsys):
    path = text(["\u200b", "a \0 cat", "", "\u2581\ufffd", "a dog"])
    assert plain_sentences(path, 1, (1, 9), 1) == ["a dog"]
    said = [f"{path}: 2 lines are left out (no subword)", f"{path}: 1 lines are left out (NUL character)"]
    assert capsys.readouterr().err.splitlines() == said


def test_the_draw_depends_on_the_seed_but_not_on_order_or_repetition(text):
    drawn = plain_sentences(text(LINES), 20, (1, 9), 1)
    assert plain_sentences(text([*reversed(LINES), *LINES[:50]]), 20, (1, 9), 1) == drawn
    assert plain_sentences(text(LINES), 20, (1, 9), 2) != drawn
    assert [line.split()[1] for line in drawn[:3]] == ["40", "177", "92"]  # in all versions
