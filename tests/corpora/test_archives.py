import gzip
import os
import random
import re
import stat
import tarfile
import unicodedata
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packed import ENGLISH, GERMAN, MODES, PACK, read, refused, special, write, write_tar, write_zip

from transformer.corpora import archives, reading
from transformer.corpora.archives import members
from transformer.corpora.location import Location, why_missing
from transformer.support.files import InputError

# Locations


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("my/train.en", Location("my/train.en")),
        ("my/C#/train.en.gz", Location("my/C#/train.en.gz")),
        ("../pairs.tsv.gz#2", Location("../pairs.tsv.gz", column=2)),
        ("my.zip/folder/train.de", Location("my.zip", "folder/train.de")),
        ("a.zip.old/b.TAR.GZ/c.tsv#1", Location("a.zip.old/b.TAR.GZ", "c.tsv", 1)),
        ("http://w.org/wmt10/giga.tar/giga.en.gz", Location("http://w.org/wmt10/giga.tar", "giga.en.gz")),
        ("https://my.zip/train.en", Location("https://my.zip/train.en")),
        ("https://my.zip/a.tgz/train.en", Location("https://my.zip/a.tgz", "train.en")),
        ("file:///data/treebank.zip/treebank/combined", Location("file:///data/treebank.zip", "treebank/combined")),
    ],
)
def test_a_location_is_parsed_into_file_member_and_column_and_printed_unchanged(text, location):
    assert Location.parse(text) == location
    assert str(location) == text


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("corpus.zip/train.en", Location("corpus.zip/train.en")),
        ("corpus.zip/in.tar.gz/train.tsv#2", Location("corpus.zip/in.tar.gz/train.tsv", column=2)),
        ("corpus.zip/x.tgz/a/train.en", Location("corpus.zip/x.tgz", "a/train.en")),
        ("corpus.zip", Location("corpus.zip")),
        ("corpus.zip/in.tar.gz/", Location("corpus.zip/in.tar.gz/")),
        ("link.tar/train.en", Location("link.tar/train.en")),
        ("corpus.zip.zip/train.en", Location("corpus.zip.zip", "train.en")),
        ("https://corpus.zip/x.zip/a", Location("https://corpus.zip/x.zip", "a")),
    ],
)
def test_a_folder_that_is_named_like_an_archive_is_a_folder(tmp_path, monkeypatch, text, location):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.zip/in.tar.gz").mkdir(parents=True)
    (tmp_path / "link.tar").symlink_to("corpus.zip")
    assert Location.parse(text) == location


def test_text_and_archives_in_a_folder_that_is_named_like_an_archive_are_read(tmp_path):
    folder = tmp_path / "corpus.zip"
    folder.mkdir()
    write(folder / "a.en", ENGLISH)
    write_tar(folder / "x.tgz", ("b/a.de", GERMAN))
    assert read(folder / "a.en", folder / "x.tgz/b/a.de", tmp_path) == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize(
    ("path", "wanted", "why"),
    [
        ("$HOME/a.en", "file", "no such file; variables are not replaced here; write the whole path"),
        ("$HOME/trees", "folder", "no such folder; variables are not replaced here; write the whole path"),
        ("no/a.en", "file", "no such file; paths are relative to "),
        ("no", "folder", "no such folder; paths are relative to "),
        ("a.en ", "file", "no such file; its name has a blank at an end; paths are relative to "),
        ("text/", "file", "is a file; remove the / behind it"),
        ("corpus.zip", "file", "is a folder; name a file in it"),
        ("text/a.en", "file", "text is a file, not a folder; if it is an archive, let its name end in .zip, .tar, "),
        ("text/in/a.en", "file", "text is a file, not a folder; "),
        ("text", "folder", "is a file, not a folder; "),
        ("away", "file", "away is a link to nowhere, which does not exist"),
        ("away/a.en", "file", "away is a link to nowhere, which does not exist"),
        ("pipe", "file", "is a device or a pipe; name a file"),
        ("x" * 300, "file", "cannot be read (File name too long); correct the path, "),
    ],
)
def test_a_missing_file_or_folder_is_explained(tmp_path, monkeypatch, path, wanted, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.zip").mkdir()
    (tmp_path / "text").touch()
    (tmp_path / "away").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    assert why_missing(path, wanted).startswith(why)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" ", "empty"),
        ("a.en\n", "it has a line break; remove it"),
        ("#1", "empty"),
        ("ftp://host/a.en", "write a URL as http://"),
        ("http://host", "write a URL as http://"),
        ("http:///a.en", "write a URL as http://"),
        ("http://host/../a.en", "write a URL as http://"),
        ("a.tgz", "add a member, as in a.tgz/MEMBER"),
        ("a.tgz/", "add a member"),
        ("a.tgz//etc/passwd", "not a member"),
        ("a.tgz/../a.en", "not a member"),
        ("a.tgz/b/./a.en", "not a member"),
        ("a.tgz/b/", "not a member"),
        ("a.tgz/b.zip/a.en", "not inside another archive"),
        ("a.tgz/b.tar", "not inside another archive"),
        ("a.tsv", "add a column, as in a.tsv#1"),
        ("a.tsv#0", "only a column of a .tsv, counted from 1"),
        ("a.tsv#-1", "only a column of a .tsv, counted from 1"),
        ("a.tsv#", "only a column of a .tsv, counted from 1"),
        ("a.tsv#two", "only a column of a .tsv, counted from 1"),
        ("a.en#2", "only a column of a .tsv, counted from 1"),
        ("a.zip/a.en.gz#2", "only a column of a .tsv, counted from 1"),
    ],
)
def test_a_wrong_location_is_refused(text, problem):
    with pytest.raises(InputError, match=re.escape(problem)) as error:
        Location.parse(text)
    assert str(error.value).startswith(f"location {text!r}: ")


@given(st.text(alphabet="ab./#:12", max_size=12) | st.text())
def test_every_text_is_refused_or_is_a_location_that_is_printed_unchanged(text):
    with suppress(InputError):
        assert str(Location.parse(text)) == text


# Archives and compressed files


@pytest.mark.parametrize(
    ("kind", "to"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "a.de"),
        *((kind, "") for kind in (tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE)),
    ],
)
@pytest.mark.parametrize("suffix", [".tar", ".tgz"])
def test_a_member_that_is_not_a_plain_file_is_refused(tmp_path, kind, to, suffix):
    path = write_tar(tmp_path / f"x{suffix}", ("a.de", GERMAN), special("a.en", kind, linkname=to))
    assert f"{path}/a.en: the member is not a plain file" in refused(f"{path}/a.en", f"{path}/a.de", tmp_path)


def zip_entry(name, mode=0, flags=0):
    info = zipfile.ZipInfo(name)
    info.external_attr, info.flag_bits = mode << 16, flags
    return info


def test_a_link_or_a_folder_in_a_zip_is_refused(tmp_path):
    path = write_zip(tmp_path / "x.zip", (zip_entry("a.en", stat.S_IFLNK | 0o777), b"/etc/passwd"), ("a.de/", b""))
    assert "is not a plain file" in refused(f"{path}/a.en", f"{path}/a.en", tmp_path)
    assert "is not a plain file" in refused(f"{path}/a.de", f"{path}/a.de", tmp_path)


@pytest.mark.parametrize(
    ("offset", "value", "why"),
    [
        (8, 1, "needs a password"),  # the flag of encryption
        *((10, method, "is packed by a method that we do not have") for method in (9, 93, 98)),  # Deflate64, zstd, PPMd
    ],
)
def test_a_sound_member_that_cannot_be_unpacked_here_is_not_called_damaged(tmp_path, offset, value, why):
    path = write_zip(tmp_path / "x.zip", ("a.en", ENGLISH))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + offset] = value
    write(path, content)
    message = refused(f"{path}/a.en", f"{path}/a.en", tmp_path)
    assert message.startswith(f"{path}/a.en: {why}")
    assert message.endswith(f"; unpack it with another program (7z x {path}), and name the unpacked text")


@pytest.mark.parametrize("asked", ["NFC", "NFD"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_in_nfc_and_in_nfd_is_one_name(tmp_path, form, asked):
    name, wanted = (unicodedata.normalize(each, "über/größe.en") for each in (form, asked))
    for path in (write_zip(tmp_path / "x.zip", (name, ENGLISH)), write_tar(tmp_path / "x.tgz", (name, ENGLISH))):
        assert read(f"{path}/{wanted}", f"{path}/{wanted}", tmp_path) == [("one", "one"), ("two", "two")]
    (path := tmp_path / unicodedata.normalize(asked, "ä") / name).parent.mkdir(parents=True)
    write(path, ENGLISH)
    asked = tmp_path / unicodedata.normalize(form, "ä") / wanted
    assert read(asked, asked, tmp_path) == [("one", "one"), ("two", "two")]


def test_names_of_zips_of_macos_are_utf_8_although_they_do_not_say_so(tmp_path):
    path = write_zip(tmp_path / "x.zip", (unicodedata.normalize("NFD", "größe.en"), ENGLISH))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\3\4") + 7] = content[content.index(b"PK\1\2") + 9] = 0
    write(path, content)
    assert read(f"{path}/größe.en", f"{path}/größe.en", tmp_path) == [("one", "one"), ("two", "two")]


@pytest.mark.parametrize("name", ["/a.en", "b/../a.en"])
@pytest.mark.parametrize(("suffix", "writer"), [(".tgz", write_tar), (".zip", write_zip)])
def test_a_member_outside_the_archive_is_refused(tmp_path, name, suffix, writer):
    path = writer(tmp_path / f"x{suffix}", (name, ENGLISH))
    assert f"lies outside the archive, at {name};" in refused(f"{path}/a.en", f"{path}/a.en", tmp_path)


@pytest.fixture
def low_limit(monkeypatch):
    """A file may unpack to 20,000 bytes only, or to 20 times its size."""
    monkeypatch.setattr(archives, "LEAST_LIMIT", 20_000)
    monkeypatch.setattr(archives, "EXPANSION", 20)


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize(("suffix", "writer"), [(".tgz", write_tar), (".tar.xz", write_tar), (".zip", write_zip)])
def test_a_bomb_in_an_archive_is_refused(tmp_path, monkeypatch, suffix, writer):
    path = writer(tmp_path / f"x{suffix}", ("a.en", b"\n" * 30_000), ("a.de", GERMAN))
    for module in (archives, reading):
        monkeypatch.setattr(module, "BUFFER", 4096)
    assert "unpacks to 30000 bytes, and the limit" in refused(f"{path}/a.en", f"{path}/a.de", tmp_path)
    monkeypatch.setattr(archives, "LEAST_LIMIT", 60_000)
    assert len(read(f"{path}/a.en", f"{path}/a.en", tmp_path)) == 30_000


def test_the_declared_size_of_a_sparse_member_counts(tmp_path):
    head = special("a.en", tarfile.GNUTYPE_SPARSE, size=0).tobuf()
    fields = bytearray(head)
    fields[483:495] = b"%011o\0" % 2**33  # the declared size; nothing of it is stored
    fields[148:156] = b" " * 8
    fields[148:156] = b"%06o\0 " % sum(fields[:512])
    path = write(tmp_path / "x.tar", bytes(fields) + bytes(1024))
    assert f"unpacks to {2**33} bytes" in refused(f"{path}/a.en", f"{path}/a.en", tmp_path)


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_compressed_file_that_unpacks_to_too_much_is_stopped(tmp_path, suffix):
    path = write(tmp_path / f"a{suffix}", PACK[suffix](b"\n" * 30_000))
    assert f"{path}: unpacks to more than 20000 bytes;" in refused(path, path, tmp_path)
    inner = write_tar(tmp_path / "x.tar", (f"a{suffix}", path.read_bytes()))
    assert f"{inner}/a{suffix}: unpacks to more than 20000 bytes;" in refused(f"{inner}/a{suffix}", path, tmp_path)


def test_the_limit_is_two_hundred_times_the_size_of_the_file_and_at_least_64_mib():
    assert (archives.EXPANSION, archives.LEAST_LIMIT) == (200, 64 * 1024**2)


NOISE = random.Random(2).randbytes(60_000).hex().encode()


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("harm", ["cut", "other", "flip"])
def test_a_damaged_compressed_file_is_named_with_the_remedy(tmp_path, suffix, harm):
    packed = PACK[suffix](NOISE)
    middle = len(packed) // 2
    flipped = packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :]
    harmed = {"cut": packed[:-20], "other": b"<html>not found</html>", "flip": flipped}
    path = write(tmp_path / f"a{suffix}", harmed[harm])
    message = refused(path, path, tmp_path)
    assert message.startswith(f"{path}: damaged or cut short (")
    assert message.endswith(f"; remove {path} and download it again")


@pytest.mark.parametrize("suffix", [*MODES, ".zip"])
@pytest.mark.parametrize("harm", ["cut", "other", "empty"])
def test_a_damaged_archive_is_named_with_the_remedy(tmp_path, suffix, harm):
    writer = write_zip if suffix == ".zip" else write_tar
    path = writer(tmp_path / f"x{suffix}", ("b", NOISE), ("a.en", NOISE))
    content = path.read_bytes()
    write(path, {"cut": content[: len(content) * 3 // 4], "other": b"<html>" * 200, "empty": b""}[harm])
    message = refused(f"{path}/a.en", f"{path}/a.en", tmp_path)
    assert re.match(rf"{path}(/a.en)?: damaged or cut short \(", message)
    assert message.endswith(f"; remove {path} and download it again")


def test_a_damaged_member_names_the_archive_to_remove(tmp_path):
    path = write_tar(tmp_path / "x.tar", ("a.gz", gzip.compress(NOISE)[:-100]))
    message = refused(f"{path}/a.gz", f"{path}/a.gz", tmp_path)
    assert message.startswith(f"{path}/a.gz: damaged")
    assert message.endswith(f"; remove {path} and download it again")
    path = write_zip(tmp_path / "x.zip", ("a", NOISE))
    content = bytearray(path.read_bytes())
    content[1000] ^= 255
    write(path, content)
    assert f"{path}/a: damaged" in refused(f"{path}/a", f"{path}/a", tmp_path)


@pytest.mark.parametrize("name", ["no", "no.gz", "no.tgz/a", "no.zip/a", "room.d", "room.zip/a", "room.tar/a"])
def test_a_missing_file_is_named(tmp_path, name):
    for room in ("room.d", "room.zip", "room.tar"):
        (tmp_path / room).mkdir()
    named = r"(no|room)\S*: cannot be read \((No such file or|Is a) directory\); correct the location"
    assert re.search(named, refused(tmp_path / name, tmp_path / name, tmp_path))


@pytest.mark.parametrize(("suffix", "writer"), [(".tgz", write_tar), (".zip", write_zip)])
def test_a_member_whose_path_leads_through_a_link_is_refused_with_the_link(tmp_path, suffix, writer):
    link = zip_entry("b/link", stat.S_IFLNK | 0o777), b"real"
    link = special("b/link", tarfile.SYMTYPE, linkname="real") if writer is write_tar else link
    path = writer(tmp_path / f"x{suffix}", ("b/real/a.en", ENGLISH), link, ("b/link2/a.en", ENGLISH))
    message = refused(f"{path}/b/link/a.en", f"{path}/b/link/a.en", tmp_path)
    assert message == f"{path}/b/link/a.en: b/link is a link; name the folder that it links to, or unpack the archive"
    assert read(f"{path}/b/link2/a.en", f"{path}/b/real/a.en", tmp_path) == [("one", "one"), ("two", "two")]


@pytest.mark.parametrize("suffix", [*[each for each in PACK if each], *MODES, ".zip"])
def test_a_compressed_file_or_archive_whose_name_does_not_say_so_is_refused_with_the_remedy(tmp_path, suffix):
    if suffix in PACK:
        packed, ending = PACK[suffix](ENGLISH), suffix
    else:
        writer = write_zip if suffix == ".zip" else write_tar
        packed = writer(tmp_path / f"x{suffix}", ("a.en", ENGLISH)).read_bytes()
        ending = {".tgz": ".gz"}.get(suffix, f".{suffix.split('.')[-1]}")
    path = write(tmp_path / "train.en", packed)
    assert f"{path}: is " in refused(path, path, tmp_path)
    assert f"; let the file's name end in {ending}" in refused(path, path, tmp_path)
    inner = write_zip(tmp_path / "y.zip", ("train.en", packed))
    assert f"{inner}/train.en: is " in refused(f"{inner}/train.en", f"{inner}/train.en", tmp_path)


UNPACK = "unpack it, or save its text as a plain file"


@pytest.mark.parametrize(
    ("kind", "start", "remedy"),
    [
        ("compressed by zstd", b"\x28\xb5\x2f\xfd", UNPACK),
        ("compressed by lz4", b"\x04\x22\x4d\x18", UNPACK),
        ("a 7z archive", b"7z\xbc\xaf\x27\x1c", UNPACK),
        ("a RAR archive", b"Rar!\x1a\x07", UNPACK),
        ("a PDF", b"%PDF-1.7", UNPACK),
        ("a file of Microsoft Office", b"\xd0\xcf\x11\xe0", UNPACK),
        ("a pointer of Git LFS", b"version https://git-lfs.github.com/spec/v1", "fetch its content: git lfs pull"),
        ("a web page", b"<!DOCTYPE html>", "download the text itself"),
        ("a web page", b"\n<html lang='en'>", "download the text itself"),
    ],
)
def test_a_file_of_a_kind_that_is_not_read_is_refused_by_its_kind(tmp_path, kind, start, remedy):
    path = write(tmp_path / "train.en", start + b"\n")
    assert refused(path, path, tmp_path) == f"{path}: is {kind}, which is not read; {remedy}"
    packed = write_zip(tmp_path / "x.zip", ("train.en", path.read_bytes()))
    assert f"{packed}/train.en: is {kind}" in refused(f"{packed}/train.en", f"{packed}/train.en", tmp_path)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zip/a"])
def test_a_file_that_the_system_does_not_open_is_not_called_damaged(tmp_path, suffix):
    loop = tmp_path / f"loop{suffix.removesuffix('/a')}"
    loop.symlink_to(loop)
    told = refused(tmp_path / f"loop{suffix}", tmp_path / f"loop{suffix}", tmp_path)
    assert told == f"{loop}: cannot be read (Too many levels of symbolic links); correct the location"


def test_an_archive_that_is_only_named_as_a_compressed_file_is_refused_with_the_remedy(tmp_path):
    tar = write_tar(tmp_path / "x.tgz", ("a.en", ENGLISH)).rename(tmp_path / "x.gz")
    assert (
        f"{tar}: is an archive; let the file's name end in .tar.gz, and name a member, as in NAME.tar.gz/M"
        in refused(tar, tar, tmp_path)
    )


def test_members_are_listed_in_the_order_of_the_archive_and_opened_one_by_one(tmp_path):
    for path in (
        write_tar(tmp_path / "x.tgz", ("b/2", b"two"), special("b", tarfile.DIRTYPE), ("./b/1", b"one")),
        write_zip(tmp_path / "x.zip", ("b/2", b"two"), ("b/", b""), ("b/1", b"one")),
    ):
        read_members = [(each.path, each.open().read()) for each in members(str(path)) if each.path != "b"]
        assert read_members == [("b/2", b"two"), ("b/1", b"one")]
