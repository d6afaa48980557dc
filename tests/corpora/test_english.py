from transformer.corpora.english import WORDS


def test_words_are_inflected():
    words = {symbol: words for symbol, (_, words) in WORDS.items()}
    assert {"men", "cities", "watches", "keys", "boxes", "dogs"} <= set(words["N/p"])
    assert {"carries", "watches", "sees", "buys"} <= set(words["V.t/s"])
    assert {"carried", "watched", "saw", "loved"} <= set(words["V.t/ds"])
    assert {"carrying", "watching", "seeing", "writing"} <= set(words["V.t/g"])
    assert {"goes", "plays", "cries"} <= set(words["V.i/s"])
