import pytest

from transformer.corpora.codes import stands_for_blank


@pytest.mark.parametrize(
    "said",
    [
        *("lb", "LB", "pb", "cp", "xlf:lb", "x-html-br", "x-p", "LINE_BREAK", "x-linebreak", "newline", "nbsp"),
        *("<br/>", "<BR>", '<br class="a">', "</p><p>", "</li>", "<w:tab/>", "<text:line-break/>", "[br]"),
        *(" ", "\n", "\t", "\u00a0", "&nbsp;", "&lt;br&gt;", "\\n", "\\t", "{\\line }", "\\par", "</b> <i>", "↵"),
    ],
)
def test_line_breaks_tabs_and_borders_of_paragraphs_stand_for_a_blank(said):
    assert stands_for_blank(said)


@pytest.mark.parametrize(
    "said",
    [
        *("bold", "x-html-b", "xlf:b", "image", "x-no-break", "x-monospace", "g", "ph", "bpt", "hi", "mrk", "fmt"),
        *("<b>", "</strong>", '<b class="p">', "<img src='br.png'>", "<a href='x/p'>", "<wbr/>", "<preview>", "<sub>"),
        *("", "{0}", "%s", "{\\b ", "\\pard", "\\tabs", "&amp;", "</b><i>"),
    ],
)
def test_formatting_and_placeholders_do_not(said):
    assert not stands_for_blank(said)
