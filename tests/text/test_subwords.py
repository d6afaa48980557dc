import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.model.ids import END, PADDING, UNKNOWN
from transformer.support.files import InputError
from transformer.text.subwords import LONGEST_LEARNT, Sample, Subwords, encode_pairs, learn, sampled
from transformer.text.tokens import Pairs
from transformer.trees.symbols import split_words

WORDS = ["the", "to", "open", "opens", "file", "files", "document", "größe", "straße", "élan", "über", "naïve"]
WORDS += list("12345.,()")
TEXT = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 9)) for i in range(1, 200)]
SYMBOLS = [f"\u2581{symbol}" for symbol in ("(S", ")S", "(NP", ")NP", "XX")]
SIZE = 120


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("subwords") / "vocabulary.model"
    learn([*TEXT, "(S (NP XX XX )NP XX )S"], SIZE, path, SYMBOLS)
    return path


@pytest.fixture(scope="module")
def subwords(path):
    return Subwords(path)


def test_the_vocabulary_has_the_requested_size_and_padding_end_and_unknown_have_their_ids(subwords):
    assert len(subwords) == SIZE
    assert max(max(ids) for ids in subwords.encode(TEXT)) < SIZE
    pieces = [subwords.processor.id_to_piece(i) for i in (PADDING, END, UNKNOWN)]
    assert pieces == ["<pad>", "</s>", "<unk>"]
    assert subwords.encode([""]) == [[END]]
    assert subwords.encode(["the \u4e2d"])[0][-2:] == [UNKNOWN, END]


@given(st.lists(st.lists(st.sampled_from(WORDS) | st.text("eghiloprstß.,()1", min_size=1), min_size=1).map(" ".join)))
def test_text_of_known_characters_is_unchanged_by_encoding_and_decoding(subwords, lines):
    encoded = subwords.encode(lines)
    assert all(ids[-1] == END and not {PADDING, END, UNKNOWN} & set(ids[:-1]) for ids in encoded)
    assert subwords.decode([ids[:-1] for ids in encoded]) == lines


ODD = "ab \u200b\u00a0\u00b4\u00a8\u00bd\u2026\ufdfa\u0301\ufeff\u1112\u1161\u11ab\u2028\x01\ufffd\u2581\u3099("


@given(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["C"]), max_size=20).map(split_words))
def test_the_subwords_of_a_line_are_those_of_each_of_its_words(subwords, words):
    places = subwords.words_of_pieces(words)
    pieces = subwords.pieces(" ".join(words))
    assert places == sorted(places)
    grouped = [[piece for piece, place in zip(pieces, places, strict=True) if place == i] for i in range(len(words))]
    assert list(map("".join, grouped)) == ["".join(subwords.pieces(word)) for word in words]


def test_each_symbol_is_one_subword(subwords):
    line = "(S (NP XX XX )NP XX )S"
    assert subwords.pieces(line) == [f"\u2581{symbol}" for symbol in line.split()]
    assert subwords.decode([ids[:-1] for ids in subwords.encode([line])]) == [line]


@pytest.mark.parametrize(
    ("text", "size", "said"),
    [
        (["a b", "b a"], 100, "cannot be learnt from this text (it gives at most 8); write 8 or less as `vocabulary`"),
        (["abc"], 5, "cannot be learnt from this text (its characters alone are 7); write 7 or more as `vocabulary`"),
        ([], 100, "(it has too little text)"),
        (["", " "], 100, "(it has too little text)"),
    ],
)
def test_a_text_that_does_not_fit_the_size_is_refused(tmp_path, text, size, said):
    with pytest.raises(InputError) as error:
        learn(text, size, tmp_path / "x.model")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_lines_that_are_too_long_to_learn_from_are_counted(tmp_path, capsys):
    long = "ჟ" * (LONGEST_LEARNT // 3 + 1)
    learn([*TEXT, long], SIZE, tmp_path / "x.model", SYMBOLS)
    assert "x.model: 1 lines of more than 4,192 bytes were not learnt from" in capsys.readouterr().err
    learn([*TEXT, "ჟ" * (LONGEST_LEARNT // 3)], SIZE, tmp_path / "y.model", SYMBOLS)
    assert not capsys.readouterr().err
    known = [Subwords(tmp_path / name).encode(["ჟ"])[0] for name in ("x.model", "y.model")]
    assert [UNKNOWN in ids for ids in known] == [True, False]
    with pytest.raises(InputError, match=r"\(it has too little text; 2 lines of more than 4,192 bytes are left out\)"):
        learn([long, long], SIZE, tmp_path / "z.model")


@pytest.mark.parametrize("content", [None, b"", b"no model", 100, -1])
def test_a_damaged_vocabulary_is_refused(path, tmp_path, content):
    other = tmp_path / "x.model"
    if content is not None:
        other.write_bytes(path.read_bytes()[:content] if isinstance(content, int) else content)
    with pytest.raises(InputError, match=r"x\.model: (not a SentencePiece model|no such vocabulary)"):
        Subwords(other)


@pytest.fixture
def files(tmp_path):
    """Fifty pairs as two files."""
    paths = tmp_path / "train.source", tmp_path / "train.target"
    for path, lines in zip(paths, (TEXT[:50], TEXT[50:100]), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths


def test_a_small_text_is_used_completely_and_a_large_one_is_sampled_by_seed(files):
    for path, sign in zip(files, "-+", strict=True):
        path.write_text("".join(f"{sign}{i}\n" for i in range(50)))
    assert list(map(int, sampled(*files, Sample(50, 1)))) == [*range(0, -50, -1), *range(50)]
    drawn = list(map(int, sampled(*files, Sample(20, 1))))
    assert drawn[20:] == [-i for i in drawn[:20]] == sorted(set(drawn[20:]))
    assert drawn == list(map(int, sampled(*files, Sample(20, 1))))
    assert drawn != list(map(int, sampled(*files, Sample(20, 2))))


def side_of(pairs, side):
    """The ids of all sources (0) or targets (1)."""
    ids = np.split(pairs.ids, pairs.offsets[1:-1])
    return [sentence.tolist() for sentence in ids[side::2]]


@pytest.mark.parametrize("processes", [1, 2])
def test_pairs_are_encoded_in_order_by_any_number_of_processes(path, subwords, files, processes):
    """A process encodes 4,096 pairs at a time."""
    sides = [[TEXT[(side + i) % len(TEXT)] for i in range(9000)] for side in (0, 1)]
    for file, lines in zip(files, sides, strict=True):
        file.write_text("\n".join(lines))
    pairs = Pairs.of(encode_pairs(*files, path, processes))
    assert [side_of(pairs, side) for side in (0, 1)] == [subwords.encode(lines) for lines in sides]
