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
VARIABLE = "variables are not replaced here; write the whole path"
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
        table = location.kind == ".tsv"
        if not path.strip():
            problem = "it is empty; give a path or a URL"
        elif text.splitlines() != [text]:
            problem = "it has a line break; remove it"
        elif "://" in file and (not URL.fullmatch(file) or ".." in file.split("/")):
            problem = "write a URL as http://HOST/PATH, https://HOST/PATH or file:///PATH, without .. ? #"
        elif path.startswith("~"):
            problem = "~ does not stand for your home here; write the whole path"
        elif "${" in file:
            problem = VARIABLE
        elif re.search(SPECIAL, file):
            problem = "{, }, < and > are special to Snakemake; rename the file"
        elif member == "":
            problem = f"it is an archive; add a member, as in {file}/MEMBER"
        elif member and (_ARCHIVE.search(member) or {"", ".", ".."} & set(member.split("/"))):
            problem = f"{member!r} is not a member; give a path without . and .. that is not inside another archive"
        elif marked and (not table or not location.column):
            problem = "only a column of a .tsv, counted from 1, may follow #; correct it or rename the file"
        elif table and not marked:
            problem = f"add a column, as in {path}#1"
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
    """Why there is no such file or folder, or none that can be read, and the remedy."""
    try:
        if path.endswith("/") and Path(path).is_file() and wanted == "file":
            return "is a file; remove the / behind it"
        return _why_missing(Path(path), wanted)
    except OSError as error:  # a name that is too long, or a folder that the user may not enter
        return f"cannot be read ({error.strerror}); correct the path, or make it readable"


def _why_missing(path: Path, wanted: str) -> str:
    is_a_file = f"is a file, not a folder; if it is an archive, let its name end in {', '.join(ARCHIVES)}"
    for place in (*reversed(path.parents), path):
        if place.is_symlink() and not place.exists():
            return f"{place} is a link to {place.readlink()}, which does not exist"
        if place.is_file() and (wanted == "folder" or place != path):
            return is_a_file if place == path else f"{place} {is_a_file}"
    if wanted == "file" and path.is_dir():
        return "is a folder; name a file in it"
    if path.exists():
        return f"is a device or a pipe; name a {wanted}"
    if str(path).startswith("$"):
        return f"no such {wanted}; {VARIABLE}"
    hint = "its name has a blank at an end; " if str(path).strip() != str(path) else ""
    return f"no such {wanted}; {hint}paths are relative to {Path.cwd()}"
