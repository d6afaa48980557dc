"""What README.md says beside the released results, and where its links and those of the other pages lead."""

import re
import tarfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t
from sentencepiece import SentencePieceNormalizer

from tests.released_tables import bounded, replicated, rows_of, text_of
from transformer.evaluation.bleu import token_metric
from transformer.evaluation.significance import pseudo_values
from transformer.evaluation.standard_error import standard_error
from transformer.support.characters import NORMALISATION
from transformer.text.subwords import Subwords

ROOT = Path(__file__).parents[1]
FOLDERS = (".", "config", "docs", "docs/notes", "docs/paper")
PAGES = [page for folder in FOLDERS for page in ROOT.glob(f"{folder}/*.md")]


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^    .*$", "", page.read_text(), flags=re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def cells(page, heading):
    """The cells of the table with this heading, by row."""
    table = (ROOT / page).read_text().partition(heading)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def size_of(row):
    """How the size of a claim compares with the paper's, in a word or two."""
    return re.sub(" (to|than) the paper's$", "", row["Size"])


def shown(cell):
    """A cell of the released claims as the README has it."""
    return cell.replace("E-learned ", "learned ").replace("base ", "sinusoids ").replace("additive-dk16 ", "additive ")


def test_every_verdict_of_the_readme_is_a_row_of_the_released_replication():
    known = []
    for row in replicated():
        claim = bounded(row) if row["Group"] == "printed" else f"{row['Claim']} ({row['Group']})"
        cells_of = [shown(row[name]) for name in ("In favour, paper", "First, difference", "Fresh, difference")]
        known.append([row["Section"], claim, *cells_of, row["Fresh, verdict"], row["Size"]])
    rows = cells("README.md", "| section | claim |")
    assert rows
    assert [row for row in rows if row not in known] == []
    assert [row for row in known if row[5] == "contrary" and row not in rows] == []


TIME = "time of a step"


def claims_of(verdict):
    """The claims of `small` that seeds decide, with this verdict: (section, claim) -> rows of the released table."""
    claims: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows_of("small/claims"):
        if row["Verdict"].partition(":")[0] == verdict and row["Measure"] != TIME:
            claims.setdefault((row["Section"], row["Claim"]), []).append(row)
    return claims


def numbers(text):
    """The numbers in a text, and half a unit of the last digit of each, by which a number may be rounded.

    The names of rows have digits, too. They are left out.
    """
    digits = re.findall(r"[-+]?\d[\d.]*", re.sub(r"\S*[A-Za-z]\S*", "", text))
    return [float(one) for one in digits], [0.51 * 10 ** -len(one.partition(".")[2]) for one in digits]


@pytest.mark.parametrize(
    ("heading", "verdicts", "columns"),
    [
        ("| kind | section | claim | verdict | size |", ("reproduced", "contrary"), ["In favour, each seed"]),
        ("| kind | section | claim | mean | five seeds", ("undecided",), ["In favour, ours", "Could show"]),
    ],
)
def test_the_claims_of_the_page_of_small_are_those_of_the_released_table(heading, verdicts, columns):
    table = cells("docs/small.md", heading)
    released = {verdict: claims_of(verdict) for verdict in verdicts}
    assert len(table) == sum(len(rows) for claims in released.values() for rows in claims.values())
    for kind, section, claim, *shown_cells in table:
        name, _, measure = re.fullmatch(r"(.*?)( \((BLEU|perplexity)\))?", claim).groups()
        rows = [row for claims in released.values() for row in claims.get((section, name), ())]
        [row] = [row for row in rows if row["Measure"].startswith(measure or "")]
        assert kind == row["Group"]
        assert shown_cells.pop(1 if len(verdicts) > 1 else 2) == size_of(row)
        if len(verdicts) > 1:
            assert shown_cells.pop(0) == row["Verdict"]
            assert row["Measure"].startswith(shown_cells[0].split()[0].strip(":"))
        for text, column in zip(shown_cells, columns, strict=False):
            shown, rounding = numbers(text)
            assert len(shown) == len(numbers(row[column])[0])
            for mine, theirs, half in zip(shown, numbers(row[column])[0], rounding, strict=True):
                assert mine == pytest.approx(theirs, abs=half), claim


ADDED = {
    ("More layers are better", "BLEU, dev"),
    ("Wider layers are better", "BLEU, dev"),
    ("Wider feed-forward layers are better", "BLEU, dev"),
    ("Dropout is very helpful", "perplexity, dev"),
}  # when results had been seen


def test_the_counts_of_claims_are_those_of_the_released_table():
    spelt = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    spelt += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen"]
    found = {name: claims_of(name) for name in ("reproduced", "undecided", "contrary")}
    counts = {name: sum(map(len, claims.values())) for name, claims in found.items()}
    reproduced, undecided, contrary = (spelt[count] for count in counts.values())
    rows = [row for claims in found["reproduced"].values() for row in claims]
    groups = Counter(row["Group"] for row in rows)
    sizes = Counter(map(size_of, rows))
    printed, implied, own = (spelt[groups[name]] for name in ("printed", "implied", "own"))
    added = spelt[sum((row["Claim"], row["Measure"]) in ADDED for row in rows)]
    told = {
        "docs/small.md": [
            f"Of the {reproduced}, the paper *prints* {printed}, in numbers or words; {implied} are only *implied* by "
            f"what it chose or hoped; and {own} is our *own*.",
            f"We added {added} of the {reproduced} after we had seen results",
            f"{spelt[len(rows) - sizes['']].capitalize()} of the {reproduced} have a size: {spelt[sizes['similar']]} "
            f"is similar, {spelt[sizes['larger']]} are larger and {spelt[sizes['smaller']]} is smaller",
        ],
    }
    for page, sentences in told.items():
        assert [sentence for sentence in sentences if sentence not in text_of(page)] == []
    sentence = (
        f"that this experiment can test with seeds, {reproduced} are **reproduced**, and {contrary} is **contrary**"
    )
    small = text_of("docs/small.md")
    assert f"Of the {sum(counts.values())} [claims](small/tables/claims.md) {sentence}" in small
    assert f"The other {undecided} are undecided" in small
    assert f"{reproduced} are reproduced here, {undecided} are undecided, and {contrary} is contrary" in small
    tested = f"Of the {sum(counts.values())} claims that it tests with seeds, {reproduced} are reproduced, {undecided}"
    assert f"{tested} are undecided, and {contrary} is contrary" in text_of("docs/results.md")
    tested = f"tests {sum(counts.values())} claims with five seeds each"
    found = f"{reproduced} are reproduced, {undecided} are undecided, {contrary} is contrary"
    assert tested in text_of("docs/evidence.md")
    assert found in text_of("docs/evidence.md")


def test_the_page_of_results_counts_all_claims():
    rows = rows_of("quick/claims")
    of = Counter(row["Group"] for row in rows)
    spelt = {1: "one", 4: "four", 5: "five"}
    seeds = [
        row
        for verdict in ("reproduced", "undecided", "contrary")
        for each in claims_of(verdict).values()
        for row in each
    ]
    printed = sum(row["Group"] == "printed" for row in seeds)
    sentence = (
        f"lists {len(rows)} claims about the paper's models. The paper prints {of['printed']} of them (not the "
        f"{len(seeds)} that `small` tests with seeds, of which it prints {printed}); {spelt[of['implied']]} are only "
        f"implied by what it chose or hoped; {spelt[of['own']]} are our own"
    )
    assert sentence in text_of("docs/results.md")
    left_out = spelt[sum(row["Verdict"] == "not run" for row in rows)]
    assert f"it does not run {left_out} of the claims" in text_of("docs/results.md")


def test_the_pages_say_how_much_smaller_small_is():
    [parameters] = {row["Parameters"] for row in rows_of("small/runs") if row["Model"] == "base"}
    pairs, models = 4_500_000 / 29_000, 65e6 / int(parameters.replace(",", ""))
    assert f"a text {pairs:.0f} times smaller than the paper's, with models {models:.0f} times smaller" in text_of(
        "docs/evidence.md"
    )
    assert f"has {models:.0f} times fewer parameters than the paper's, {pairs:.0f} times fewer pairs" in text_of(
        "docs/faq.md"
    )


def test_the_published_marks_of_the_pages_are_those_of_the_released_table():
    first = [row for name in ("multi30k-tiny", "multi30k-tiny-enfr") for row in rows_of(f"{name}/marks")]
    further = rows_of("multi30k-tiny-replication/marks")
    rows = [
        (one["BLEU, published"], one["BLEU, ours"], *two["BLEU, each seed"].split(), two["BLEU, ours"])
        for one, two in zip(first, further, strict=True)
    ]
    ranges = [two["BLEU, over sentences"] for two in further]
    page, text = (ROOT / "docs/multi30k-tiny.md").read_text(), text_of("docs/multi30k-tiny.md")
    cell = r" ([\d.]+(?: ± [\d.]+)?) \|"
    assert re.findall(rf"^\| English.*?\|.*?\|{cell * 5} (.*) \|$", page, re.MULTILINE) == [
        (*row, over) for row, over in zip(rows, ranges, strict=True)
    ]
    assert all(
        least < float(row[0]) < most
        for row, (least, most) in zip(rows, (map(float, each.split(" to ")) for each in ranges), strict=True)
    )
    singles = [list(map(float, row[1:4])) for row in rows]
    assert f"Two trainings differ by up to {max(max(each) - min(each) for each in singles):.1f} BLEU." in text
    above = [[each - float(row[0]) for each in seeds] for row, seeds in zip(rows, singles, strict=True)]
    assert [max(each) < 0 for each in above] == [False, False, True, False, False, False]
    nearest, farthest = -max(above[2]), -min(above[2])
    sentence = f"all three below the published number, by {nearest:.1f} to {farthest:.1f}."
    assert f"Only on English-German COCO are {sentence}" in text
    # of the published training less the mean of ours
    spread = np.std(above[2], ddof=1) * (1 + 1 / len(above[2])) ** 0.5
    p = 2 * t.sf(abs(np.mean(above[2])) / spread, len(above[2]) - 1)
    assert f"does not tell the published training from ours (p {p:.1f})" in text
    every = [each for seeds in above for each in seeds]
    least, most = f"{-min(every):.1f} below", f"{max(every):.1f} above"
    (published, ours, two, three, _), *_, (french_published, french, french_two, french_three, _), _, _ = rows
    sentence = (
        f"reaches {ours}, {two} and {three} BLEU in three trainings (published: {float(published):.1f}), and "
        f"{french}, {french_two} and {french_three} ({french_published}) for French. Over six test sets they are "
        f"{least} to {most}."
    )
    assert sentence in text_of("README.md")
    means = [float(row[4].split(" ")[0]) - float(row[0]) for row in rows]
    sentence = (
        f"Two further trainings have {two} and {three}, and {french_two} and {french_three}. Over six test sets the "
        f"three are between {least} and {most}, and the mean of the further two between {-min(means):.1f} below and "
        f"{max(means):.1f} above."
    )
    assert sentence in text_of("docs/evidence.md")
    sentence = (
        f"BLEU {ours}, {two} and {three}, published {float(published):.1f}; English-French {french}, {french_two} and "
        f"{french_three}, published {french_published}"
    )
    assert sentence in (ROOT / "docs/experiments.md").read_text()


def test_two_published_marks_of_ours_differ_less_over_sentences_than_one_varies():
    texts = defaultdict(list)
    with tarfile.open(ROOT / "docs/multi30k-tiny-replication/scores.tar.gz") as archive:
        for name in sorted(archive.getnames()):
            if name.endswith((".translation", ".target")):
                texts[name.split("/")[3], Path(name).stem].append(
                    archive.extractfile(name).read().decode().splitlines()
                )
    errors = []
    for reference, *translations in texts.values():
        one, other = (pseudo_values(token_metric(), each, reference) for each in translations)
        errors.append(standard_error(one - other))
    sentence = f"has a standard error of {min(errors):.1f} to {max(errors):.1f} over sentences."
    assert len(errors) == 6
    assert sentence in text_of("docs/multi30k-tiny.md")


def test_the_bleu_on_captions_is_that_of_the_released_table():
    rows = rows_of("quick-captions/table2")
    bleu = {(row["Pair"], row["Model"]): row["BLEU, ours"] for row in rows}
    base, big = ([bleu[pair, f"Transformer ({name})"] for pair in ("en-de", "en-fr")] for name in ("base model", "big"))
    page = text_of("docs/experiments.md")
    sentence = "base has {} BLEU English-German and {} English-French, and big has {} and {} "
    assert sentence.format(*base, *big) in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"https?://", link):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_page_on_reading_says_what_becomes_of_each_special_character(subwords):
    normalise = SentencePieceNormalizer(rule_name=NORMALISATION).normalize
    rows = cells("docs/reading.md", "| character | in subwords |")
    told = {"a blank": "a▁b", "dropped, so the words beside it become one": "ab", "two question marks": "a??b"}
    seen = set()
    for names, in_subwords, in_words, _ in rows:
        ranges = re.findall(r"U\+([0-9A-F]{4})(?: to U\+([0-9A-F]{4}))?", names)
        for code in (code for first, last in ranges for code in range(int(first, 16), int(last or first, 16) + 1)):
            letter = chr(code)
            seen.add(code)
            assert normalise(f"a{letter}b")[1:] == told.get(in_subwords, f"a{letter}b"), (names, in_subwords)
            assert (len(f"a{letter}b".split()) == 2) == (in_words == "a blank"), (names, in_words)
    assert {0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2581, 0xFFFD, 0x2066, 0xAD, 0xFEFF} <= seen
    symbols = Subwords(subwords)
    for text in ("<unk>", "</s>", "<pad>"):
        assert symbols.encode([text])[0][:-1] != [symbols.processor.piece_to_id(text)]
