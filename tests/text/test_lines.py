import pytest

from transformer.support.files import InputError
from transformer.text.lines import check_file
from transformer.text.subwords import Subwords


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("cat " * 4096, "4097 subwords, but at most 4096 can be translated; split the line"),
        ("the \0 cat", "a NUL char"),
        ("", "'' has no subword; correct or remove this line"),
        ("\u200b\ufeff \u2581\x07", r"'\\u200b\\ufeff \\u2581\\x07' has no subword"),
    ],
)
def test_a_file_with_a_line_that_cannot_be_decoded_is_refused_with_the_line(subwords, tmp_path, line, fault):
    loaded, path = Subwords(subwords), tmp_path / "dev.source"
    assert len(loaded.encode(["cat"])[0]) == 2
    path.write_text("the cat .\na dog\n" + "cat " * 4095)
    check_file(path, loaded)
    path.write_text(f"the cat .\na dog\n{line}\n")
    with pytest.raises(InputError, match=f"^{path}, line 3: {fault}"):
        check_file(path, loaded)
