"""The trained model in the clone: it is what its page says, it translates, and an experiment can be made from it."""

import re
import shutil
import tarfile

import pytest

from tests.pages import ROOT, run
from transformer.evaluation.bleu import paper_bleu, sacrebleu
from transformer.support.files import sha256

PAGE = (ROOT / "models/README.md").read_text()
PACKAGES = sorted(path.parent for path in ROOT.glob("models/**/package/config.json"))


def test_every_package_is_small_and_its_sha_256_is_on_the_page():
    assert PACKAGES
    for package in PACKAGES:
        assert sum(path.stat().st_size for path in package.iterdir()) < 8e6
        assert sha256(package / "model.safetensors") in PAGE
        assert "CC BY-NC-SA 4.0" in (package / "README.md").read_text()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: "/".join(path.parts[-5:-2]))
def test_the_released_translations_have_the_bleu_of_the_card(package):
    """Up to 0.1: the cards are of weights in float32, the packages have float16."""
    run = "/".join(package.parts[-5:-1])
    card = (package / "README.md").read_text()
    scored = re.findall(r"scores \| (dev|test), ([\d,]+) .*?BLEU ([\d.]+) .*?sacreBLEU ([\d.]+),", card)
    assert scored
    with tarfile.open(ROOT / "models/translations.tar.xz") as archive:
        for part, lines, *printed in scored:
            names = (f"translations/{run}/{part}.{kind}" for kind in ("translation", "reference"))
            given = [archive.extractfile(name).read().decode().splitlines() for name in names]
            assert len(given[0]) == int(lines.replace(",", ""))
            found = paper_bleu(*given, package.parts[-5][2:]).score, sacrebleu(*given).score
            assert found == pytest.approx([float(score) for score in printed], abs=0.1)


def examples(page):
    """The translations that a page shows: sentence, command, answer."""
    text = (ROOT / page).read_text().replace(" \\\n         ", "")
    return re.findall(r'\$ echo "(.*)" \| \S+ -m (.*--package models/\S+)\n    (.+)', text)


def test_the_examples_of_both_pages_are_what_the_models_say():
    on_pages = [examples(page) for page in ("README.md", "models/README.md")]
    assert all(on_pages)
    for text, command, answer in {example for shown in on_pages for example in shown}:
        assert run(["python", "-m", *command.split()], ROOT, f"{text}\n") == f"{answer}\n"


def test_the_scores_on_the_page_are_those_of_the_card():
    card = (ROOT / "models/ende/big/6/average-5/package/README.md").read_text()
    bleu, sacrebleu, perplexity = re.search(
        r"test, 1,000 sentences.*?Perplexity ([\d.]+), BLEU ([\d.]+) .*?sacreBLEU ([\d.]+),", card
    ).group(2, 3, 1)
    assert f"| {bleu} BLEU, {sacrebleu} sacreBLEU, perplexity {perplexity}." in PAGE


@pytest.mark.workflow
def test_tables_and_figures_are_made_from_the_packages_without_training(tmp_path, copy_project):
    copy_project(tmp_path)
    shutil.copytree(ROOT / "models", tmp_path / "models")
    marks, tables = re.findall("^    snakemake (.*)", PAGE, re.MULTILINE)
    for command, made in ((marks, ["write_marks"]), (tables, ["write_table2", "draw_attention"])):
        planned = run(["snakemake", "--dry-run", *command.split()], tmp_path)
        assert [each for each in made if each not in planned] == []
        assert not re.search(r"^(train|average_checkpoints)\b", planned, re.MULTILINE)
