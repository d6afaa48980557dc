"""Texts that are not UTF-8: their encoding, if their first line tells it, and how to convert them."""

import codecs
import re

MARKED = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
UNMARKED = {"UTF-16LE": rb"(?:[^\0]\0){2}", "UTF-16BE": rb"(?:\0[^\0]){2}"}  # of letters that ASCII has


def unmarked(first: bytes) -> str:
    """The encoding of a text with this first line that looks like UTF-8 with NULs; empty if it is UTF-8."""
    return next((name for name, start in UNMARKED.items() if re.match(start, first)), "")


def conversion(first: bytes) -> str:
    """How to convert a file to UTF-8. `first` is its first line, or empty if that is right."""
    if packer := next((name for mark, name in COMPRESSED.items() if first.startswith(mark)), ""):
        return f"the file is compressed by {packer}; unpack it first"
    marked = next((name for mark, name in MARKED.items() if first.startswith(mark)), "")
    if encoding := marked or unmarked(first):
        return f"the file is {encoding}; convert it: iconv -f {encoding} -t utf-8 OLD > NEW"
    return "convert the file: iconv -f ENCODING -t utf-8 OLD > NEW (file -i OLD guesses its ENCODING)"
