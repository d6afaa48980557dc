import os
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import (
    InputError,
    atomic,
    count_parallel,
    read_lines,
    read_parallel,
    sha256,
    text_lines,
    write_json,
    write_lines,
)

lines_of_text = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=5))


@given(lines_of_text)
def test_lines_that_are_written_and_read_are_unchanged(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "lines"
    write_lines(path, lines)
    assert read_lines(path) == [line.removeprefix("" if number else "\ufeff") for number, line in enumerate(lines)]


def test_the_error_for_a_bad_byte_names_file_and_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"good\n\nb\xe4d\n")
    with pytest.raises(InputError, match="line 3: byte 0xe4 is not UTF-8") as error:
        read_lines(path)
    assert str(path) in str(error.value)
    with pytest.raises(InputError, match="f, line 1: byte 0xff is not UTF-8"):
        list(text_lines("f", [b"\xef\xbb\xbfab\xff\n"]))


@pytest.mark.parametrize(
    ("codec", "named"),
    [
        *[("utf-16", "UTF-16"), ("utf-32", "UTF-32"), ("latin1", "ENCODING")],
        *[("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")],  # without a byte order mark, they are UTF-8 with NULs
    ],
)
def test_the_remedy_for_another_encoding_is_a_command_that_converts_the_file(tmp_path, codec, named):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes("abé\nb\n".encode(codec))
    with pytest.raises(InputError) as error:
        read_lines(old)
    [command] = re.findall("iconv .* NEW", str(error.value))
    assert f"-f {named} " in command
    for word, meant in (("ENCODING", codec), ("OLD", str(old)), ("NEW", str(new))):
        command = command.replace(word, meant)
    subprocess.run(command, shell=True, check=True)
    assert read_lines(new) == ["abé", "b"]


@pytest.mark.parametrize(
    ("content", "named"), [(b"\x1f\x8b\x08\xff", "compressed by gzip; unpack it"), (b"%PDF-1.7 \xe2\n", "a PDF; ")]
)
def test_a_file_that_is_no_text_is_named_as_such(tmp_path, content, named):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(InputError, match=f"text, line 1: .*the file is {named}"):
        read_lines(tmp_path / "text")


@pytest.mark.parametrize(
    ("counts", "message"), [((3, 2), "a has 3 lines and .*b has 2"), ((0, 0), "a and .*b are empty")]
)
def test_parallel_files_of_different_length_and_empty_ones_are_refused(tmp_path, counts, message):
    for name, count in zip("ab", counts, strict=True):
        write_lines(tmp_path / name, ["text"] * count)
    for read in (read_parallel, count_parallel):
        with pytest.raises(InputError, match=message):
            read(tmp_path / "a", tmp_path / "b")


def test_a_file_appears_only_when_it_is_complete_and_its_folder_is_made(tmp_path):
    path = tmp_path / "new" / "file"
    with atomic(path) as stream:
        stream.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all"

    def interrupted():
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(path, interrupted())
    assert path.read_bytes() == b"all"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("size", [0, 4096])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, full_after, size):
    path = tmp_path / "file"
    path.write_text("old")
    message = r"file: cannot be written \(File too large\); free space"
    with full_after(size), pytest.raises(InputError, match=message):
        write_lines(path, ["x" * 9] * 10**4)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write_lines(tmp_path / "file", [])
    for name, message in (
        ("pipe", "pipe: is a device or a pipe; name a file"),
        ("", "is a folder; name a file"),
        ("file/below", "below: cannot be written"),
    ):
        with pytest.raises(InputError, match=message):
            write_json(tmp_path / name, {})
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(InputError, match=r"none: cannot be read \(No such file or directory\); correct the path"):
        sha256(tmp_path / "none")


@pytest.fixture
def parts(tmp_path):
    """The temporary paths of a file x that a killed process and a living one have."""
    process = subprocess.Popen(["true"])
    process.wait()
    return [tmp_path / f".x.{number}.part" for number in (process.pid, os.getppid())]


def test_the_next_process_that_writes_a_file_removes_what_a_killed_one_left(tmp_path, parts):
    for left in parts:
        left.write_text("half")
    write_lines(tmp_path / "x", ["whole"])
    assert sorted(tmp_path.iterdir()) == [parts[1], tmp_path / "x"]


def test_a_link_to_a_file_stays_a_link(tmp_path):
    name, file = tmp_path / "name", tmp_path / "there"
    name.symlink_to(file)
    for text in ("new", "newer"):
        write_lines(name, [text])
        assert name.is_symlink()
        assert file.read_text() == f"{text}\n"
    assert sorted(tmp_path.iterdir()) == [name, file]
