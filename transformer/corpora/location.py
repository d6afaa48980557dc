"""Where a text lies: a file or URL, a member of an archive, a column of a table (docs/reading.md)."""

import os
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from transformer.support.faults import ConfigError, Fault, Keys
from transformer.support.files import InputError

# The URL of a file; groups: the host with its port, the path.
URL = re.compile(r"(?:https?://((?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?)|file://)(/[^?#]+)", re.IGNORECASE)
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
SPECIAL = "[{}<>]"  # in a path, {NAME} is a wildcard of Snakemake's, and <NAME> one of its variables
_ARCHIVE = re.compile(f"(?:{'|'.join(map(re.escape, ARCHIVES))})(?=/|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Location:
    """Where a text lies: a path or URL, the member if that is an archive, and the column (from 1) of a .tsv."""

    file: str
    member: str | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.file + (f"/{self.member}" if self.member else "") + (f"#{self.column}" if self.column else "")

    @classmethod
    def parse(cls, text: str) -> "Location":
        """Parse `FILE`, `TABLE#COLUMN`, `ARCHIVE/MEMBER` or `ARCHIVE/TABLE#COLUMN`. Raises InputError otherwise.

        A folder on this machine is no archive, whatever its name.
        """
        marked = re.fullmatch(r"(.*)#([^/#]*)", text)
        path, column = marked.groups() if marked else (text, "")
        file, member = _into_archive(_on_disk(path))
        location = cls(file, member, int(column) if re.fullmatch("[1-9][0-9]{0,5}", column) else None)
        is_table = location.kind == ".tsv"
        if not path.strip() or text.splitlines() != [text]:
            problem = "it is empty or has a line break; give a path or a URL"
        elif "://" in file and (not URL.fullmatch(file) or ".." in file.split("/")):
            problem = "write a URL as http://HOST/PATH, https://HOST/PATH or file:///PATH, without .. ? #"
        elif path.startswith("~") or "${" in file:
            problem = "~ does not stand for your home here, nor ${NAME} for a variable; write the whole path"
        elif re.search(SPECIAL, file):
            problem = "{, }, < and > are special to Snakemake; rename the file"
        elif member is not None and (_ARCHIVE.search(member) or {"", ".", ".."} & set(member.split("/"))):
            problem = f"add the path of a member that is no archive, without . and .., as in {file}/MEMBER"
        elif is_table and not location.column:
            problem = f"add a column, as in {path}#1 (the first is 1)"
        elif marked and not is_table:
            problem = "only the column of a .tsv may follow #; remove it or rename the file"
        else:
            return location
        raise InputError(f"location {text!r}: {problem}")

    @classmethod
    def of(cls, keys: Keys, text: str) -> "Location":
        """Parse what is at these keys of the config. Raises ConfigError."""
        try:
            return cls.parse(text)
        except InputError as error:
            raise ConfigError("", [Fault(keys, str(error))]) from None

    @property
    def kind(self) -> str:
        """The suffix that names the format, without that of a compression: `.sgm` for `dev/test.en.sgm.gz`."""
        return PurePosixPath(re.sub(r"\.(gz|bz2|xz)$", "", (self.member or self.file).lower())).suffix


def _into_archive(path: str) -> tuple[str, str | None]:
    """The archive that a path leads into, and the member, which may be empty; if there is no archive, (path, None)."""
    url = re.match(r"\w+://[^/]*", path)  # a host may end like an archive, too
    for match in _ARCHIVE.finditer(path, url.end() if url else 0):
        file, member = path[: match.end()], path[match.end() + 1 :]
        if url or not os.path.isdir(file):  # noqa: PTH112 (Path.is_dir raises PermissionError)
            return file, composed(member)
    return path, None


def composed(name: str) -> str:
    """A name in NFC, as most programs write it. macOS writes NFD: a letter and its accent are two characters."""
    return unicodedata.normalize("NFC", name)


def _on_disk(path: str) -> str:
    """A path as this machine's disk has it, in NFC or NFD. The path itself if there is no such file."""
    if path.isascii() or os.path.lexists(path):
        return path
    folder, slash, name = path.rpartition("/")
    folder = _on_disk(folder)
    with suppress(OSError, ValueError):
        names = (each.name for each in Path(folder + slash).iterdir())
        name = next((each for each in names if composed(each) == composed(name)), name)
    return folder + slash + name


def why_missing(path: str, wanted: Literal["file", "folder"]) -> str:
    """Why there is no such file or folder, and the remedy."""
    if os.path.lexists(path):
        return f"is not a {wanted}; name a {wanted}"
    return f"no such {wanted}; paths are relative to {Path.cwd()}"
