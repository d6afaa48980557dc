"""Numbers in the text of pages beside the released tables, and numbers that pages compute from others beside them."""

import re

import numpy as np
import pytest

from tests.pages import ROOT
from tests.released_tables import bleu, cell, gain, hours_of, perplexity, rows_of, size, text_of

PAGES = [page for folder in ("docs", "docs/notes") for page in (ROOT / folder).glob("*.md")]


def test_the_table_of_quick_is_that_of_the_released_tables():
    base, big = "Transformer (base*", "Transformer (big*"
    shown = [
        f"| Table 2, {name}, {language} | {cell('quick/table2', 'BLEU, published', Pair=pair, Model=model)} BLEU "
        "| {} BLEU, {} sacreBLEU |".format(*bleu("quick/table2", pair, model))
        for name, model in (("base", base), ("big", big))
        for pair, language in (("en-de", "English-German"), ("en-fr", "English-French"))
    ]
    for name, model in (("an LSTM with attention", "Recurrent*"), ("a convolutional model", "Convolutional*")):
        scores = "{} BLEU, {} sacreBLEU".format(*bleu("quick/table2", "en-de", model))
        shown.append(f"| {name}, as large as base, English-German (not in the paper) | | {scores} |")
    perplexity = [cell("quick/table3", f"Perplexity, {whose}", Model="base") for whose in ("published", "ours")]
    shown.append("| Table 3, base, perplexity of a subword | {} | {} |".format(*perplexity))
    for name, training in (("trees only", "WSJ only*"), ("semi-supervised", "semi-supervised")):
        published, ours = (
            cell("quick/table4", f"F1, {whose}", Training=training, Parser="Transformer*")
            for whose in ("published", "ours")
        )
        shown.append(
            f"| Table 4, parser, {name} | {published} F1 (Wall Street Journal) | {ours} F1 (generated English) |"
        )
    assert [line for line in shown if line not in text_of("docs/results.md")] == []


def ratios(score):
    """The perplexity of unscaled or additive scores beside scaled ones, in percent more, for the three d_k."""
    found = []
    for d_k in ("16", "64", "256"):
        mine, scaled = (
            float(cell("small/scaling", "Perplexity, ours", Score=kind, d_k=d_k)) for kind in (score, "scaled")
        )
        found.append(f"{100 * (mine / scaled - 1):.0f}")
    return found


def learned(measure, lengths):
    """A score of sinusoids and of learned positions in `small`, on pairs of these lengths."""
    column = f"{measure} by subwords of the longer side, {lengths}"
    return [float(cell("small/positions", column, Positions=name)) for name in ("sinusoids", "learned")]


def time(model, whose="ours", digits=2):
    """How many times as long as base's a step of this row takes."""
    return size("small/step_time", f"Time, x base, {whose}", digits, Model=model)


def test_the_page_of_small_has_the_differences_of_its_tables():
    drop, smooth, heads = "D-drop0.0", "D-ls0.0", "AOP2"
    modern = sorted(float(perplexity(name, table="positions")) for name in ("E-rotary", "E-t5", "E-alibi"))
    within, beyond = (learned("Perplexity", lengths) for lengths in ("1 to 30", "31 to 45"))
    eight, one = (float(cell("small/step_time", "Milliseconds a step, mean", Model=name)) for name in ("base", "A-h1"))
    in_quick = cell("quick/claims", "In favour, ours", Claim="Eight heads*").removeprefix("base ")
    told = [
        f"Without dropout, perplexity is {perplexity(drop, digits=1)} % higher (the paper's: "
        f"{perplexity(drop, 'published')} %)",
        f"Without label smoothing, perplexity is {perplexity(smooth, digits=1)} % lower and BLEU {gain(smooth)} lower "
        f"(the paper's: {perplexity(smooth, 'published')} % and {gain(smooth, 'published')})",
        f"32 heads lose {gain('A-h32')} BLEU",
        f"Big gains {size('small/claims', 'In favour, ours', 1, Claim='Big is better*German')} BLEU on test",
        f"With 16 heads it has a lower one ({perplexity(heads, digits=1, table='appendix')} %; the paper's: "
        f"{perplexity(heads, 'published', 1, 'appendix')} %)",
        f"16 heads lose {gain('A-h16')} BLEU, where the paper's lose nothing, and 4 heads gain {gain('A-h4')}, "
        f"where the paper's lose {gain('A-h4', 'published')}",
        f"A dropout of 0.2 raises perplexity by {perplexity('D-drop0.2')} %; in the paper by "
        f"{perplexity('D-drop0.2', 'published')} %",
        f"have {modern[0]:.0f} to {modern[-1]:.0f} % lower perplexity than sinusoids",
        "perplexity rises by {} %, {} % and {} % as keys get wider".format(*ratios("unscaled")),
        "Additive attention raises it by {} %, {} % and {} %".format(*ratios("additive")),
        f"have {100 * (1 - within[1] / within[0]):.0f} % lower perplexity than sinusoids on pairs of at most 30 "
        f"subwords, the longest in training, and {100 * (beyond[1] / beyond[0] - 1):.0f} % higher on pairs of 31 to 45",
        "(sacreBLEU of these 200 pairs shows no difference, {} and {},".format(
            *reversed(learned("sacreBLEU", "31 to 45"))
        ),
        f"step takes {time('additive-dk64', digits=1)} times as long",
        f"faster than the recurrent model ({time('recurrent')} times)",
        f"({time('aop1')} times with 8 heads, {time('aop2')} with 16; in the paper {time('aop1', 'published')})",
        f"eight heads take {100 * (eight / one - 1):.0f} % longer than one, probably because each of them is only 8 "
        f"wide here ({in_quick} % in `quick`",
        "learned ones gain {:.1f} sacreBLEU up to 30 subwords".format(-np.subtract(*learned("sacreBLEU", "1 to 30"))),
    ]
    assert [sentence for sentence in told if sentence not in text_of("docs/small.md")] == []
    assert f"twice the width (C-d1024) gains {gain('C-d1024')} BLEU" in text_of("docs/own-text.md")
    notes = (ROOT / "docs/small/tables/claims.md").read_text()
    for words in (
        "perplexity: .* correlation .Spearman. of (.*?), and of (.*?) without",
        "BLEU: .* of (.*?), and of (.*?) without",
    ):
        both, without = re.search(f"Table 3, {words}", notes).groups()
        assert both in text_of("docs/small.md")
        assert without in text_of("docs/small.md")


def test_the_page_of_results_has_the_differences_of_its_tables():
    here, captions = {"of": "quick"}, {"of": "quick-captions"}
    layers, smooth, aop = "C-N8", "D-ls0.0", {"table": "appendix"}
    recurrent, convolutional = (
        [
            size(f"{name}/claims", "In favour, ours", 1, Claim=f"The Transformer beats a {model} model as large")
            for name in ("quick", "quick-captions")
        ]
        for model in ("recurrent", "convolutional")
    )
    told = [
        f"({layers}) raise perplexity by {perplexity(layers, digits=1, **here)} % on the help pages and by "
        f"{perplexity(layers, digits=1, **captions)} % on captions; in the paper they lower it by "
        f"{perplexity(layers, 'published', 1)} %",
        f"perplexity rises by {perplexity(smooth, digits=1, **here)} % on the help pages and by "
        f"{perplexity(smooth, digits=1, **captions)} % on captions; in the paper it falls by "
        f"{perplexity(smooth, 'published', 1)} %",
        f"Without dropout, perplexity falls by {perplexity('D-drop0.0', digits=1, **captions)} % on captions; in the "
        f"paper it rises by {perplexity('D-drop0.0', 'published', 1)} %",
        f"(D-ls0.2) costs {gain('D-ls0.2', **captions)} BLEU on captions; in the paper {gain('D-ls0.2', 'published')}.",
        f"have {perplexity('A-h1', digits=1, **here)} % and {perplexity('A-h4', digits=1, **here)} % lower perplexity "
        f"than eight on the help pages; in the paper {perplexity('A-h1', 'published', 1)} % and "
        f"{perplexity('A-h4', 'published', 1)} % higher perplexity",
        f"{smooth} has {perplexity(smooth, digits=1)} % lower perplexity than base, as in the paper, and {layers} "
        f"{perplexity(layers, digits=1)} %",
        "leads the recurrent model by {} BLEU on the help pages, and by {} on".format(*recurrent),
        "The convolutional model leads base by {} and".format(*convolutional),
        f"has {gain('AOP1', **here, **aop)} BLEU more than base with 8 heads, and {gain('AOP2', **here, **aop)} more "
        f"with 16; in the paper it loses {gain('AOP1', 'published', **aop)} and gains "
        f"{gain('AOP2', 'published', **aop)}. On captions it gains "
        f"{gain('AOP1', **captions, **aop)} and loses {gain('AOP2', **captions, **aop)}.",
    ]
    assert [sentence for sentence in told if sentence not in text_of("docs/results.md")] == []


LENGTH = {
    "copy-one": "One repeated symbol",
    "copy": "Real copying",
    "reverse": "Reversing",
    "addition": "Addition",
    "sum": "Sums",
}


@pytest.mark.parametrize(("task", "begins"), LENGTH.items())
def test_the_page_of_length_has_shares_and_correlations_of_its_table(task, begins):
    bullet = re.search(rf"- \*\*{begins}.*?(?= - \*\*|\n\n|$)", text_of("docs/length.md"))[0]
    rows = [row for row in rows_of("length/length") if row["Task"] == task]
    shares = {
        round(float(cell.split(" ")[0]), 2) for row in rows for key, cell in row.items() if "engths" in key and cell
    }
    correlations = {float(row["Correlation of ranks"]) for row in rows if row["Correlation of ranks"]}
    numbers = [float(one) for one in re.findall(r"-?\d\.\d+", bullet)]
    assert numbers
    assert [number for number in numbers if number not in shares | correlations] == []


def test_the_page_of_length_says_how_far_sinusoids_reach_and_by_how_much_none_leads():
    of_task = {
        row["Task"]: row["Unseen lengths, ours"] for row in rows_of("length/length") if row["Positions"] == "sinusoids"
    }
    first, *others = (float(share.split(" ")[0]) for share in of_task.values())
    sentence = (
        f"they solve {first:.2f} of the problems with one repeated symbol, and at most {max(others):.2f} in the other"
    )
    assert sentence in text_of("docs/length.md")
    notes = (ROOT / "docs/length/tables/length.md").read_text()
    number = r"[-+](0\.\d\d)"
    interval = rf"{number} .95 % interval {number} to {number}."
    lead = re.search(f"copy-one {interval}", notes).groups()
    behind, more, less = re.search(f"copy {interval}", notes).groups()
    assert "of each seed by {} (95 % interval {} to {})".format(*lead) in text_of("docs/length.md")
    sentence = (
        f"`none` is {behind} behind the best other encoding (95 % interval {less} to {more}), which is not significant"
    )
    assert sentence in text_of("docs/length.md")
    assert len(re.findall("interval [^)]*., undecided", notes)) == len(LENGTH)


def test_the_scores_of_the_page_of_wsj_cpu_are_those_of_its_table():
    columns = [
        "F1, ours",
        "Ours, recall",
        "Ours, precision",
        "Ours, exact",
        "Ours, F1 up to 40 words",
        "Ours, repaired",
    ]
    page = text_of("docs/wsj-cpu.md").replace("**", "")
    for name, training in (("trees only", "WSJ only*"), ("semi-supervised", "semi*")):
        row = [cell("wsj-cpu/table4", column, Training=training, Parser="Transformer*") for column in columns]
        shown = re.search(rf"\| {name} \| ([\d. |]+?) \| [\d.]+ min", page)[1].split(" | ")
        assert [one for one in zip(shown, row, strict=True) if abs(float(one[0]) - float(one[1])) > 0.051] == []
        more = ["average crossing", "no crossing", "2 or less crossing"]
        row = [cell("wsj-cpu/table4", f"Ours, {column}", Training=training, Parser="Transformer*") for column in more]
        assert f" | {' | '.join(row)} |" in page
    scores = [
        cell("wsj-cpu/table4", "F1, ours", Training=each, Parser="Transformer*") for each in ("WSJ only*", "semi*")
    ]
    assert "{} F1, and {} semi-supervised".format(*scores) in text_of("docs/results.md")
    assert "F1 {}, and {} semi-supervised".format(*scores) in text_of("docs/experiments.md")
    assert f"has {scores[0]} F1 on test" in page
    assert f"`semi`) and has {scores[1]}" in page


CORES = {"multi30k-tiny-enfr": 2}  # of a training; the others have one


def test_what_was_spent_is_the_sum_of_the_released_runs():
    for names, digits in (
        (("small",), 0),
        (("replication",), 0),
        (("multi30k-tiny", "multi30k-tiny-enfr", "multi30k-tiny-replication"), 0),
        (("quick", "quick-captions"), 1),
    ):
        hours = [each * CORES.get(name, 1) for name in names for each in hours_of(name)]
        assert len(hours) == sum(len(rows_of(f"{name}/runs")) for name in names)
        line = rf"\| `{names[0]}`[^|]* \| {len(hours)} \| {sum(hours):.{digits}f} \|"
        assert re.search(line, text_of("docs/evidence.md"))
    runs = rows_of("small/runs")
    dirty = sum("dirty" in row["Commit"] for row in runs)
    assert f"{dirty} of the {len(runs)} runs of `small` were made with uncommitted" in text_of("docs/evidence.md")


def test_the_published_marks_of_other_pages_are_those_of_the_released_table():
    (german, german_ours), (french, french_ours) = (
        [cell(f"{name}/marks", f"BLEU, {whose}", **{"Test set": "*2016*"}) for whose in ("published", "ours")]
        for name in ("multi30k-tiny", "multi30k-tiny-enfr")
    )
    german = f"{float(german):.1f}"
    assert (
        f"this code has {german_ours} BLEU where {german} was published, and {french_ours} where {french} was"
        in text_of("docs/evidence.md")
    )
    [further] = {row["BLEU, each seed"] for row in rows_of("multi30k-tiny-replication/marks")[:1]}
    sentence = "{}, {} and {} BLEU, where {} was published".format(german_ours, *further.split(), german)
    assert sentence in text_of("docs/results.md")


def same_side(table, metric):
    """Of the rows of Table 3 that differ from base in the paper and as printed here: how many lie on its side."""
    pairs = []
    for row in rows_of(table):
        both = [row[f"{metric} from base, {whose}"].split(" ± ")[0].split(" %")[0] for whose in ("published", "ours")]
        pairs += [tuple(map(float, both))] if all(both) and all(map(float, both)) else []
    worse = sum(theirs < 0 if metric == "BLEU" else theirs > 0 for theirs, _ in pairs)
    return sum(theirs * ours > 0 for theirs, ours in pairs), len(pairs), worse


def test_the_rows_on_the_papers_side_are_counted_as_the_tables_print_them():
    page, metrics = text_of("docs/results.md"), ("BLEU", "Perplexity")
    (up, of, worse), (alike, also, worse_too) = (same_side("quick/table3", metric) for metric in metrics)
    assert of == also
    assert f"In {up} of {of} rows of Table 3, BLEU differs from base in the same direction as in the paper" in page
    assert f"In perplexity, {alike} of {of} do." in page
    captions = [number for metric in metrics for number in same_side("quick-captions/table3", metric)[:2]]
    assert [of - each for each in captions[1::2]] == [2, 1]
    told = "On captions, where two rows more have the BLEU of base and one its perplexity, {} of {} and {} of {} do."
    assert told.format(*captions) in page
    guessed = [same_side("quick-captions/table3", metric)[2] for metric in metrics]
    right = f"{worse} and {worse_too} on the help pages, and for {guessed[0]} and {guessed[1]} on captions"
    assert f'guessing "worse" for every row would be right for {right}' in page
    page = text_of("docs/small.md")
    (up, of, worse), (alike, also, worse_too) = (same_side("small/table3", metric) for metric in metrics)
    assert f"Of the other {also}, {alike} lie on the same side of base here" in page
    assert f'guessing "worse than base" for every row would be right for {worse_too}' in page
    assert f"{up} of {of} rows lie on the paper's side" in page
    assert f"The same guess would be right for {worse}" in page


def test_the_page_of_results_names_each_row_whose_perplexity_is_most_against_the_paper():
    told = text_of("docs/results.md").partition("The results most against the paper are these: ")[2]
    lines = told.partition(" These may come from")[0].split(" - ")
    missing = []
    for name, text in (("quick", "help pages"), ("quick-captions", "captions")):
        for row in rows_of(f"{name}/table3"):
            cells = [row[f"Perplexity from base, {whose}"].removesuffix(" %") for whose in ("published", "ours")]
            paper, ours = (float(each or 0) for each in cells)
            if paper * ours < 0 and abs(paper - ours) > 5.5:
                about = {"C-N8": "C-N8", "D-ls0.0": "Without label", "D-drop0.0": "Without dropout"}
                known = [line for line in lines if about.get(row["Model"], row["Model"]) in line and text in line]
                sizes = [f"{abs(each):.1f} %" for each in (paper, ours)]
                missing += [(name, row["Model"])] * (not any(all(each in line for each in sizes) for line in known))
    assert missing == []


def test_the_pages_count_the_reproduced_claims_that_the_length_penalty_concerns():
    rows = [row for row in rows_of("small/claims") if row["Verdict"].startswith("reproduced")]
    assert sum(row["Measure"].startswith("BLEU") for row in rows) == 8
    assert sum("see note" in row["Verdict"] for row in rows) == 2
    assert "Eight of the seventeen reproduced claims are in BLEU. Only these two were also tested" in text_of(
        "docs/small.md"
    )
    assert "what it would give for the other six" in text_of("docs/small.md")
    assert "eight are in BLEU, decoded with a length penalty" in text_of("docs/results.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_column_of_ratios_is_the_quotient_of_the_columns_before_it_or_says_what_it_is(page):
    wrong = []
    for head, body in re.findall(r"^(\|.*)\n\|[-:| ]+\n((?:\|.*\n)+)", page.read_text(), re.MULTILINE):
        names = [name.strip() for name in head.strip("|").split("|")]
        for line in body.splitlines() if "x" in names else []:
            cells = dict(zip(names, (each.strip() for each in line.strip("|").split("|")), strict=True))
            before, after = (float(cells[name]) for name in names[names.index("x") - 2 : names.index("x")])
            wrong += [line] if f"{before / after:.1f}" != cells["x"] else []
        wrong += [name for name in names if re.match(r"x \S", name) and "median of ratios" not in name]
    assert wrong == []


def test_only_the_page_of_installation_says_how_long_make_reproduce_takes():
    told = re.compile(r"(?:`make reproduce`|`quick`)[^.|]*?\d+ minutes|\d+ minutes on two", re.DOTALL)
    pages = [page for page in (*PAGES, ROOT / "CHANGELOG.md") if page.name not in ("install.md", "length.md")]
    assert {page.name: told.findall(page.read_text()) for page in pages if told.search(page.read_text())} == {}
