"""Texts that are not UTF-8: their encoding, if their first line tells it, and how to convert them."""

import codecs
import re

MARKED = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
# Compressed files and archives: the ending of the name -> what the file is, and the first bytes, which no text has.
PACKED = {
    ".gz": ("compressed by gzip", rb"\x1f\x8b"),
    ".bz2": ("compressed by bzip2", rb"BZh[1-9]1AY&SY"),
    ".xz": ("compressed by xz", rb"\xfd7zXZ\0"),
    ".zip": ("compressed by zip", rb"PK(\x03\x04|\x05\x06)"),
    ".tar": ("a tar archive", rb".{257}ustar[ \0]"),
}
_UNPACK = "unpack it, or save its text as a plain file"
# Formats that are not read, whatever the name: what the file is -> its first bytes, and what to do.
FOREIGN = {
    "compressed by zstd": (rb"\x28\xb5\x2f\xfd", _UNPACK),
    "compressed by lz4": (rb"\x04\x22\x4d\x18", _UNPACK),
    "a 7z archive": (rb"7z\xbc\xaf\x27\x1c", _UNPACK),
    "a RAR archive": (rb"Rar!\x1a\x07", _UNPACK),
    "a PDF": (rb"%PDF-", _UNPACK),
    "a file of Microsoft Office": (rb"\xd0\xcf\x11\xe0", _UNPACK),
    "a pointer of Git LFS": (rb"version https://git-lfs\.", "fetch its content: git lfs pull"),
    "a web page": (rb"(?i:\s*<(!doctype )?html)", "download the text itself"),
}
UNMARKED = {"UTF-16LE": rb"(?:[^\0]\0){2}", "UTF-16BE": rb"(?:\0[^\0]){2}"}  # two characters below U+0100


def unmarked(first: bytes) -> str:
    """The encoding of a text with this first line that looks like UTF-8 with NULs; empty if it is UTF-8."""
    return next((name for name, start in UNMARKED.items() if re.match(start, first)), "")


def foreign(head: bytes) -> tuple[str, str] | None:
    """What a file that begins like this is, and what to do, if it is in a FOREIGN format."""
    return next(((kind, cure) for kind, (start, cure) in FOREIGN.items() if re.match(start, head, re.DOTALL)), None)


def conversion(first: bytes) -> str:
    """How to convert a file to UTF-8. `first` is its first line, or empty if the fault is in a later line."""
    if kind := next((kind for kind, mark in PACKED.values() if re.match(mark, first, re.DOTALL)), ""):
        return f"the file is {kind}; unpack it first"
    if found := foreign(first):
        return "the file is {}; {}".format(*found)
    marked = next((name for mark, name in MARKED.items() if first.startswith(mark)), "")
    if encoding := marked or unmarked(first):
        return f"the file is {encoding}; convert it: iconv -f {encoding} -t utf-8 OLD > NEW"
    return "convert the file: iconv -f ENCODING -t utf-8 OLD > NEW (file -i OLD guesses its ENCODING)"
