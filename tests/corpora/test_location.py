import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.corpora.location import Location, why_missing
from transformer.support.files import InputError


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("my/train.en", Location("my/train.en")),
        ("my/C#/train.en.gz", Location("my/C#/train.en.gz")),
        ("../pairs.tsv.gz#2", Location("../pairs.tsv.gz", column=2)),
        ("a.zip.old/b.TAR.GZ/c.tsv#1", Location("a.zip.old/b.TAR.GZ", "c.tsv", 1)),
        ("https://my.zip/a.tgz/train.en", Location("https://my.zip/a.tgz", "train.en")),
        ("file:///data/treebank.zip/treebank/combined", Location("file:///data/treebank.zip", "treebank/combined")),
        # A folder that is named like an archive is a folder.
        ("corpus.zip", Location("corpus.zip")),
        ("corpus.zip/x.tgz/a/train.en", Location("corpus.zip/x.tgz", "a/train.en")),
        ("link.tar/train.en", Location("link.tar/train.en")),
        ("https://corpus.zip/x.zip/a", Location("https://corpus.zip/x.zip", "a")),
    ],
)
def test_a_location_is_parsed_into_file_member_and_column_and_printed_unchanged(tmp_path, monkeypatch, text, location):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.zip/in.tar.gz").mkdir(parents=True)
    (tmp_path / "link.tar").symlink_to("corpus.zip")
    assert Location.parse(text) == location
    assert str(location) == text


@pytest.mark.parametrize(
    ("problem", "texts"),
    [
        ("is empty or has a line break", ("", " ", "#1", "a.en\n")),
        ("write a URL as http://", ("ftp://host/a.en", "http://host", "http:///a.en", "http://host/../a.en")),
        ("write the whole path", ("~/dev.de", "${DATA}/dev.de")),
        ("special to Snakemake; rename the file", ("{task}.de", "<temp>.de")),
        ("as in a.tgz/MEMBER", ("a.tgz", "a.tgz/", "a.tgz//etc/passwd", "a.tgz/../a.en", "a.tgz/b/", "a.tgz/b.zip/a")),
        ("add a column, as in a.tsv#1 (the first is 1)", ("a.tsv", "a.tsv#0", "a.tsv#-1", "a.tsv#", "a.tsv#two")),
        ("only the column of a .tsv may follow #", ("a.en#2", "a.zip/a.en.gz#2", "a.en#")),
    ],
)
def test_a_wrong_location_is_refused(problem, texts):
    for text in texts:
        with pytest.raises(InputError, match=f"^location {re.escape(repr(text))}: .*{re.escape(problem)}"):
            Location.parse(text)


@given(st.text(alphabet="ab./#:12", max_size=12) | st.text())
def test_every_text_is_refused_or_is_a_location_that_is_printed_unchanged(text):
    with suppress(InputError):
        assert str(Location.parse(text)) == text


@pytest.mark.parametrize(
    ("path", "wanted", "why"),
    [
        *((path, "file", "no such file; paths are relative to /") for path in ("$HOME/a", "no/a", "text/a", "x" * 300)),
        ("no", "folder", "no such folder; paths are relative to /"),
        *((path, "file", "is not a file; name a file") for path in ("folder", "away")),
        ("text", "folder", "is not a folder; name a folder"),
    ],
)
def test_a_missing_file_or_folder_is_explained(tmp_path, monkeypatch, path, wanted, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").touch()
    (tmp_path / "away").symlink_to("nowhere")
    assert why_missing(path, wanted).startswith(why)
