import sys
import textwrap

import pytest
import torch

from transformer.decoding.beam import beam_search
from transformer.export.ctranslate2 import to_ctranslate2
from transformer.package.loading import load_package
from transformer.support.files import InputError

CPU = torch.device("cpu")


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


@pytest.mark.parametrize("positions", ["none", "t5", "alibi", "rotary"])
def test_positions_that_are_not_added_to_embeddings_are_not_exported(save_like_marian, tmp_path, positions):
    with pytest.raises(InputError, match=f"positions: {positions}, which CTranslate2 cannot express"):
        to_ctranslate2(save_like_marian(positions=positions), tmp_path / "out")


def test_a_missing_ctranslate2_is_named_with_its_installation(ours, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(InputError, match="install it with `pip install 'ctranslate2"):
        to_ctranslate2(ours, tmp_path / "out")
