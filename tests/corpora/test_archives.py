import gzip
import random
import re
import stat
import tarfile
import zipfile

import pytest
from packed import ENGLISH, GERMAN, MODES, PACK, read, refused, special, write, write_tar, write_zip

from transformer.corpora import archives

PAIRS = [("one", "one"), ("two", "two")]
NOISE = random.Random(2).randbytes(60_000).hex().encode()
BOTH = pytest.mark.parametrize(("suffix", "writer"), [(".tgz", write_tar), (".zip", write_zip)])


def link(writer, name, to):
    """An entry of an archive that is a link."""
    if writer is write_tar:
        return special(name, tarfile.SYMTYPE, linkname=to)
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, to.encode()


@BOTH
def test_names_are_those_below_the_archive_and_only_the_members_that_are_named_are_unpacked(tmp_path, suffix, writer):
    entries = [("/etc/a.en", ENGLISH), ("../b.en", ENGLISH), ("./c/d/../e.en", ENGLISH), ("other/f", b"no")]
    path = writer(tmp_path / f"x{suffix}", *entries, link(writer, "other/g", "/etc/passwd"))
    for name in ("etc/a.en", "b.en", "c/e.en"):
        assert read(f"{path}/{name}", f"{path}/{name}", tmp_path) == PAIRS
    archives.unpack(str(path), {"c"}, tmp_path / "out", below=True)
    assert [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()] == ["e.en"]


def test_an_archive_is_read_once_for_both_sides(tmp_path, monkeypatch):
    path, really_open, opened = write_tar(tmp_path / "x.tgz", ("a.de", GERMAN), ("a.en", ENGLISH)), tarfile.open, []
    monkeypatch.setattr(tarfile, "open", lambda *given: opened.append(given) or really_open(*given))
    assert read(f"{path}/a.en", f"{path}/a.de", tmp_path) == [("one", "eins"), ("two", "zwei")]
    assert len(opened) == 1


@pytest.mark.filterwarnings("ignore:Duplicate name")
@BOTH
def test_a_member_that_is_missing_or_no_plain_file_or_comes_twice_is_refused(tmp_path, suffix, writer):
    fifo = [special("fifo", tarfile.FIFOTYPE)] if writer is write_tar else []
    entries = [("./training/a.de-en.en", ENGLISH), ("a", b""), ("./a", b""), link(writer, "b", "training"), *fifo]
    path = writer(tmp_path / f"x{suffix}", *entries)
    missing = "no such plain file in the archive (closest: "
    for name, said in {
        "a.de-en.en": f"{missing}training/a.de-en.en); name a file, no link, or, if",
        "b/a.de-en.en": f"{missing}training/a.de-en.en)",
        "training": f"{missing}training/a.de-en.en)",
        **dict.fromkeys(("qq", "b", "fifo"), f"{missing}none has a similar name)"),
        "a": "two members have this name; unpack the right one",
    }.items():
        assert refused(f"{path}/{name}", f"{path}/{name}", tmp_path).startswith(f"{path}/{name}: {said}")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", *MODES, ".zip"])
@pytest.mark.parametrize("harm", ["cut", "other", "flip"])
def test_what_is_damaged_is_named_with_the_remedy(tmp_path, suffix, harm):
    path, entries = tmp_path / f"x{suffix}", [("b", NOISE), ("a.en", NOISE)]
    writer = write_zip if suffix == ".zip" else write_tar
    packed = PACK[suffix](NOISE) if suffix in PACK else writer(path, *entries).read_bytes()
    middle = len(packed) * 3 // 4
    flipped = packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :]
    write(path, {"cut": packed[:middle], "other": b"<html>" * 200, "flip": flipped}[harm])
    name = path if suffix in PACK else path / "a.en"
    if (suffix, harm) != (".tar", "flip"):  # a tar has no checksum
        message = refused(name, name, tmp_path)
        assert re.match(rf"{path}(/a.en)?: damaged or cut short \(", message)
        assert message.endswith(f"; remove {path} and download it again")


@pytest.mark.parametrize("name", ["no", "no.gz", "no.tgz/a", "no.zip/a", "room.d", "loop", "loop.gz", "loop.zip/a"])
def test_a_file_that_the_system_does_not_open_is_named(tmp_path, name):
    (tmp_path / "room.d").mkdir()
    for loop in ("loop", "loop.gz", "loop.zip"):
        (tmp_path / loop).symlink_to(loop)
    named = r"(no|room|loop)\S*: cannot be read or unpacked \((No such f|Is a d|Too many l).*\); correct the location"
    assert re.search(named, refused(tmp_path / name, tmp_path / name, tmp_path))


def packed_as(suffix, folder):
    if suffix in PACK:
        return PACK[suffix](ENGLISH)
    return (write_zip if suffix == ".zip" else write_tar)(folder / f"x{suffix}", ("a.en", ENGLISH)).read_bytes()


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        *(
            (each, f"unpack it, or let the file's name end in {each}")
            for each in (".gz", ".bz2", ".xz", ".zip", ".tar")
        ),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd, which is not read; unpack it, or save its text as a plain file"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive, which"),
        (b"version https://git-lfs.github.com/spec/v1", "a pointer of Git LFS, which is not read; fetch its content"),
        (b"\n<html lang='en'>", "a web page, which is not read; download the text itself"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_by_its_kind(tmp_path, suffix, said):
    content = packed_as(suffix, tmp_path) if isinstance(suffix, str) else suffix + b"\n"
    path = write(tmp_path / "train.en", content)
    again = write(tmp_path / "again.gz", gzip.compress(content))
    inner = write_zip(tmp_path / "y.zip", ("train.en", content))
    for name in (path, again, f"{inner}/train.en"):
        message = refused(name, name, tmp_path)
        assert message.startswith(f"{name}: is ")
        assert said in message
