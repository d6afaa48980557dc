"""Generated English: sentences and their trees from a probabilistic context-free grammar, written by hand.

It stands in for a treebank where none can be had; labels and tags are the Penn Treebank's. Hard is what is
hard in English: where phrases, clauses and coordinations attach, words of several classes (plan, that, her).
What helps is what helps there: agreement, verb frames, prepositions. Sentences begin in lower case.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import accumulate, islice
from pathlib import Path
from random import Random

from transformer.config import Grammar
from transformer.data.corpora import write_record
from transformer.files import InputError, write_lines
from transformer.parsing.trees import Leaf, Tree, build, words, write_trees

FORMS = {"s": "VBZ", "p": "VBP", "ds": "VBD", "dp": "VBD", "b": "VB", "g": "VBG", "n": "VBN"}
FINITE = {"s": "s", "p": "p", "ds": "s", "dp": "p"}
ATTEMPTS = 100_000

# A rule a line: weight, symbol, expansion. {v} runs over FORMS, {f} over FINITE with {n} its number, {n}
# alone over s and p. What stands before "/" is the label; a symbol that begins with "_" is no constituent.
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

# A class of words a line: symbol, tag, words.
LEXICON = """
.        .    .
?        .    ?
,        ,    ,
:        :    ; --
``       ``   ``
''       ''   ''
CC       CC   and and and or but
CD       CD   two three four five six seven eight ten twelve twenty fifty ninety
DT/a     DT   a
DT/p     DT   the the the these those some all many
DT/s     DT   the the the the this that every each another
DT/this  DT   this that every each
EX       EX   there
IN/adv   IN   because although if while since before after until though unless as
IN/by    IN   by
IN/g     IN   without by after before
IN/if    IN   if whether
IN/of    IN   of
IN/than  IN   than
IN/that  IN   that
IN/time  IN   during after before since until
IN/v     IN   into through toward across against
IN/vn    IN   in on at with near under behind from for beside about
JJ       JJ   old young big small new red green blue white black happy sad quiet clever strange famous \
              rich poor early late tall short angry open empty heavy bright dark cold warm expensive cheap \
              important difficult easy simple serious honest careful lazy brave local foreign public \
              private ancient modern
JJ/of    JJ   afraid proud full aware tired sure
JJ/to    JJ   ready eager able likely free sure glad
MD       MD   will can may must should could would might
NN/day   NN   yesterday today tomorrow
NN/time  NN   morning evening week year summer winter month afternoon night
NNP      NNP  John Mary Anna Peter Paul Susan Tom Kate David Laura Henry Alice Robert Emma George Clara \
              London Paris Berlin Rome Vienna Boston
NNP/last NNP  Smith Jones Brown Taylor Baker Wilson Clark Young Green White Hill King
POS      POS  's
PRP$     PRP$ his her its their our my your
PRP/o    PRP  him her it them us you me
PRP/p    PRP  they we you
PRP/s    PRP  he she it
RB/about RB   about nearly almost
RB/m     RB   quickly slowly quietly carefully badly well soon again loudly suddenly early late
RB/not   RB   not
RB/often RB   often never always rarely usually also still
RB/s     RB   however then yesterday meanwhile perhaps fortunately
RB/very  RB   very quite too rather extremely
RBR      RBR  more less
RP       RP   up out down off back over
TO       TO   to
V.said   VBD  said asked replied thought answered
WDT      WDT  that that which
WP       WP   who
WRB/q    WRB  why when where how
WRB/when WRB  when where
be/s     VBZ  is
be/p     VBP  are
be/ds    VBD  was
be/dp    VBD  were
be/b     VB   be
be/g     VBG  being
be/n     VBN  been
do/s     VBZ  does
do/p     VBP  do
do/ds    VBD  did
do/dp    VBD  did
have/s   VBZ  has
have/p   VBP  have
have/ds  VBD  had
have/dp  VBD  had
have/b   VB   have
"""

# Base forms; irregular nouns as singular|plural.
NOUNS = """
man|men woman|women child|children person|people wife|wives knife|knives foot|feet mouse|mice teacher
student doctor lawyer farmer soldier writer painter driver worker manager king queen friend neighbour
stranger mother father brother sister daughter son dog cat horse bird cow tree river mountain garden house
door window table chair book letter story song picture paper pen car train boat bridge street city village
school hospital church market shop office factory hotel museum library kitchen room box key lamp clock
telescope camera computer telephone machine engine hammer question answer plan report call play work walk
offer watch visit order idea problem reason war law party company bank price government minister election
court judge case country army meeting
"""

# A frame of verbs a line, base forms; irregular ones as base|past|participle.
VERBS = """
V.i  sleep|slept|slept fall|fell|fallen arrive laugh work walk play wait dance travel cry smile \
     leave|left|left go|went|gone come|came|come sing|sang|sung return rest fight|fought|fought \
     speak|spoke|spoken
V.t  see|saw|seen watch hear|heard|heard know|knew|known find|found|found like love visit follow open \
     close paint clean break|broke|broken build|built|built buy|bought|bought sell|sold|sold eat|ate|eaten \
     read|read|read write|wrote|written draw|drew|drawn carry move catch|caught|caught kill help \
     meet|met|met call order plan report answer attack protect study discover describe remember \
     choose|chose|chosen steal|stole|stolen leave|left|left
V.d  give|gave|given send|sent|sent show|showed|shown offer teach|taught|taught lend|lent|lent hand \
     tell|told|told sell|sold|sold write|wrote|written
V.s  say|said|said think|thought|thought know|knew|known believe hope see|saw|seen hear|heard|heard claim \
     doubt remember report discover
V.c  want need expect like love choose|chose|chosen ask
V.o  ask force persuade order tell|told|told teach|taught|taught help invite allow
V.g  enjoy keep|kept|kept finish like love avoid
V.p  pick turn bring|brought|brought take|took|taken throw|threw|thrown call send|sent|sent clean hand
"""


def _third(word: str) -> str:
    """Plural of a noun, third person singular of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh", "go")):
        return word + "es"
    return word[:-1] + "ies" if word[-1] == "y" and word[-2] not in "aeou" else word + "s"


def _past(verb: str) -> str:
    if verb[-1] == "y" and verb[-2] not in "aeou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb[-1] == "e" else "ed")


def _gerund(verb: str) -> str:
    return (verb[:-1] if verb[-1] == "e" and verb[-2] != "e" else verb) + "ing"


def _lexicon() -> dict[str, tuple[str, list[str]]]:
    """Of each class of words its tag and its words."""
    lexicon = {}
    for line in LEXICON.strip().splitlines():
        symbol, tag, *members = line.split()
        lexicon[symbol] = tag, members
    nouns = [noun.split("|") for noun in NOUNS.split()]
    lexicon["N/s"] = "NN", [noun[0] for noun in nouns]
    lexicon["N/p"] = "NNS", [noun[1] if noun[1:] else _third(noun[0]) for noun in nouns]
    for line in VERBS.strip().splitlines():
        symbol, *verbs = line.split()
        forms: dict[str, list[str]] = {form: [] for form in FORMS}
        for verb in verbs:
            base, past, participle = verb.split("|") if "|" in verb else (verb, _past(verb), _past(verb))
            inflected = _third(base), base, past, past, base, _gerund(base), participle
            for form, word in zip(FORMS, inflected, strict=True):
                forms[form].append(word)
        for form, tag in FORMS.items():
            lexicon[f"{symbol}/{form}"] = tag, forms[form]
    return lexicon


def _rules() -> dict[str, tuple[list[list[str]], list[float]]]:
    """Of each symbol its expansions and their cumulative weights."""
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


_LEXICON = _lexicon()
_RULES = _rules()


def _sample(random: Random, most: int) -> list[Leaf | str]:
    """A sentence as `trees.walk` gives it; empty when it would have more than `most` words."""
    items: list[Leaf | str] = []
    pending = ["_root"]
    length = 1
    article = -1
    while pending:
        symbol = pending.pop()
        if symbol[0] == ")":
            items.append(symbol)
        elif symbol in _LEXICON:
            tag, members = _LEXICON[symbol]
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
    """Trees whose sentences all differ and have from words[0] to words[1] words, punctuation counted.

    Raises InputError when the grammar has, as far as ATTEMPTS in a row can tell, no further such sentence.
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
            raise InputError(f"words: {list(words)} leaves {len(seen)} of {sentences} sentences; allow longer ones")


def write_corpus(corpus: Grammar, folder: Path, *, name: str, source: str, target: str) -> None:
    """Write {train,dev,test}.{source,target}, {dev,test}.trees, plain.source and corpus.json into `folder`.

    Sources are words, targets linearised trees, `.trees` Penn brackets. No sentence occurs twice; dev and
    test stay the same when the sizes of train and plain change. Raises InputError as `generate` does.
    """
    sizes = asdict(corpus.sentences)
    trees = generate(sum(sizes.values()), corpus.seed, corpus.words)
    for part in ("dev", "test", "train"):
        write_trees(folder, part, list(islice(trees, sizes[part])))
    write_lines(folder / "plain.source", (" ".join(words(tree)) for tree in trees))
    pairs = {part: sizes[part] for part in ("train", "dev", "test")}
    write_record(folder, pairs, {}, corpus, name=name, source=source, target=target, leaves="XX")
