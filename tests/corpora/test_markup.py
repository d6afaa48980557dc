import pytest

from transformer.corpora.markup import markup


@pytest.mark.parametrize(
    "text",
    [
        *("", "<", "<3 you", "< 5 %", "<= 3", "<-- look", "<<EOF", "<? what", "<!>", "<1>x</1>", "<not a tag"),
        *("<unk> is a word", "<unk>\n<unk>", "<pad><unk>", "<s> a dog </s>", "<de> Hund", "<ann> hi\n<bob> hello"),
        *("<me@host.example> wrote", "<http://host.example/a> is a link", "<name> sleeps", "a <doc id='1'>\n</doc>"),
        *("<b>Open</b>\n<b>Close</b>", "<p>One</p>", "<a href='x'>Here</a>", "<i><b>a</b></i>", "<br/>\ntext"),
        *("<g id='1'>Open</g>", "<x id='1'/>Open", "<applause>\nThank you", "<applause>\n<laughter>\nThank you"),
    ],
)
def test_plain_text_may_begin_with_a_tag_or_less_than(text):
    assert markup(text.encode()) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("<?xml version='1.0'?>\n<a/>", "<!DOCTYPE srcset SYSTEM 'x'>", "<!doctype x>", "<!-- x -->", "<![CDATA[x]]>"),
        *("<url>http://host.example</url>", "<talkid>1</talkid>\r\n", "<title>A talk</title>\nHello"),
        *("<doc docid='1' genre='talks'>\nHello", "<DOC docid=1>\r\n<hl>", "<div class='x'>\nHello"),
        *("<tmx\n a='1'>", "<t:x xmlns:t='y'>\n", "<mteval><srcset setid='x'><doc>", "<corpus>\n<text>\n<s>a</s>"),
        *("<DOC>\nHello\n</DOC>", "<s>\nHello\n</s>", "<seg id='1'>Hello</seg>"),
    ],
)
@pytest.mark.parametrize("before", ["", "\ufeff", "\n \r\n"])
def test_markup_at_the_head_of_a_text_is_told_from_plain_text(text, before):
    assert markup(f"{before}{text}".encode())
