import pytest

from transformer.decoding.record import in_words

RECORD = {"beam": 4, "alpha": 0.6, "extra": 50, "sample": None, "precision": "float32"}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (RECORD, "beam 4, length penalty 0.6"),
        (RECORD | {"precision": "int8"}, "beam 4, length penalty 0.6, int8"),
        (RECORD | {"precision": "int8", "engine": "ctranslate2"}, "beam 4, length penalty 0.6, int8, ctranslate2"),
        (RECORD | {"engine": "pytorch", "early_stop": False}, "beam 4, length penalty 0.6"),
        (RECORD | {"precision": "int8", "early_stop": True}, "beam 4, length penalty 0.6, int8, early stop"),
        (RECORD | {"sample": 0}, "drawn with seed 0"),
    ],
)
def test_a_record_is_described_in_words(record, words):
    assert in_words(record) == words
