"""Where a text lies: a file or URL, a member of an archive, a column of a table (docs/reading.md)."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from transformer.support.files import InputError

# The URL of a file; groups: the host with its port, the path.
URL = re.compile(r"(?:https?://((?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?)|file://)(/[^?#]+)", re.IGNORECASE)
# A host may end like an archive, too, so it is matched as a whole (?+).
ARCHIVE = re.compile(r"((?:\w+://[^/]*/)?+.*?\.(?:tgz|tar|tar\.gz|tar\.bz2|tar\.xz|zip))(?:/(.*))?", re.IGNORECASE)


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
        """Parse `FILE`, `TABLE#COLUMN`, `ARCHIVE/MEMBER` or `ARCHIVE/TABLE#COLUMN`. Raises InputError otherwise."""
        marked = re.fullmatch(r"(.*)#([^/#]*)", text)
        path, column = marked.groups() if marked else (text, "")
        archive = ARCHIVE.fullmatch(path)
        file, member = archive.groups() if archive else (path, None)
        location = cls(file, member, int(column) if re.fullmatch("[1-9][0-9]{0,5}", column) else None)
        table = location.kind == ".tsv"
        if not path.strip():
            problem = "it is empty; give a path or a URL"
        elif "://" in file and (not URL.fullmatch(file) or ".." in file.split("/")):
            problem = "write a URL as http://HOST/PATH, https://HOST/PATH or file:///PATH, without .. ? #"
        elif path.startswith("~"):
            problem = "~ does not stand for your home here; write the whole path"
        elif re.search("[{}]", file):
            problem = "{ and } are special to Snakemake; rename the file"
        elif archive and not member:
            problem = f"it is an archive; add a member, as in {file}/MEMBER"
        elif member and (ARCHIVE.fullmatch(member) or {"", ".", ".."} & set(member.split("/"))):
            problem = f"{member!r} is not a member; give a path without . and .. that is not inside another archive"
        elif marked and (not table or not location.column):
            problem = "only a column of a .tsv, counted from 1, may follow #; correct it or rename the file"
        elif table and not marked:
            problem = f"add a column, as in {path}#1"
        else:
            return location
        raise InputError(f"location {text!r}: {problem}")

    @classmethod
    def of(cls, key: str, text: str) -> "Location":
        """Parse what a key of the config has. Raises InputError, which names the key."""
        try:
            return cls.parse(text)
        except InputError as error:
            raise InputError(f"{key}: {error}") from None

    @property
    def kind(self) -> str:
        """The suffix that names the format, without that of a compression: `.sgm` for `dev/test.en.sgm.gz`."""
        return PurePosixPath(re.sub(r"\.(gz|bz2|xz)$", "", (self.member or self.file).lower())).suffix
