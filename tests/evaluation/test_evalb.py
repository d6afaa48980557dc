"""Our bracket scores equal EVALB's. The tests compile the C program itself, from a wheel on PyPI, and run it."""

import hashlib
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path

import pytest

from transformer.evaluation.brackets import BracketScores, SentenceScore, bracket_scores, score_tree
from transformer.trees.penn import TRACE, read_tree
from transformer.trees.tree import Leaf, Tree

pytestmark = pytest.mark.agreement(witness="EVALB")
WHEEL = "allennlp-0.9.0-py3-none-any.whl"
SHA256 = "353752e7b78e48c450e27889d80a3000c4a9af34f70ff9091b3031ad01320940"
MADE_UP = [
    "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))",
    "(TOP (S (NP-SBJ-1 (PRP it)) (VP (VBD was) (VP (VBN put) (NP (-NONE- *-1)) (PRT (RP off))))))",
    "(S (`` ``) (S (NP (NNS cats)) (VP (VBP purr))) (, ,) ('' '') (NP (PRP she)) (VP (VBZ says)) (. .))",
    "(FRAG (NP (NP (NP (NN tea)))) (: --) (ADVP|PRT (RB now)) (-LRB- -LRB-) (X (SYM *)) (-RRB- -RRB-))",
    "(NP (NP (JJ naïve) (NNS cafés)) (PP (IN of) (NP (NP (NNP 東京)) (SBAR=2 (-NONE- 0) (S (-NONE- *T*))))))",
    "(S (NP (NP (DT a) (NN man)) (PP (IN in) (NP (DT a) (NN hat)))) (VP (VBD saw) (NP (NP (DT a) (NN dog)) "
    "(PP (IN with) (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (DT a) (NN mat))))))) (. .))",
    "(FRAG (PRT up) (ADVP down))",
    "(S (. ?))",
    "(S (-NONE- *))",
    f"(S {'(NP (DT the) (NN end)) ' * 24})",
]
TAGS = ["NN", "IN", "ADVP", "PRT", ",", ":", "``", "''", ".", TRACE, "-LRB-"]
LABELS = ["NP", "VP", "S", "ADVP", "PRT", "NP-SBJ", "S=1", "TOP", "-LRB-", "ADVP|PRT"]


@pytest.fixture(scope="module")
def evalb(request, tmp_path_factory) -> Path:
    """The folder of EVALB with the compiled program. pytest's cache keeps the wheel."""
    cache, folder = request.config.cache.mkdir("evalb"), tmp_path_factory.mktemp("evalb")
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler (cc)")
    if not (cache / WHEEL).exists():
        options = ["--no-deps", "--retries", "1", "--timeout", "20", "--quiet", "--dest", cache]
        line = [sys.executable, "-m", "pip", "download", *options, "allennlp==0.9.0"]
        if (done := subprocess.run(line, capture_output=True, text=True)).returncode:
            pytest.skip(f"no package index gives {WHEEL}: {done.stderr.splitlines()[-1]}")
    assert hashlib.sha256((cache / WHEEL).read_bytes()).hexdigest() == SHA256
    with zipfile.ZipFile(cache / WHEEL) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if "/EVALB/" in name])
    folder = folder / "allennlp/tools/EVALB"
    subprocess.run(["cc", "-std=gnu89", "-w", "-o", "evalb", "evalb.c"], cwd=folder, check=True)
    return folder


def printed_by_evalb(folder: Path, gold: Path, predicted: Path) -> tuple[list[list[str]], list[list[str]]]:
    """EVALB's output: a line for each sentence, then the values of its two summaries, with NaN as 0.00."""
    line = [folder / "evalb", "-p", folder / "COLLINS.prm", "-e", "1000000", gold, predicted]
    output = subprocess.run(line, capture_output=True, check=True).stdout.decode()
    sentences, summary = re.split("^=== Summary ===$", output, flags=re.MULTILINE)
    lines = [row.split()[1:] for row in sentences.split("====\n")[1].splitlines() if "=" not in row]
    return lines, [re.sub("-?nan", "0.00", part).split() for part in values(summary)]


def values(summary: str) -> list[str]:
    return [" ".join(re.findall("= *(.*)$", part, flags=re.MULTILINE)) for part in summary.split("-- len<=40 --")]


def percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.2f}"


def line_of(sentence: SentenceScore) -> list[str]:
    recall, precision = percent(sentence.matched, sentence.gold), percent(sentence.matched, sentence.predicted)
    counts = [sentence.matched, sentence.gold, sentence.predicted, sentence.crossing, sentence.words, sentence.tagged]
    status = ["valid", "error", "skip"].index(sentence.status)
    head = map(str, (sentence.length, status))
    return [*head, recall, precision, *map(str, counts), percent(sentence.tagged, sentence.words)]


def summary_of(scores: BracketScores) -> list[str]:
    counts = [scores.valid + scores.error + scores.skip, scores.error, scores.skip, scores.valid]
    numbers = [scores.recall, scores.precision, scores.f1, scores.exact]
    numbers += [scores.crossing, scores.no_crossing, scores.two_or_less_crossing, scores.tagging]
    return [*map(str, counts), *(f"{number:.2f}" for number in numbers)]


def printed_by_us(pairs: Sequence[tuple[Tree, Tree]]) -> tuple[list[list[str]], list[list[str]]]:
    scored = list(starmap(score_tree, pairs))
    short = [sentence for sentence in scored if sentence.length <= 40]
    return [line_of(sentence) for sentence in scored], [summary_of(bracket_scores(part)) for part in (scored, short)]


def perturbed(tree: Tree, chance: random.Random, words: bool) -> Tree:
    """The tree with some brackets relabelled, dropped, doubled, moved and added, and with words changed if `words`."""
    rate = chance.choice([0.03, 0.1, 0.3, 0.6])

    def leaf(item: Leaf) -> list[Tree | Leaf]:
        if not words or chance.random() > rate:
            return [item]
        return chance.choice(
            [[], [item, item], [item._replace(word="cat")], [item, Leaf(TRACE, "*")]]
            + [[item._replace(tag=chance.choice(TAGS))]] * 3
            + [[item, Leaf(chance.choice(TAGS), "dog")], [Tree(chance.choice(LABELS), (Leaf(TRACE, "*"), item))]]
        )

    def constituent(item: Tree) -> list[Tree | Leaf]:
        parts = [
            part for child in item.children for part in (leaf(child) if isinstance(child, Leaf) else constituent(child))
        ]
        if not parts:
            return []
        if len(parts) > len(item.children) or chance.random() < rate:  # a new bracket may cross one that was dropped
            first, last = sorted(chance.sample(range(len(parts) + 1), k=2))
            group = Tree(chance.choice(LABELS), tuple(parts[first:last]))
            parts[first:last] = [chance.choice([group, Tree(group.label, (group,))])]
        same, other = Tree(item.label, tuple(parts)), chance.choice(LABELS)
        if chance.random() > rate:
            return [same]
        return chance.choice(
            [
                [Tree(other, tuple(parts))],
                parts,
                [Tree(item.label, (same,))],
                [Tree(other, (same,))],
                [*same.children[:1], *([Tree(item.label, same.children[1:])] if parts[1:] else [])],
                [*([Tree(item.label, same.children[:-1])] if parts[1:] else []), *same.children[-1:]],
            ]
        )

    parts = tuple(constituent(tree)) if chance.random() < 0.99 else ()
    single = len(parts) == 1 and isinstance(parts[0], Tree)
    return parts[0] if single else Tree("TOP", parts or (Leaf(TRACE, "*"),))


def pairs_of(golds: Sequence[Tree], seed: int) -> list[tuple[Tree, Tree]]:
    """Distinct trees with perturbed copies, a quarter of them with changed words; only sizes that EVALB can hold."""
    chance = random.Random(seed)
    pairs = [(gold, perturbed(gold, chance, words=chance.random() < 0.25)) for gold in golds]
    fits = [all(text.count("(") < 200 and len(text.encode()) < 4900 for text in map(str, pair)) for pair in pairs]
    return [pair for pair, fit in zip(pairs, fits, strict=True) if fit and pair[0] != pair[1]]


def assert_agreement(evalb: Path, folder: Path, pairs: Sequence[tuple[Tree, Tree]]) -> None:
    """Compare each line and the sums. The pairs include valid, wrong and skipped sentences and crossing brackets."""
    for name, trees in zip(("gold", "predicted"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("".join(f"{tree}\n" for tree in trees))
    (lines, summaries), ours = printed_by_evalb(evalb, folder / "gold", folder / "predicted"), printed_by_us(pairs)
    for (gold, tree), theirs, line in zip(pairs, lines, ours[0], strict=True):
        assert theirs == line, f"{gold}\n{tree}"
    assert summaries == ours[1]
    assert {line[1] for line in lines} == {"0", "1", "2"}
    assert {line[7] for line in lines} >= {"0", "1", "2", "3"}


@pytest.mark.parametrize("name", ["sample/sample", "bug/bug"])
def test_evalbs_own_samples_get_evalbs_scores(evalb, name):
    gold, predicted = evalb / f"{name}.gld", evalb / f"{name}.tst"
    sides = [path.read_text().split("\n")[:-1] for path in (gold, predicted)]
    pairs = [tuple(read_tree(f"(TOP (-NONE- *) {line})") for line in pair) for pair in zip(*sides, strict=True)]
    assert printed_by_evalb(evalb, gold, predicted) == printed_by_us(pairs)


def test_generated_trees_get_evalbs_scores(evalb, tmp_path):
    assert_agreement(evalb, tmp_path, pairs_of([read_tree(text) for text in MADE_UP] * 300, 1))


def test_the_wsj_sample_gets_evalbs_scores(evalb, tmp_path, wsj_sample):
    """These trees have traces and function labels, like the annotation."""
    texts = [path.read_text() for path in sorted(wsj_sample.rglob("*.mrg"))]
    trees = [read_tree(f"(TOP{tree}") for text in texts for tree in re.split(r"^\(", text, flags=re.MULTILINE)[1:]]
    pairs = pairs_of(trees, 2)
    assert len(pairs) > 3000
    assert_agreement(evalb, tmp_path, pairs)
