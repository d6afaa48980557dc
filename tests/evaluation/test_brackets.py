from pathlib import Path

import pytest

from transformer.evaluation.brackets import SentenceScore, bracket_scores, brackets, score_parses, score_tree
from transformer.trees.linear import linearise
from transformer.trees.penn import read_tree

GOLD = "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (PRP her)) (PP (IN in) (NP (NN town)))) (. .))"


def scores(*pairs):
    return bracket_scores(score_tree(read_tree(gold), read_tree(predicted)) for gold, predicted in pairs)


def of(text):
    return sorted(brackets(read_tree(text))[1].elements())


def test_a_tree_scored_against_itself_is_perfect():
    result = scores((GOLD, GOLD), (GOLD, GOLD))
    assert (result.f1, result.recall, result.precision, result.exact, result.tagging) == (100,) * 5
    assert (result.crossing, result.no_crossing, result.two_or_less_crossing) == (0, 100, 100)
    assert (result.valid, result.error, result.skip) == (2, 0, 0)


def test_brackets_are_summed_over_the_corpus():
    short, wrong = "(S (NP (PRP we)) (VP (VBP go)))", "(S (NP (PRP we)) (PP (NP (VBP go))))"
    result = scores((GOLD, GOLD), (short, wrong))
    assert (result.recall, result.precision) == (pytest.approx(800 / 9), pytest.approx(800 / 10))
    assert result.f1 == pytest.approx(2 * result.recall * result.precision / (result.recall + result.precision))
    assert (result.exact, result.valid) == (50, 2)


def test_repeated_brackets_match_as_often_as_they_occur():
    once, twice = "(S (NP (NN dog)))", "(S (NP (NP (NN dog))))"
    assert scores((once, twice)).precision == pytest.approx(200 / 3)
    assert scores((twice, once)).recall == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *((f"({root} (S (PRT (RP up))))", [("ADVP", 0, 1), ("S", 0, 1)]) for root in ("TOP", "ROOT", "S1", "VROOT")),
        *(
            (f"(S (NP ({tag} x) (NN dog)) (NP ({tag} x)) ({tag} x))", [("NP", 0, 1), ("S", 0, 1)])
            for tag in (",", ":", "``", "''", ".", "-NONE-")
        ),
        ("(S-TPC=1 (NP-SBJ-2 (NN dog)))", [("NP", 0, 1), ("S", 0, 1)]),
        ("(S (-LRB- x) ($ y) (POS z))", [("S", 0, 3)]),
    ],
)
def test_roots_punctuation_traces_and_function_tags_are_no_brackets_and_prt_is_advp(text, found):
    assert of(text) == found


def test_the_attachment_of_punctuation_does_not_matter():
    high = "(S (NP (NN dog)) (, ,) (VP (VBZ barks)) (. .))"
    low = "(S (NP (NN dog) (, ,)) (VP (VBZ barks) (. .)))"
    assert scores((high, low)).exact == 100


def test_a_sentence_without_words_is_skipped_and_one_with_other_words_is_an_error():
    result = scores((GOLD, GOLD), ("(S (. .))", "(S (. .))"), (GOLD, "(S (. .))"), (GOLD, "(S (NN dog))"))
    assert (result.valid, result.error, result.skip, result.f1) == (1, 1, 2, 100)
    result = scores((GOLD, "(S (NN dog))"))
    assert (result.f1, result.recall, result.precision, result.exact, result.tagging, result.valid) == (0,) * 6


def test_brackets_cross_where_they_overlap_and_neither_holds_the_other():
    gold = "(S (NP (A a) (B b)) (VP (C c) (D d)))"
    crossing = [
        score_tree(read_tree(gold), read_tree(predicted)).crossing
        for predicted in [
            "(S (X (A a) (B b) (C c)) (D d))",
            "(S (A a) (X (X (B b) (C c))) (D d))",
            "(S (A a) (X (X (X (B b) (C c)) (D d))))",
            "(S (A a) (X (B b)) (X (C c) (D d)))",
        ]
    ]
    assert crossing == [1, 2, 3, 0]
    result = bracket_scores(SentenceScore("valid", 4, crossing=count) for count in crossing)
    assert (result.crossing, result.no_crossing, result.two_or_less_crossing) == (1.5, 25, 75)


def test_tags_are_scored_where_words_are_and_the_length_is_of_all_but_traces():
    gold, predicted = "(S (NN a) (PRT up) (NN b) (. .) (-NONE- *))", "(S (NN a) (ADVP up) (JJ b) (. .))"
    scored = score_tree(read_tree(gold), read_tree(predicted))
    assert (scored.tagged, scored.words, scored.length) == (2, 3, 4)


def test_translations_are_repaired_scored_and_the_repaired_counted(tmp_path: Path):
    gold = tmp_path / "test.trees"
    gold.write_text(f"{GOLD}\n{GOLD}\n")
    perfect = linearise(read_tree(GOLD))
    scored, repaired = score_parses([perfect, perfect], gold)
    assert (bracket_scores(scored).exact, repaired) == (100, 0)
    assert score_parses([perfect, perfect.removesuffix(" XX )S")], gold)[1] == 1
    scored, repaired = score_parses(["", ""], gold)
    flat = bracket_scores(scored)
    assert (flat.precision, flat.recall, flat.valid, repaired) == (100, pytest.approx(100 / 6), 2, 2)
