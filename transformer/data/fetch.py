"""Fetching text from Debian packages, which apt-get downloads; the text is held to its SHA-256."""

import hashlib
import lzma
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from transformer.config import Package
from transformer.files import InputError, read_bytes

ALTERNATIVES = "choose another experiment, or an own corpus (`origin: files` in config/corpora.yaml)"
PAGE = re.compile(r"(?:\./)?usr/share/libreoffice/help/[^/]+/text/(.+\.html)")


def download(packages: Sequence[str], folder: Path) -> list[Path]:
    """Download Debian packages into `folder` with apt-get; its lists stay there too; root is not needed.

    Returns the .deb files in the order of `packages`. Raises InputError when apt-get is missing or fails.
    """
    folder = Path(folder).absolute()
    # Started by root, apt would download as its own user, who may not enter the folder: no sandbox then.
    options = ["-o", "APT::Sandbox::User=root"]
    for option, name in (("State", "state"), ("State::Lists", "state/lists"), ("Cache", "cache")):
        (folder / name).mkdir(parents=True, exist_ok=True)
        options += ["-o", f"Dir::{option}={folder / name}"]
    complaints: list[str] = []
    # A failed update is no reason to stop: another source may be broken, or a hook may need root.
    for command in (["update"], ["download", *packages]):
        try:
            finished = subprocess.run(
                ["apt-get", *options, *command],
                cwd=folder,
                env=os.environ | {"LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise InputError(f"apt-get cannot be run ({error.strerror}); {ALTERNATIVES}") from error
        complaints += [line for line in finished.stderr.splitlines() if line.startswith(("E:", "W:"))]
    if finished.returncode != 0:
        complaints = complaints or [f"exit status {finished.returncode}"]
        reason = "; ".join(dict.fromkeys([complaints[0], complaints[-1]]))
        raise InputError(f"apt-get cannot download {', '.join(packages)} ({reason}); {ALTERNATIVES}")
    archives = []
    for package in packages:
        found = list(folder.glob(f"{package}_*.deb"))
        if len(found) != 1:
            raise InputError(f"apt-get left {len(found)} files of {package}, not one; {ALTERNATIVES}")
        archives += found
    return archives


def read_pages(deb: Path) -> dict[str, bytes]:
    """The LibreOffice help pages of a Debian package: path under `text/` -> HTML, in byte order of the paths.

    A .deb is an ar archive (deb(5)); its member data.tar.xz is read as a stream, nothing goes to disk.
    Raises InputError when the archive is damaged.
    """
    content = read_bytes(deb)
    try:
        with tarfile.open(fileobj=BytesIO(_ar_member(content, b"data.tar.xz")), mode="r|xz") as archive:
            pages = {
                page[1]: stream.read()
                for member in archive
                if (page := PAGE.fullmatch(member.name)) and (stream := archive.extractfile(member))
            }
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise InputError(f"{deb}: damaged Debian package ({error}); remove it and fetch again") from error
    return dict(sorted(pages.items(), key=lambda page: page[0].encode()))


def _ar_member(content: bytes, name: bytes) -> bytes:
    """One member of an ar archive. Raises ValueError when the archive is damaged or has no such member."""
    if not content.startswith(b"!<arch>\n"):
        raise ValueError("not an ar archive")
    start = 8
    while start < len(content):
        header = content[start : start + 60]
        start += 60
        if len(header) < 60 or header[58:] != b"`\n":
            raise ValueError(f"no member header at byte {start - 60}")
        size = int(header[48:58])
        if not 0 <= size <= len(content) - start:
            raise ValueError("cut short")
        if header[:16].rstrip(b" /") == name:
            return content[start : start + size]
        start += size + size % 2
    raise ValueError(f"no member {name.decode()}")


def fetch_pages(packages: Mapping[str, Package]) -> dict[str, dict[str, bytes]]:
    """Fetch help pages, language -> path -> HTML, from the Debian package of each language.

    The SHA-256 pins the text of each language, not its package, whose revision moves while the text does not:
    it is that of its pages concatenated in byte order of their paths. Nothing stays on disk. Raises InputError
    as `download` and `read_pages` do, and when a text has another hash.
    """
    with tempfile.TemporaryDirectory(prefix="transformer-") as folder:
        archives = download([package.name for package in packages.values()], Path(folder))
        texts = {language: read_pages(deb) for language, deb in zip(packages, archives, strict=True)}
    for language, pages in texts.items():
        got = hashlib.sha256(b"".join(pages.values())).hexdigest()
        if got != (expected := packages[language].sha256):
            raise InputError(
                f"{packages[language].name} ({language}): the text of its {len(pages)} pages has SHA-256 {got}, "
                f"expected {expected}: this release of Debian carries another text; {ALTERNATIVES}"
            )
    return texts
