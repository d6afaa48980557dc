import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.corpora.cleaning import Cleaner, Cleaning

STRICT = Cleaning((2, 8), 2.0, "remove", "source")
TEXTS = st.text("ab \0\u00a0\u2028", max_size=12)


def clean(pairs, cleaning):
    cleaner = Cleaner(cleaning)
    return [pair for pair in pairs if cleaner.keeps(*pair)], cleaner.removed


def test_each_pair_is_counted_under_the_first_step_that_removes_it():
    pairs = [
        ("a b", "x y"),
        ("b c", "b c"),
        ("a", "x y"),
        ("a b c d e f g h i", "x y z x y z x y"),
        ("c d", "x y z x y"),
        ("a b", "z z"),
        ("d e", "x y"),
        ("e f", "x y z x"),
        ("\u2028 \u00a0", "x y"),
        ("a\0 b", "x y"),
        ("a b", "\u200b \ufeff"),
    ]
    kept, removed = clean(pairs, STRICT)
    assert kept == [pairs[0], pairs[6], pairs[7]]
    assert list(removed.items()) == [
        *[("empty side", 1), ("NUL character", 1), ("no subword", 1), ("identical sides", 1), ("words", 2)],
        *[("ratio", 1), ("duplicate source", 1)],
    ]


@given(
    st.lists(st.tuples(TEXTS, TEXTS)), st.sampled_from(["keep", "remove"]), st.sampled_from(["keep", "pair", "source"])
)
def test_a_pair_is_kept_or_counted_and_cleaning_again_removes_nothing(pairs, identical, duplicates):
    cleaning = Cleaning((1, 3), 2.0, identical, duplicates)
    kept, removed = clean(pairs, cleaning)
    assert len(kept) + sum(removed.values()) == len(pairs)
    assert clean(kept, cleaning)[0] == kept


@pytest.mark.parametrize(("duplicates", "left"), [("keep", 4), ("pair", 3), ("source", 2)])
def test_the_config_says_what_counts_as_a_duplicate(duplicates, left):
    pairs = [("a", "x"), ("a", "y"), ("a", "x"), ("b", "x")]
    kept, removed = clean(pairs, Cleaning(duplicates=duplicates))
    assert len(kept) == left
    assert removed.get(f"duplicate {duplicates}", 0) == 4 - left


def test_characters_tell_the_words_of_a_script_without_blanks():
    long, chinese = (
        "the old dog sees a small house near the green river and walks",
        "旧的狗看见小的房子在绿色的河附近，走。",
    )
    kept, _ = clean([(long, chinese), (chinese, long), (long, "狗")], Cleaning(ratio=2))
    assert kept == [(long, chinese), (chinese, long)]
    assert clean([("a b", chinese * 20)], Cleaning(ratio=200))[1]["words"] == 0
    assert clean([("a b", chinese * 40)], Cleaning(ratio=200))[1]["words"] == 1


@pytest.mark.parametrize(
    ("cleaning", "pairs", "said"),
    [
        (
            Cleaning(ratio=3, identical="remove"),
            [("a b", "x y")] * 7 + [("c d e f", "z")] * 11 + [("x", "x")] * 2,
            "11 of 20 pairs of train (55%) are removed by cleaning for `ratio`; if they are good, change `cleaning`",
        ),
        (
            Cleaning(ratio=99),
            [("a b c", "x y z")] * 97 + [("狗" * 202, "y"), ("w " * 101, "z"), ("a", "b " * 101)],
            "3 of 100 pairs of train (3%) have a side of more than 100 words, so lines may be paragraphs; put one",
        ),
        (
            Cleaning(),
            [("same", "same")] * 91 + [("en", "de")] * 9,
            "91 of 100 pairs of train (91%) have two equal",
        ),
        (Cleaning(), [("same", "same")] * 90 + [("en", "de")] * 10, ""),
    ],
)
def test_a_text_with_many_odd_pairs_is_told_with_a_remedy(capsys, cleaning, pairs, said):
    cleaner = Cleaner(cleaning)
    for pair in pairs:
        cleaner.keeps(*pair)
    cleaner.warn("own")
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == bool(said)
    assert "".join(warnings).startswith(said and f"warning: own: {said}")
