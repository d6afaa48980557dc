"""Generated English: sentences and their trees from a hand-written probabilistic context-free grammar.

It replaces a treebank where none is available. Labels and tags are those of the Penn Treebank. As in English, a parser
must find out where phrases, clauses and coordinations attach, and the class of words that have several (plan, that,
her). Agreement, verb frames and prepositions help it. Sentences begin in lower case.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import accumulate, islice
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.english import FORMS, WORDS
from transformer.corpora.parts import DESCRIPTION, LICENCE, PARTS, Given, Kind, write_record
from transformer.corpora.tree_parts import write_trees
from transformer.support.fields import STRICT, Config, Positive, Range
from transformer.support.files import InputError, write_lines
from transformer.trees.tree import Leaf, Tree, build, words


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


FINITE = {"s": "s", "p": "p", "ds": "s", "dp": "p"}
ATTEMPTS = 100_000

# Each line is a rule: weight, symbol, expansion. {v} runs over FORMS. {f} runs over FINITE, and {n} is then its number.
# {n} alone runs over s and p. The label of a symbol is the part before "/". A symbol that begins with "_" is not a
# constituent: its children belong to the constituent around it.
RULES = """
66  S/root      _clause .
5   S/root      PP/time , _clause .
4   S/root      NP/time , _clause .
6   S/root      SBAR/adv , _clause .
3   S/root      ADVP/s , _clause .
6   S/root      S/full , CC S/full .
3   S/root      S/full : S/full .
3   S/root      `` S/full , '' NP/{n} VP/said .
2   S/root      VP/b .
1   _root       SQ/root
1   _root       SBARQ/root
18  _root       S/root
3   SQ/root     MD NP/{n} VP/b ?
2   SQ/root     do/{f} NP/{n} VP/b ?
1   SQ/root     be/{f} NP/{n} ADJP/be ?
1   SBARQ/root  WHNP/who SQ/who ?
1   SBARQ/root  WHADVP/q SQ/why ?
1   SQ/who      VP/s
1   SQ/who      VP/ds
1   SQ/why      do/{f} NP/{n} VP/b
1   SQ/why      MD NP/{n} VP/b

10  _clause     NP/{n} VP/{f}
1   _clause     NP/{n} ADVP/often VP/{f}
1   _clause     NP/there VP/there
.5  _clause     S/ing VP/s
1   S/full      _clause
1   S/to        VP/to
1   S/ing       VP/g
1   S/want      NP/o VP/to
1   S/rel{n}    VP/{f}
1   S/gap       NP/{n} VP/gap{f}

5   VP/{v}      V.i/{v}
5   VP/{v}      V.i/{v} PP/v
4   VP/{v}      V.i/{v} ADVP/m
2   VP/{v}      V.i/{v} SBAR/adv
18  VP/{v}      V.t/{v} NP/o
12  VP/{v}      V.t/{v} NP/o PP/v
2   VP/{v}      V.t/{v} NP/o PP/v PP/time
3   VP/{v}      V.t/{v} NP/o ADVP/m
3   VP/{v}      V.t/{v} NP/o NP/time
3   VP/{v}      V.t/{v} NP/o SBAR/adv
2   VP/{v}      V.t/{v} NP/o S/to
1   VP/{v}      ADVP/m V.t/{v} NP/o
4   VP/{v}      V.d/{v} NP/o NP/o
3   VP/{v}      V.d/{v} NP/o PP/to
5   VP/{v}      V.s/{v} SBAR/that
3   VP/{v}      V.s/{v} SBAR/bare
2   VP/{v}      V.s/{v} SBAR/if
4   VP/{v}      V.c/{v} S/to
2   VP/{v}      V.c/{v} S/want
3   VP/{v}      V.o/{v} NP/o S/to
2   VP/{v}      V.g/{v} S/ing
2   VP/{v}      V.p/{v} PRT NP/o
2   VP/{v}      V.p/{v} NP/o PRT
5   VP/{v}      be/{v} ADJP/be
2   VP/{v}      be/{v} NP/is
2   VP/{v}      be/{v} PP/v
6   VP/{v}      be/{v} VP/pass
4   VP/{v}      VP/{v} CC VP/{v}
4   VP/{f}      be/{f} VP/g
4   VP/{f}      have/{f} VP/n
8   VP/{f}      MD VP/b
3   VP/{f}      do/{f} RB/not VP/b
2   VP/b        have/b VP/n
1   VP/to       TO VP/b
1   VP/said     V.said
1   VP/there    be/s NP/is
1   VP/there    be/s NP/is PP/v
1   VP/there    be/dp NP/ip PP/v
3   VP/pass     V.t/n
4   VP/pass     V.t/n PP/by
3   VP/pass     V.t/n PP/v
1   VP/pass     V.t/n PP/v PP/by
1   VP/pass     V.d/n NP/o PP/by
1   VP/pass     V.d/n PP/to
1   VP/pass     V.o/n S/to
4   VP/gap{f}   V.t/{f}
3   VP/gap{f}   V.t/{f} PP/v
1   VP/gap{f}   V.d/{f} PP/to
1   VP/gap{f}   V.s/{f} SBAR/gap

3   SBAR/adv    IN/adv S/full
2   SBAR/adv    WHADVP/when S/full
1   SBAR/that   IN/that S/full
1   SBAR/bare   S/full
1   SBAR/if     IN/if S/full
1   SBAR/gap    S/gap
2   SBAR/rel{n} WHNP/rel S/rel{n}
2   SBAR/rel{n} WHNP/rel S/gap
1   SBAR/rel{n} S/gap
1   WHNP/rel    WDT
1   WHNP/who    WP
1   WHADVP/when WRB/when
1   WHADVP/q    WRB/q

3   NP/{n}      PRP/{n}
12  NP/{n}      _np/{n}
1   NP/{n}      NP/base{n} , NP/i{n} ,
2   NP/o        PRP/o
6   NP/o        _np/{n}
1   NP/base{n}  _base/{n}
1   NP/any      _base/{n}
1   NP/there    EX
1   NP/is       DT/a _nom/s
1   NP/ip       CD _nom/p
1   NP/poss     DT/s N/s POS
1   NP/poss     NNP POS
2   NP/time     DT/this NN/time
1   NP/time     NN/day
22  _np/{n}     _base/{n}
6   _np/{n}     NP/base{n} PP/n
1   _np/{n}     NP/base{n} PP/n PP/n
3   _np/{n}     NP/base{n} SBAR/rel{n}
1.5 _np/{n}     NP/base{n} VP/pass
1   _np/{n}     NP/base{n} VP/g
3   _np/p       NP/any CC NP/any
1   _np/p       NP/any , NP/any CC NP/any
6   _base/s     DT/s _nom/s
6   _base/s     DT/a _nom/s
4   _base/s     PRP$ _nom/s
2   _base/s     NP/poss _nom/s
5   _base/s     NNP
2   _base/s     NNP NNP/last
10  _base/p     DT/p _nom/p
3   _base/p     PRP$ _nom/p
2   _base/p     NP/poss _nom/p
5   _base/p     _nom/p
3   _base/p     CD _nom/p
1   _base/p     QP _nom/p
12  _nom/{n}    N/{n}
5   _nom/{n}    JJ N/{n}
1   _nom/{n}    JJ JJ N/{n}
2   _nom/{n}    N/s N/{n}
1   _nom/{n}    ADJP/mod N/{n}
1   _nom/p      N/p CC N/p
1   _nom/p      JJ N/p CC N/p
1   QP          RBR IN/than CD
1   QP          RB/about CD

3   PP/v        IN/v NP/o
3   PP/v        IN/vn NP/o
2   PP/v        PP/time
.5  PP/v        IN/g S/ing
5   PP/n        IN/of NP/o
5   PP/n        IN/vn NP/o
1   PP/of       IN/of NP/o
1   PP/time     IN/time NP/o
1   PP/to       TO NP/o
1   PP/by       IN/by NP/o
6   ADJP/be     JJ
3   ADJP/be     RB/very JJ
1   ADJP/be     JJ CC JJ
2   ADJP/be     JJ/of PP/of
2   ADJP/be     JJ/to S/to
2   ADJP/mod    RB/very JJ
1   ADJP/mod    JJ CC JJ
3   ADVP/m      RB/m
1   ADVP/m      RB/very RB/m
1   ADVP/s      RB/s
1   ADVP/often  RB/often
1   PRT         RP
"""


def _rules() -> dict[str, tuple[list[list[str]], list[float]]]:
    """For each symbol its expansions and their cumulative weights."""
    weights: dict[str, list[tuple[list[str], float]]] = {}
    for line in filter(None, RULES.splitlines()):
        if "{f}" in line:
            values = [{"f": form, "n": number} for form, number in FINITE.items()]
        elif "{v}" in line:
            values = [{"v": form} for form in FORMS]
        else:
            values = [{"n": "s"}, {"n": "p"}] if "{n}" in line else [{}]
        for value in values:
            weight, symbol, *expansion = line.format(**value).split()
            weights.setdefault(symbol, []).append((expansion, float(weight)))
    return {
        symbol: ([expansion for expansion, _ in rules], list(accumulate(weight for _, weight in rules)))
        for symbol, rules in weights.items()
    }


_RULES = _rules()


def _sample(random: Random, most: int) -> list[Leaf | str]:
    """The items of a sentence, as in `walk`; empty if it would have more than `most` words."""
    items: list[Leaf | str] = []
    pending = ["_root"]
    length = 1
    article = -1
    while pending:
        symbol = pending.pop()
        if symbol[0] == ")":
            items.append(symbol)
        elif symbol in WORDS:
            tag, members = WORDS[symbol]
            word = random.choice(members)
            if article >= 0 and word[0] in "aeiou":
                items[article] = Leaf("DT", "an")
            article = len(items) if word == "a" else -1
            items.append(Leaf(tag, word))
        else:
            expansions, weights = _RULES[symbol]
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

    Raises InputError when ATTEMPTS attempts in a row bring no new sentence.
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
