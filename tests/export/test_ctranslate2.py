import sys
import textwrap

import pytest
import torch

from transformer.decoding.beam import beam_search, length_penalty
from transformer.decoding.search import Search, Sentence
from transformer.export.ctranslate2 import by_ctranslate2, to_ctranslate2
from transformer.model.ids import END, PADDING
from transformer.package.loading import load_package
from transformer.support.files import InputError

CPU = torch.device("cpu")
SEARCH = Search(3, 0.6, 10, nbest=True)


@pytest.mark.agreement(witness="CTranslate2")
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_ctranslate2_gives_the_same_scores_and_hypotheses(save_like_marian, tmp_path, text, our_logits, positions):
    ctranslate2 = pytest.importorskip("ctranslate2")
    folder = save_like_marian(positions=positions)
    to_ctranslate2(folder, tmp_path / "out")
    package, translator = load_package(folder, CPU), ctranslate2.Translator(str(tmp_path / "out"))
    lines = sorted(text(5, 4), key=len)
    pieces, ids = [package.subwords.pieces(line) for line in lines], package.subwords.encode(lines)
    for source, target, result in zip(ids, reversed(ids), translator.score_batch(pieces, pieces[::-1]), strict=True):
        logits = our_logits(package, torch.tensor([source]), torch.tensor([target]))[0]
        logits[:, 0] = -torch.inf  # padding
        expected = logits.log_softmax(-1).gather(1, torch.tensor(target)[:, None])[:, 0]
        assert torch.tensor(result.log_probs) == pytest.approx(expected, abs=1e-4)
    for source, result in zip(
        ids, translator.translate_batch(pieces, beam_size=1, min_decoding_length=0, max_decoding_length=8), strict=True
    ):
        best = beam_search(package.model, torch.tensor([source]), 1, 0.0, 8)[0][0]
        assert [package.subwords.processor.piece_to_id(piece) for piece in result.hypotheses[0]] == best.ids[:8]


def test_the_code_of_the_readme_cuts_no_output_before_the_last_position(save_like_marian, tmp_path):
    pytest.importorskip("ctranslate2")
    to_ctranslate2(save_like_marian(), tmp_path / "out")
    code = (tmp_path / "out/README.md").read_text().partition("    import ctranslate2")[2].partition("\n\nThe beam")[0]
    code = textwrap.dedent(f"    import ctranslate2{code}")
    code = code.replace("**limits", "**limits, suppress_sequences=[['</s>']]")  # else a random model may stop sooner
    given = {"FOLDER": str(tmp_path / "out"), "sentences": ["the cat"]}
    exec(code, given)
    assert len(given["results"][0].hypotheses[0]) == 1024


# Decoding


@pytest.fixture
def package(ours):
    return load_package(ours, CPU)


def refused(package, ours, message, search=SEARCH, precision="float32"):
    with pytest.raises(InputError, match=message), by_ctranslate2(package, ours, search, precision, 1, "line"):
        pass


@pytest.mark.agreement(witness="CTranslate2")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("width", [1, 3])
def test_hypotheses_are_sorted_and_have_the_scores_of_our_search(package, ours, text, our_logits, width, workers):
    pytest.importorskip("ctranslate2")
    ids, extra, ended = package.subwords.encode(text(5, 9)), 40, 0
    batches = [[Sentence(i, ids[i]) for i in part] for part in (range(4), range(4, 5), range(5, 9))]
    search = Search(width, 0.6, extra, nbest=True)
    with by_ctranslate2(package, ours, search, "float32", workers, "line") as decode:
        decoded = list(decode(batches))
    assert list(map(len, decoded)) == list(map(len, batches))
    for batch, results in zip(batches, decoded, strict=True):
        limit = max(len(source) for _, source in batch) + extra
        for (_, source), hypotheses in zip(batch, results, strict=True):
            assert hypotheses == sorted(hypotheses, key=lambda each: -each.score)
            for target, score in hypotheses:
                whole = torch.tensor([[*target, END]])
                logits = our_logits(package, torch.tensor([source]), whole)
                logits[:, :, PADDING] = -torch.inf
                logp = logits.log_softmax(2).gather(2, whole[:, :, None]).flatten()
                ended += len(target) < limit
                total = (logp if len(target) < limit else logp[:-1]).sum().item()
                assert score == pytest.approx(total / length_penalty(len(logp), 0.6), rel=1e-4)
    assert width == 1 or ended


def test_without_nbest_only_the_best_hypothesis_is_returned(package, ours, text):
    pytest.importorskip("ctranslate2")
    batch = [Sentence(1, ids) for ids in package.subwords.encode(text(5, 3))]
    with by_ctranslate2(package, ours, Search(3, 0.6, 10), "int8", 1, "line") as decode:
        assert [len(hypotheses) for hypotheses in next(iter(decode([batch])))] == [1, 1, 1]


def test_a_line_beyond_the_exported_positions_is_named(package, ours):
    pytest.importorskip("ctranslate2")
    with (
        by_ctranslate2(package, ours, SEARCH, "float32", 1, "line") as decode,
        pytest.raises(InputError, match="line 7: 1025 subwords, but an exported model has 1024 positions"),
    ):
        next(iter(decode([[Sentence(7, [5] * 1024 + [1])]])))
    with by_ctranslate2(package, ours, Search(1, 0.6, 10), "float32", 1, "line") as decode:
        assert len(next(iter(decode([[Sentence(7, [5] * 1023 + [1])]])))) == 1


def test_what_ctranslate2_cannot_do_and_its_absence_are_told(package, ours, monkeypatch):
    refused(package, ours, "cannot draw the samples of --sample", Search(1, 0.6, 10, seed=1))
    refused(package, ours, "has its own rule to end a search; leave --early-stop out", Search(1, 0.6, 10, early=True))
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    refused(package, ours, "CTranslate2 is not installed; install it with `pip install 'ctranslate2")


def test_a_precision_that_ctranslate2_does_not_support_is_refused(package, ours, monkeypatch):
    ctranslate2 = pytest.importorskip("ctranslate2")
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _: {"float32", "int8", "int8_float32"})
    refused(package, ours, "--precision bfloat16: on this CPU, CTranslate2 has float32, int8", precision="bfloat16")
