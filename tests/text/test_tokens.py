import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import InputError
from transformer.text.tokens import Pairs, pack, read_pairs, write_pairs

PAIRS = [([5, 6, 1], [7, 1]), ([1], [8, 9, 8, 1]), ([4, 1], [5, 1])]
FILES = ("p.ids.npy", "p.offsets.npy")


def sentences(vocabulary):
    return st.lists(st.integers(1, vocabulary - 1), min_size=1, max_size=6)


def parts(pairs, vocabulary, at_once=2):
    return (pack(*zip(*pairs[i : i + at_once], strict=True), vocabulary) for i in range(0, len(pairs), at_once))


def written(folder, pairs=PAIRS, vocabulary=10, at_once=2):
    write_pairs(folder / "p", parts(pairs, vocabulary, at_once), vocabulary)
    return Pairs.read(folder / "p")


def unpadded(pairs, i):
    one, row = np.array([i]), np.array([0])
    return tuple(pairs.in_rows(one, side, row, 1, pairs.lengths[i, side])[0].tolist() for side in (0, 1))


@given(
    st.sampled_from([20, 1 << 16, 1 << 17]).flatmap(
        lambda v: st.tuples(st.just(v), st.lists(st.tuples(sentences(v), sentences(v)), min_size=1, max_size=5))
    )
)
def test_pairs_that_are_written_and_read_are_unchanged(tmp_path_factory, vocabulary_and_pairs):
    vocabulary, pairs = vocabulary_and_pairs
    for read in (written(tmp_path_factory.getbasetemp(), pairs, vocabulary), Pairs.of(parts(pairs, vocabulary))):
        assert [unpadded(read, i) for i in range(len(read))] == pairs
        assert read.lengths.tolist() == [[len(source), len(target)] for source, target in pairs]


def test_the_sentences_of_a_row_follow_each_other(tmp_path):
    pairs, which, rows = written(tmp_path), np.array([2, 0, 2]), np.array([0, 0, 2])
    assert pairs.in_rows(which, 0, rows, 3, 6).tolist() == [[4, 1, 5, 6, 1, 0], [0] * 6, [4, 1, 0, 0, 0, 0]]
    assert pairs.in_rows(which, 1, rows, 3, 4).tolist() == [[5, 1, 7, 1], [0] * 4, [5, 1, 0, 0]]


@pytest.mark.parametrize(("vocabulary", "size"), [(1 << 16, 2), ((1 << 16) + 1, 4)])
def test_an_id_takes_as_few_bytes_as_the_vocabulary_needs(tmp_path, vocabulary, size):
    assert written(tmp_path, [([vocabulary - 1, 1], [1])], vocabulary).ids.itemsize == size


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_or_cut_short_is_refused(tmp_path, name):
    written(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(InputError, match=r"p: its ids cannot be read .*; encode the corpus again"):
        Pairs.read(tmp_path / "p")
    for kept in (0, 5, 60, -1):
        path.write_bytes(whole[:kept])
        with pytest.raises(InputError, match="p: its ids cannot be read"):
            Pairs.read(tmp_path / "p")


@pytest.mark.parametrize("offsets", [[], [14], [0, 14], [1, 3, 14], [0, 15, 14], [0, 3, 15], [0, 0, 14]])
def test_ids_and_offsets_that_do_not_belong_together_are_refused(tmp_path, offsets):
    assert len(written(tmp_path).ids) == 14
    np.save(tmp_path / "p.offsets.npy", np.array(offsets, np.int64))
    with pytest.raises(InputError, match="do not belong together"):
        Pairs.read(tmp_path / "p")


def test_ids_are_read_only_with_their_own_vocabulary(tmp_path):
    write_pairs(tmp_path / "p", [pack(*zip(*PAIRS, strict=True), 10)], 10, "c0ffee")
    assert read_pairs(tmp_path / "p", 10, "c0ffee").lengths.tolist() == [[3, 2], [1, 4], [2, 2]]
    for size, digest in ((11, "c0ffee"), (10, "decaf")):
        said = f"p: encoded with 10 subwords, SHA-256 c0ffee, not with {size} subwords, SHA-256 {digest}; encode the"
        with pytest.raises(InputError, match=said):
            read_pairs(tmp_path / "p", size, digest)
    write_pairs(tmp_path / "p", [pack([[5, 10, 1]], [[7, 1]], 10)], 10, "c0ffee")
    with pytest.raises(InputError, match=r"p: damaged \(id 10 in a vocabulary of 10 subwords\); encode the corpus"):
        read_pairs(tmp_path / "p", 10, "c0ffee")
    np.save(tmp_path / "p.ids.npy", np.array(written(tmp_path).ids))
    with pytest.raises(InputError, match="p: its ids do not name their vocabulary; encode the corpus again"):
        Pairs.read(tmp_path / "p")
