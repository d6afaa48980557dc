"""Generated English: sentences and their trees from the probabilistic context-free grammar in config/grammar.

It replaces a treebank where none is available. Labels and tags are those of the Penn Treebank. As in English, a parser
must find out where phrases, clauses and coordinations attach, and the class of words that have several (plan, that,
her). Agreement, verb frames and prepositions help it. Sentences begin in lower case.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.parts import DESCRIPTION, LICENCE, PARTS, Given, Kind, write_record
from transformer.corpora.tree_parts import write_trees
from transformer.support.fields import STRICT, Config, Faults, Positive, PositiveNumber, Range, check
from transformer.support.files import InputError, write_lines
from transformer.support.strict import load_sources, merged, read_keys
from transformer.trees.tree import Leaf, Tree, build, words

FOLDER = Path(__file__).parents[2] / "config/grammar"
FILES = (FOLDER / "rules.yaml", FOLDER / "words.yaml")
ATTEMPTS = 100_000
START = "_root"
FORMS = {"s": "VBZ", "p": "VBP", "ds": "VBD", "dp": "VBD", "b": "VB", "g": "VBG", "n": "VBN"}  # of verbs, with tags
PLACES = (1, 0, 2, 2, 0, 3, 4)  # of these forms among base form, third person, past, gerund, participle
VARIABLES: dict[str, list[dict[str, str]]] = {  # their values; the first one that a rule has counts
    "{f}": [{"{f}": form, "{n}": form[-1]} for form in ("s", "p", "ds", "dp")],
    "{v}": [{"{v}": form} for form in FORMS],
    "{n}": [{"{n}": number} for number in ("s", "p")],
}


@dataclass(frozen=True, config=STRICT)
class English(Config):
    """The files of config/grammar together, which explain their keys."""

    words: dict[str, dict[str, str]]
    verbs: dict[str, str]
    frames: dict[str, str]
    rules: dict[str, dict[str, PositiveNumber]]

    @check
    def _forms(self) -> Faults:
        for verb, forms in self.verbs.items():
            if len(forms.split()) != max(PLACES):
                yield ("verbs", verb), f"{forms!r} is not four forms; write third person, past, gerund, participle"
        for frame, verbs in self.frames.items():
            if unknown := [verb for verb in verbs.split() if verb not in self.verbs]:
                yield ("frames", frame), f"no forms of {', '.join(unknown)}; write them into `verbs`"

    @check
    def _ends(self) -> Faults:
        rules = [(("rules",), START, [START], 0.0), *self._single_rules()]
        ending = {symbol for symbol, (_, words) in self.lexicon.items() if words}
        while new := {symbol for _, symbol, expansion, _ in rules if ending.issuperset(expansion)} - ending:
            ending |= new
        lacking = {keys: symbol for keys, _, expansion, _ in rules for symbol in expansion if symbol not in ending}
        for keys, symbol in lacking.items():
            yield keys, f"{symbol!r} never becomes words; give it a rule that ends, or a class of words"

    @cached_property
    def lexicon(self) -> dict[str, tuple[str, list[str]]]:
        """For each class of words its tag and its words."""
        lexicon = {name: (tag, each.split()) for tag, classes in self.words.items() for name, each in classes.items()}
        for frame, verbs in self.frames.items():
            forms = [(verb, *self.verbs[verb].split()) for verb in verbs.split()]
            for place, (form, tag) in zip(PLACES, FORMS.items(), strict=True):
                lexicon[f"{frame}/{form}"] = tag, [words[place] for words in forms]
        return lexicon

    @cached_property
    def expansions(self) -> dict[str, tuple[list[list[str]], list[float]]]:
        """For each symbol its expansions and their cumulative weights."""
        found: dict[str, tuple[list[list[str]], list[float]]] = {}
        for _, symbol, expansion, weight in self._single_rules():
            expansions, weights = found.setdefault(symbol, ([], []))
            expansions.append(expansion)
            weights.append(weight + sum(weights[-1:]))
        return found

    def _single_rules(self) -> Iterator[tuple[tuple[str, ...], str, list[str], float]]:
        """The keys, symbol, expansion and weight of each rule, once for each value of its variables."""
        for symbol, expansions in self.rules.items():
            for expansion, weight in expansions.items():
                for values in next((VARIABLES[name] for name in VARIABLES if name in symbol + expansion), [{}]):
                    text = f"{symbol}\n{expansion}"
                    for variable, value in values.items():
                        text = text.replace(variable, value)
                    single, _, symbols = text.partition("\n")
                    yield ("rules", symbol, expansion), single, symbols.split() or [""], weight


@cache
def english() -> English:
    """The grammar. Raises InputError without config/grammar, and the errors of `load_sources` and `read_keys`."""
    if not FOLDER.is_dir():
        raise InputError(f"{FOLDER}: no such folder; `origin: grammar` needs a clone: run this command in its folder")
    sources = {str(path): read_keys(path) for path in FILES}
    return load_sources(English, merged(sources.values()), sources)


@dataclass(frozen=True, config=STRICT)
class Sizes(Config):
    """How many sentences each part has."""

    train: Positive = Field(description="sentences of train")
    dev: Positive = Field(description="sentences of dev")
    test: Positive = Field(description="sentences of test")
    plain: Positive = Field(description="sentences without trees, to be parsed for the semi-supervised row of Table 4")


@dataclass(frozen=True, config=STRICT)
class Grammar(Kind):
    """A corpus of generated English with its trees."""

    has_trees = True
    data = FILES

    origin: Literal["grammar"] = Field(description="sentences with their trees, from our own grammar")
    description: str = Field(description=DESCRIPTION)
    licence: str = Field(description=LICENCE)
    sentences: Sizes = Field(description="how many sentences each part has")
    words: Range = Field(description="the smallest and the greatest number of words in a sentence")
    seed: int = Field(description="seed of the random sentences")

    def count(self, of: Callable[[str], Kind]) -> tuple[int | None, int]:
        """See `Kind.count`."""
        return self.sentences.train, self.sentences.plain

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Write {train,dev,test}.{source,target}, {dev,test}.trees, plain.source and corpus.json into `folder`.

        Sources are words, targets are linearised trees, and `.trees` are in Penn brackets. No sentence occurs twice.
        Dev and test stay the same when the sizes of train and plain change. Raises the InputErrors of `generate`.
        """
        sizes = asdict(self.sentences)
        trees = generate(sum(sizes.values()), self.seed, self.words)
        for part in ("dev", "test", "train"):
            write_trees(folder, part, list(islice(trees, sizes[part])))
        write_lines(folder / "plain.source", (" ".join(words(tree)) for tree in trees))
        pairs = {part: sizes[part] for part in PARTS}
        write_record(folder, pairs, {}, self, name=name, source=source, target=target, leaves="XX")


def _sample(random: Random, most: int) -> list[Leaf | str]:
    """The items of a sentence, as in `walk`; empty if it would have more than `most` words."""
    lexicon, rules = english().lexicon, english().expansions
    items: list[Leaf | str] = []
    pending = [START]
    length = 1
    article = -1
    while pending:
        symbol = pending.pop()
        if symbol[0] == ")":
            items.append(symbol)
        elif symbol in lexicon:
            tag, members = lexicon[symbol]
            word = random.choice(members)
            if article >= 0 and word[0] in "aeiou":
                items[article] = Leaf("DT", "an")
            article = len(items) if word == "a" else -1
            items.append(Leaf(tag, word))
        else:
            expansions, weights = rules[symbol]
            [expansion] = random.choices(expansions, cum_weights=weights)
            length += len(expansion) - 1
            if length > most:
                return []
            if symbol[0] != "_":
                label = symbol.split("/")[0]
                items.append(f"({label}")
                pending.append(f"){label}")
            pending += reversed(expansion)
    return items


def generate(sentences: int, seed: int, words: tuple[int, int]) -> Iterator[Tree]:
    """Trees of different sentences, each of words[0] to words[1] words including punctuation.

    Raises InputError when ATTEMPTS attempts in a row bring no new sentence, and the errors of `english`.
    """
    random = Random(seed)
    seen: set[tuple[str, ...]] = set()
    misses = 0
    while len(seen) < sentences:
        items = _sample(random, words[1])
        text = tuple(item.word for item in items if isinstance(item, Leaf))
        if words[0] <= len(text) and text and text not in seen:
            seen.add(text)
            misses = 0
            yield build(items)
        elif (misses := misses + 1) == ATTEMPTS:
            raise InputError(
                f"words: {list(words)} allows only {len(seen)} different sentences, not {sentences}; allow longer ones"
            )
