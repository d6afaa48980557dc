"""Tables as Markdown, HTML and LaTeX."""

from transformer.support.markdown import markdown
from workflow.results.common.table_formats import as_latex


def latex(cell):
    return as_latex("T", [("a", "")], [[cell]], [], 1)


def test_a_user_s_text_stands_in_its_cell_as_it_is_written():
    text = "a|b\n\n<b>c</b> $x$ `d` *e* _f_ g_h 1 < 2 \\"
    shown = markdown("T", ["Claim"], [[text]], [text], 1)
    assert r"| a\|b \<b>c\</b> \$x\$ \`d\` \*e* \_f_ g_h 1 < 2 \ |" in shown
    assert r"- a|b \<b>c\</b> $x$" in shown
    assert r"a\textbar{}b $<$b$>$" in latex(text)
    assert r"2\textasciicircum{}25 \textasciitilde{} a\textbackslash{}b\_\%" in latex("2^25 ~ a\\b_%")
    assert r"$\surd$d\_k \& p $<$ 0.05" in latex("√d_k & p < 0.05")


def test_every_line_of_a_table_has_as_many_cells(results):
    _, (md, html, tex) = results.table("table3", [results.run("ende", "base")])
    assert len({line.count("|") for line in md.splitlines() if line.startswith("|")}) == 1
    assert {line.count("&") for line in tex.splitlines() if line.endswith(r"\\")} == {21}
    columns = html.count("<button type=button>")  # which sort by a column
    assert {line.count("<td") for line in html.splitlines() if "<td" in line} == {columns}
    assert all(f"data-column={i} " in html for i in range(columns))


def test_columns_that_are_equal_in_all_rows_are_told_in_a_note_and_stand_in_the_csv(results):
    runs = [results.run("ende", "base"), results.run("ende", "A-h1", p=0.5)]
    rows, texts = results.table("table3", runs, in_full=[])
    assert [row["Steps, published"] for row in rows] == ["100000", "100000"]
    assert [row["sacreBLEU, differs on other sentences"] for row in rows] == ["", ""]
    headings = texts[0].splitlines()[2]
    assert [name in headings for name in ("Steps", "differs on other", "Perplexity, published")] == [False, False, True]
    for text in texts:
        assert "Equal in all rows: Steps, published 100000" in text
        assert "How to read this table" in text
        assert "docs/tables.md" in text
    _, (md, _, _) = results.table("table3", runs[:1], in_full=[])
    assert "Steps, ours" in md.splitlines()[2]  # a single row keeps all


def test_a_html_table_can_stand_in_another_page_and_sorts_numbers_with_exponents(results):
    _, (_, html, _) = results.table("table2", [results.run("ende", "base", part="test")])
    before, _, after = html.partition("<section class=results>")
    section, _, end = after.partition("</section>")
    assert "<table" not in before + end
    assert [section.count(f"<{tag}") for tag in ("table>", "caption>", "style>", "script>")] == [1] * 4
    style = section[section.index("<style>") + 7 : section.index("</style>")]
    assert all(line.startswith(".results ") for line in style.splitlines() if line)
    assert "<td data-value=3.3e+18>3.3·10<sup>18</sup></td>" in section
    assert "Vinyals &amp; Kaiser" in results.table("table4", [], trained_on={})[1][1]
