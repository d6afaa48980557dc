import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from transformer.corpora import grammar
from transformer.corpora.grammar import Grammar, Sizes, english, generate
from transformer.corpora.parts import Given
from transformer.support.files import InputError, read_lines
from transformer.trees.linear import linearise
from transformer.trees.penn import read_trees
from transformer.trees.tree import words

SMALL = Grammar("grammar", "generated English", "Apache-2.0", Sizes(60, 20, 20, 30), (4, 12), 1)


def write(folder, corpus=SMALL):
    corpus.write(folder, Given(Path("corpus.yaml"), folder), name="wsj", source="words", target="trees")
    return folder


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("rules.yaml", "VP/b .: 2", "VP/x .: 2", "rules.S/root.VP/x .: 'VP/x' never becomes words"),
        ("words.yaml", "RP: up out down off back over", "RP: ''", "rules.PRT.RP: 'RP' never becomes words"),
        ("words.yaml", "  see: sees saw seeing seen\n", "", "frames.V.t: no forms of see"),
        ("words.yaml", "\nframes:", "\nframe:", "unknown key frame; did you mean frames?"),
    ],
)
def test_a_grammar_that_cannot_be_used_is_refused_with_the_line(tmp_path, monkeypatch, file, old, new, said):
    for path in grammar.FILES:
        shutil.copy(path, tmp_path)
    text = (tmp_path / file).read_text()
    assert text.count(old) == 1
    (tmp_path / file).write_text(text.replace(old, new))
    monkeypatch.setattr(grammar, "FILES", [tmp_path / path.name for path in grammar.FILES])
    with pytest.raises(InputError) as error:
        english.__wrapped__()
    assert re.search(rf"{tmp_path}/\w+\.yaml.*, line \d+.*{re.escape(said)}", str(error.value))


def test_without_a_clone_the_message_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(grammar, "FOLDER", tmp_path / "config/grammar")
    with pytest.raises(InputError, match=f"^{grammar.FOLDER}: no such folder; `origin: grammar` needs a clone"):
        english.__wrapped__()


def test_a_seed_gives_the_sentences_that_it_gave_to_released_results():
    text = "\n".join(map(str, generate(200, 1, (4, 20))))
    assert sha256(text.encode()).hexdigest()[:16] == "7d5923dc74c7378e"


def test_asking_for_more_sentences_than_there_are_is_an_error(monkeypatch):
    monkeypatch.setattr(grammar, "ATTEMPTS", 100)
    with pytest.raises(InputError, match=r"words: \[1, 2\] allows only 0 different sentences, not 5; allow longer"):
        list(generate(5, 1, (1, 2)))


def test_the_files_of_a_corpus_belong_together(tmp_path: Path):
    folder = write(tmp_path)
    sources = {part: read_lines(folder / f"{part}.source") for part in ("train", "dev", "test", "plain")}
    assert {part: len(lines) for part, lines in sources.items()} == {"train": 60, "dev": 20, "test": 20, "plain": 30}
    assert len(set().union(*sources.values())) == 130
    for part in ("dev", "test"):
        gold = read_trees(folder / f"{part}.trees")
        assert [" ".join(words(tree)) for tree in gold] == sources[part]
        assert [linearise(tree) for tree in gold] == read_lines(folder / f"{part}.target")
    record = (folder / "corpus.json").read_text()
    assert all(field in record for field in ('"generated English"', '"Apache-2.0"', '"train": 60'))
    assert not (folder / "plain.target").exists()


def test_the_test_part_does_not_depend_on_the_size_of_train(tmp_path: Path):
    larger = Grammar("grammar", "", "", Sizes(90, 20, 20, 5), SMALL.words, SMALL.seed)
    small, large = write(tmp_path / "small"), write(tmp_path / "large", larger)
    assert (small / "test.trees").read_bytes() == (large / "test.trees").read_bytes()
