import json
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.corpora.moses import MosesFiles, moses_lowercase
from transformer.corpora.parts import PARTS, Given, write_whole
from transformer.support.files import InputError, read_lines
from transformer.support.strict import ConfigError, load

LANGUAGES = {"name": "own", "source": "en", "target": "de"}


@pytest.fixture
def own(tmp_path):
    """A corpus with a further test set. Each part has two pairs: 3 and 4 English tokens, 3 and 2 German ones.

    Train shares one of its pairs with the others, which are equal.
    """
    texts = {}
    for part in (*PARTS, "newer"):
        texts[part] = ({language: str(tmp_path / f"{part}.{language}") for language in ("en", "de")},)
        for path, text in zip(texts[part][0].values(), ("A dog.\nIt's red.\n", "Ein Hund.\nZ.B. Rot\n"), strict=True):
            Path(path).write_text(text.replace("Hund", "Tier") if part == "train" else text)
    return MosesFiles(origin="moses-lowercase", tests={"newer": texts.pop("newer")}, **texts)


@pytest.fixture
def write(tmp_path):
    given = Given(Path("corpus.yaml"), tmp_path / "downloads")
    return lambda corpus, **names: write_whole(corpus, tmp_path / "own", given, **LANGUAGES | names)


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("en", "Two men's dogs", "two men &apos;s dogs"),
        ("en", "He said “stop” …", "he said &quot; stop &quot; ..."),
        ("de", "„Halt“ & weiter , 1,5 km", "&quot; halt &quot; &amp; weiter , 1,5 km"),
        ("fr", "L'Homme est là .", "l&apos; homme est là ."),
        ("French", "L'Homme est là .", "l&apos; homme est là ."),
        ("de", "Ein T-Shirt", "ein t-shirt"),
        ("de", "Er hat einen Bart.", "er hat einen bart ."),  # Moses takes `Bart.` for an abbreviation, but not `bart.`
    ],
)
def test_text_is_lower_cased_normalised_and_tokenised(language, line, tokens):
    assert moses_lowercase(language)(line) == tokens


def test_every_part_and_further_test_set_is_tokenised(tmp_path, own, write):
    write(own)
    for part in (*PARTS, "newer"):
        assert read_lines(tmp_path / f"own/{part}.source") == ["a dog .", "it &apos;s red ."]
        assert read_lines(tmp_path / f"own/{part}.target") == [
            f"ein {'tier' if part == 'train' else 'hund'} .",
            "z.b. rot",
        ]
    record = json.loads((tmp_path / "own/corpus.json").read_text())
    assert record["pairs"] == {"train": 2, "dev": 2, "test": 2, "newer": 2}
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == [
        "corpus.json",
        *sorted(f"{part}.{side}" for part in (*PARTS, "newer") for side in ("source", "target")),
    ]


def test_a_text_with_another_number_of_tokens_is_refused_and_nothing_is_left(tmp_path, own, write):
    write(replace(own, tokens={"test": {"en": 7, "de": 5}, "newer": {"de": 5}}))
    for path in (tmp_path / "own").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"^corpora\.own\.tokens\.newer\.de: the text has 5 tokens, not 6; use"):
        write(replace(own, tokens={"newer": {"de": 6}}))
    assert not list((tmp_path / "own").iterdir())


def test_a_further_test_set_is_among_the_files_and_bad_text_in_it_is_named(own, write):
    assert own.files("own", "en", "de")[-2:] == list(own.tests["newer"][0].values())
    lacking = replace(own, **{part: ({**getattr(own, part)[0], "fr": "x.fr"},) for part in PARTS})
    with pytest.raises(InputError, match=r"corpora\.own\.tests\.newer\[0\]: unknown language fr; known: en, de"):
        lacking.files("own", "en", "fr")
    Path(own.tests["newer"][0]["de"]).write_text("x\n\n")
    with pytest.raises(InputError, match=r"newer\.en and .*newer\.de, line 2: empty side; correct or remove this pair"):
        write(own)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(
            ({"tests": {name: [{"en": "x.en"}]}}, f"tests.{name}: cannot name a further test set; write a name such as")
            for name in ("test", "longer", "plain", "2017", "Newer", "über")
        ),
        ({"tests": {"newer": [{"en": "x"}]}, "tokens": {"newr": {"de": 1}}}, "tokens.newr: unknown part newr; did you"),
        ({"tokens": {"dev": {"fr": 2}}}, "tokens.dev.fr: unknown language fr; known: en, de"),
    ],
)
def test_impossible_values_are_reported(changes, said):
    text = [{"en": "x.en", "de": "x.de"}]
    values = {"origin": "moses-lowercase", "train": text, "dev": text, "test": text}
    with pytest.raises(ConfigError) as caught:
        load(MosesFiles, values | changes, "own")
    assert [str(fault)[: len(said)] for fault in caught.value.faults] == [said]
