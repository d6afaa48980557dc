from pathlib import Path

import pytest

from transformer.evaluation.brackets import BracketScores, brackets, score, score_parses
from transformer.files import InputError
from transformer.parsing.trees import linearise, read_tree

GOLD = "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (PRP her)) (PP (IN in) (NP (NN town)))) (. .))"


def scores(*pairs):
    return score((read_tree(gold), read_tree(predicted)) for gold, predicted in pairs)


def of(text):
    return sorted(brackets(read_tree(text))[1].elements())


def test_a_tree_scored_against_itself_is_perfect():
    assert scores((GOLD, GOLD), (GOLD, GOLD)) == BracketScores(100, 100, 100, 100, 2)


def test_brackets_are_summed_over_the_corpus():
    short, wrong = "(S (NP (PRP we)) (VP (VBP go)))", "(S (NP (PRP we)) (PP (NP (VBP go))))"
    result = scores((GOLD, GOLD), (short, wrong))
    assert (result.recall, result.precision) == (pytest.approx(800 / 9), pytest.approx(800 / 10))
    assert result.f1 == pytest.approx(2 * result.recall * result.precision / (result.recall + result.precision))
    assert (result.exact, result.sentences) == (50, 2)


def test_repeated_brackets_match_as_often_as_they_occur():
    once, twice = "(S (NP (NN dog)))", "(S (NP (NP (NN dog))))"
    assert scores((once, twice)).precision == pytest.approx(200 / 3)
    assert scores((twice, once)).recall == pytest.approx(200 / 3)


def test_top_is_ignored_and_prt_is_advp():
    assert of("(TOP (S (PRT (RP up))))") == of("(S (ADVP (RP up)))") == [("ADVP", 0, 1), ("S", 0, 1)]


def test_function_tags_are_ignored():
    assert of("(S-TPC=1 (NP-SBJ-2 (NN dog)))") == of("(S (NP (NN dog)))")


@pytest.mark.parametrize("tag", [",", ":", "``", "''", ".", "-NONE-"])
def test_punctuation_and_traces_do_not_count(tag):
    assert of(f"(S (NP ({tag} x) (NN dog)) (NP ({tag} x)) ({tag} x))") == of("(S (NP (NN dog)))")


def test_where_punctuation_hangs_makes_no_difference():
    high = "(S (NP (NN dog)) (, ,) (VP (VBZ barks)) (. .))"
    low = "(S (NP (NN dog) (, ,)) (VP (VBZ barks) (. .)))"
    assert scores((high, low)).exact == 100


def test_other_tags_than_punctuation_count():
    assert of("(S (-LRB- x) ($ y) (POS z))") == [("S", 0, 3)]


def test_a_sentence_of_punctuation_only_is_not_counted():
    assert scores(("(S (. .))", "(S (. .))"), (GOLD, GOLD)).sentences == 1
    assert scores(("(S (. .))", "(S (. .))")) == BracketScores(0, 0, 0, 0, 0)


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="pair 2: the words differ"):
        scores((GOLD, GOLD), (GOLD, "(S (NN dog))"))


def test_translations_are_repaired_scored_and_the_repaired_counted(tmp_path: Path):
    gold = tmp_path / "test.trees"
    gold.write_text(f"{GOLD}\n{GOLD}\n")
    perfect = linearise(read_tree(GOLD))
    assert score_parses([perfect, perfect], gold) == (BracketScores(100, 100, 100, 100, 2), 0)
    assert score_parses([perfect, perfect.removesuffix(" XX )S")], gold)[1] == 1
    flat, repaired = score_parses(["", ""], gold)
    assert (flat.precision, flat.recall, repaired) == (100, pytest.approx(100 / 6), 2)


def test_a_translation_for_each_tree_is_needed(tmp_path: Path):
    (tmp_path / "test.trees").write_text(f"{GOLD}\n")
    with pytest.raises(InputError, match="1 trees for 2 translations"):
        score_parses(["", ""], tmp_path / "test.trees")
