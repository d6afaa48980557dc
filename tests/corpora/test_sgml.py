import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.corpora.sgml import read_segments
from transformer.support.files import InputError

TAGS = ["script", "title", "plaintext", "P", "body", "hl", "docs", "segment", "seg-x"]


def read(*texts):
    """The texts that are read from a set with these segments."""
    segments = (f'<seg id="{number}">{text}</seg>' for number, text in enumerate(texts, 1))
    lines = ['<srcset setid="x" srclang="any">', '<doc docid="d">', *segments, "</doc>", "</srcset>"]
    found = read_segments("a.sgm", "\n".join(lines).split("\n"))[""]
    assert list(found) == [f"segment {number} of document 'd'" for number in range(1, len(texts) + 1)]
    return list(found.values())


def refused(*lines):
    with pytest.raises(InputError) as error:
        read_segments("a.sgm", lines)
    return str(error.value)


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize(
    "form", ["<{}>", "<{} a='b>c' d=\"e>f\">", "<{}/>", "<{} />", "<{} src=x.js async>", "< {}>", "<{}"]
)
def test_a_start_tag_in_a_segment_stays_and_the_segments_after_it_are_read(tag, form):
    text = f"write a {form.format(tag)} at the top ."
    assert read("one", text, "a &lt;b&gt; &amp; c", f"{text} {text}") == ["one", text, "a <b> & c", f"{text} {text}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&lt;script&gt; &amp;lt; &quot;&apos;&#39;&#x2014;&nbsp;&AMP;", "<script> &lt; \"''\u2014\u00a0&"),
        ("AT&T R&D a & b &; &# &#; &#x; &unknown; &notit;", "AT&T R&D a & b &; &# &#; &#x; &unknown; &notit;"),
        ("?a=1&copy=2&region=3&lt=4 &copy 1 &amp b &ampere;", "?a=1&copy=2&region=3&lt=4 &copy 1 &amp b &ampere;"),
        ('<a href="x?a&amp;b"> &amp; c', '<a href="x?a&amp;b"> & c'),
        ("&#0; &#xD800; &#x110000; &#1; &#xFFFD;", "&#0; &#xD800; &#x110000; &#1; \ufffd"),
        pytest.param(f"&#{'1' * 5000};", f"&#{'1' * 5000};", id="more digits than Python reads"),
        ("1 < 2 <3 a<b a <b c> d <= e <", "1 < 2 <3 a<b a <b c> d <= e <"),
        ("a &#10; &#13; \n b &#xD800; &#1;", "a b &#xD800; &#1;"),
        ('it is "quoted <b" and don\'t <c', 'it is "quoted <b" and don\'t <c'),
    ],
)
def test_references_with_a_semicolon_become_characters_and_all_else_is_text(text, expected):
    assert read("one", text, "three") == ["one", expected, "three"]


@pytest.mark.parametrize(
    "markup",
    [
        *("</script>", "</b x=1>", "</>", "</3", "</ b>", "<!-- x -->", "<!-- x", "<!>", "<![CDATA[x]]>", "<![if x]>"),
        *("<![ x", "<!DOCTYPE html>", "<?xml x?>", "<?", "<doc>", "<DOC docid=2>", "<doc x", "</doc>", "<Seg>", "<seg"),
    ],
)
def test_other_markup_in_a_segment_is_refused_with_its_line(markup):
    lines = ("<doc docid=d>", "<seg id=1>one</seg>", f"<seg id=2>a {markup} b</seg>", "<seg id=3>three</seg>", "</doc>")
    message = refused(*lines)
    assert message.startswith("a.sgm, line 3: segment 2 of document 'd' has markup; write &lt; if its < is text (")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *(
            (text, "markup without its end or beginning")
            for text in ("<!-- a", '<seg id="2>x</seg>', "<seg id=2", "<doc docid='d>", "<DOC", "<segm id=2>two</seg>")
        ),
        *((text, "comes twice, or has no id") for text in ("<seg id=1>two</seg>", "<seg>two</seg>", "<seg id=''/>")),
    ],
)
def test_a_set_that_is_cut_or_ambiguous_is_refused_with_its_line(line, said):
    message = refused("<doc docid=d>", "<seg id=1>one</seg>", line, '<seg id="3">three</seg>', "</doc>")
    assert message.startswith("a.sgm, line 3: ")
    assert said in message
    assert message.endswith("; correct the file")


def test_a_set_of_several_languages_has_the_first_reference_of_each_and_no_output_of_systems():
    lines = """<?xml version="1.0"?><dataset id="x"><doc origlang="en" id="a">
<hyp system='s' lang='de'><p><seg id="1">no</seg></p></hyp>
<src lang='en'><p><seg id="1">a <ref lang='de'> b</seg><seg id="2">two</seg></p></src>
<ref lang='de' translator='A'><p><seg id="1">eins</seg><seg id="2">zwei</seg></p></ref>
<ref lang='de' translator='B'><p><seg id="1">no</seg><seg id="2">no</seg></p></ref>
</doc><doc id="b"><ref lang='de'><seg id="1">drei</seg></ref><src lang='en'><seg id="1">three</seg></src></doc>"""
    names = ["segment 1 of document 'a'", "segment 2 of document 'a'", "segment 1 of document 'b'"]
    assert read_segments("a.xml", lines.split("\n")) == {
        "en": dict(zip(names, ["a <ref lang='de'> b", "two", "three"], strict=True)),
        "de": dict(zip(names, ["eins", "zwei", "drei"], strict=True)),
    }


@given(st.text(st.sampled_from("<>/!?&;#\"'= -seg[]docabx1\n"), max_size=30))
def test_a_segment_is_read_whole_or_refused(text):
    try:
        found = read("one", text, "three")
    except InputError:
        return
    assert [found[0], found[2]] == ["one", "three"]
    if "&" not in text:
        assert found[1] == " ".join(text.split())
