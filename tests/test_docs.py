"""What README.md says beside the released results, and where its links and those of the other pages lead."""

import csv
import re
from pathlib import Path

import pytest
from sentencepiece import SentencePieceNormalizer

from transformer.support.characters import NORMALISATION
from transformer.text.subwords import Subwords

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/paper/*.md"), ROOT / "config/README.md"]


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^    .*$", "", page.read_text(), flags=re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows_of(path):
    """The rows of a released table."""
    with (ROOT / "docs" / path).open() as stream:
        return list(csv.DictReader(stream))


def flat(page):
    """The text of a page on one line."""
    return " ".join((ROOT / page).read_text().split())


def cells(page, heading):
    """The cells of the table with this heading, by row."""
    table = (ROOT / page).read_text().partition(heading)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_verdict_of_the_readme_is_a_row_of_the_released_claims():
    """The verdict is that of `small`; if it has not run the rows, that of `quick`."""
    released = []
    for name in ("small", "quick"):
        rows = rows_of(f"{name}/tables/claims.csv")
        released.append({(row["Section"], row["Claim"], row["Measure"]): row for row in rows})
    small, quick = released
    known = []
    for key in small.keys() & quick.keys():
        ours, paper = ([table[key][f"In favour, {whose}"] for table in released] for whose in ("ours", "paper"))
        assert paper[0] == paper[1]
        verdict = (quick if ours[0] == "not run" else small)[key]["Verdict"]
        known.append([*key[:2], paper[0], *ours, verdict])
    rows = cells("README.md", "| section | claim |")
    assert len(rows) == 10
    assert [row for row in rows if row not in known] == []


def claims_of(verdict):
    """The claims of `small` with this verdict: (section, claim) -> rows of the released table."""
    claims: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows_of("small/tables/claims.csv"):
        if row["Verdict"] == verdict:
            claims.setdefault((row["Section"], row["Claim"]), []).append(row)
    return claims


def numbers(text):
    """The numbers in a text, and half a unit of the last digit of each, by which a number may be rounded."""
    digits = re.findall(r"[-+]?\d[\d.]*", text)
    return [float(one) for one in digits], [0.51 * 10 ** -len(one.partition(".")[2]) for one in digits]


@pytest.mark.parametrize(
    ("heading", "verdicts", "columns"),
    [
        ("| section | claim | verdict | difference, by seed |", ("reproduced", "contrary"), ["In favour, each seed"]),
        ("| section | claim | mean | five seeds could show |", ("undecided",), ["In favour, ours", "Could show"]),
    ],
)
def test_the_claims_of_the_page_of_small_are_those_of_the_released_table(heading, verdicts, columns):
    table = cells("docs/small.md", heading)
    released = {verdict: claims_of(verdict) for verdict in verdicts}
    assert len(table) == sum(len(rows) for claims in released.values() for rows in claims.values())
    for section, claim, *shown_cells in table:
        name, _, measure = re.fullmatch(r"(.*?)( \((BLEU|perplexity)\))?", claim).groups()
        rows = [row for claims in released.values() for row in claims.get((section, name), ())]
        [row] = [row for row in rows if row["Measure"].startswith(measure or "")]
        if len(verdicts) > 1:
            assert shown_cells.pop(0) == row["Verdict"]
            assert row["Measure"].startswith(shown_cells[0].split()[0])
        for text, column in zip(shown_cells, columns, strict=False):
            shown, rounding = numbers(text)
            assert len(shown) == len(numbers(row[column])[0])
            for mine, theirs, half in zip(shown, numbers(row[column])[0], rounding, strict=True):
                assert mine == pytest.approx(theirs, abs=half), claim


def test_the_counts_of_claims_are_those_of_the_released_table():
    counts = {name: sum(map(len, claims_of(name).values())) for name in ("reproduced", "undecided", "contrary")}
    spelt = {1: "one", 12: "twelve", 18: "eighteen"}
    reproduced, undecided, contrary = (spelt[count] for count in counts.values())
    readme, small = map(flat, ("README.md", "docs/small.md"))
    sentence = f"{reproduced} are reproduced, {undecided} are undecided, and {contrary} is contrary"
    assert f"Of the {sum(counts.values())} claims that `small` tests, {sentence}" in readme
    sentence = f"that this experiment can test, {reproduced} are **reproduced**, and {contrary} is **contrary**"
    assert f"Of the {sum(counts.values())} [claims](small/tables/claims.md) {sentence}" in small
    assert f"The other {undecided} are undecided" in small


def test_the_published_marks_of_the_pages_are_those_of_the_released_table():
    released = []
    for name in ("multi30k-tiny", "multi30k-tiny-enfr"):
        released += [(row["BLEU, published"], row["BLEU, ours"]) for row in rows_of(f"{name}/tables/marks.csv")]
    page = (ROOT / "docs/multi30k-tiny.md").read_text()
    assert re.findall(r"^\| English.*\| ([\d.]+) \| \*\*([\d.]+)\*\* \|$", page, re.MULTILINE) == released
    (published, ours), *others, (french_published, french), one, two = released
    above, below = (f"{float(mine) - float(theirs):+.1f}" for theirs, mine in others)
    sentence = f"On two further test sets it is {above.strip('+')} BLEU above and {below.strip('-')} below"
    assert sentence in flat("README.md")
    assert f"reaches {ours} BLEU on a CPU. The published BLEU is {float(published):.1f}." in flat("README.md")
    sentence = f"BLEU {ours}, published {float(published):.1f}; English-French {french}, published {french_published}"
    assert sentence in (ROOT / "docs/experiments.md").read_text()
    first, second = (f"{float(mine) - float(theirs):.1f}" for theirs, mine in (one, two))
    sentence = f"For English-French it reaches {french}, the published BLEU is {french_published}, "
    sentence += f"and on the two further test sets it is {first} and {second} above"
    assert sentence in flat("README.md")


def test_the_bleu_on_captions_is_that_of_the_released_table():
    rows = rows_of("quick-captions/tables/table2.csv")
    bleu = {(row["Pair"], row["Model"]): row["BLEU, ours"] for row in rows}
    base, big = ([bleu[pair, f"Transformer ({name})"] for pair in ("en-de", "en-fr")] for name in ("base model", "big"))
    page = flat("docs/experiments.md")
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
