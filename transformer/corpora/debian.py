"""Get the help pages of LibreOffice from Debian packages, and check the SHA-256 of their text.

`make reproduce` calls this module before anything is installed. So it imports only the standard library, and modules of
this project that do the same.
"""

import hashlib
import lzma
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from transformer.support.files import InputError, check_mirror, read_bytes

POOL = Path("deb.debian.org/debian/pool/main/libr/libreoffice")  # the folder of the packages in a mirror
SECONDS = 600  # one call of apt-get may take this long
PAGE = re.compile(r"(?:\./)?usr/share/libreoffice/help/[^/]+/text/(.+\.html)")
# The tar archive of a package's files, in its ar archive; groups: its size, and all that follows its header.
DATA = re.compile(rb"data\.tar\.xz[ /]+[\d ]{32}(\d+) *`\n(.*)", re.DOTALL)


@dataclass(frozen=True)
class DebianPackage:
    """A Debian package and the SHA-256 of the text in it."""

    name: str = field(metadata={"description": "name of the package"})
    sha256: str = field(
        metadata={"description": "SHA-256 of its text: the pages in text/, in byte order of their paths"}
    )


def download_packages(packages: Sequence[str], folder: Path, seconds: float = SECONDS) -> list[Path]:
    """Download Debian packages into `folder` with apt-get. This needs no root, and apt's lists are kept there, too.

    Returns the .deb files in the order of `packages`. Raises InputError when apt-get is missing or leaves none, or when
    its update or its download takes more than `seconds`.
    """
    folder = Path(folder).absolute()
    # If root starts apt, it downloads as its own user `_apt`, who may not be allowed to enter the folder.
    options = ["-o", "APT::Sandbox::User=root"]
    # By default, apt waits minutes for a server that does not reply.
    options += ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10"]
    for option, name in (("State", "state"), ("State::Lists", "state/lists"), ("Cache", "cache")):
        (folder / name).mkdir(parents=True, exist_ok=True)
        options += ["-o", f"Dir::{option}={folder / name}"]
    said = ""
    # If the update fails, the download may still work: another source may be broken, or a hook may need root.
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
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise InputError(f"apt-get {command[0]} did not end within {seconds} seconds") from error
        except OSError as error:
            raise InputError(f"apt-get cannot be run ({error.strerror})") from error
        said += finished.stderr
    archives = {package: next(folder.glob(f"{package}_*.deb"), None) for package in packages}
    if missing := [package for package, deb in archives.items() if not deb]:
        complaints = [line for line in said.splitlines() if line.startswith(("E:", "W:"))] or ["it does not say why"]
        reason = "; ".join(dict.fromkeys([complaints[0], complaints[-1]]))
        raise InputError(f"apt-get cannot download {', '.join(missing)} ({reason})")
    return [deb for deb in archives.values() if deb]


def read_pages(deb: Path) -> dict[str, bytes]:
    """The LibreOffice help pages of a Debian package: path below `text/` -> HTML, in byte order of the paths.

    Nothing is written to disk. Raises InputError when the package is damaged or not packed like those of Debian 12.
    """
    try:
        if not (data := DATA.search(read_bytes(deb))):
            raise ValueError("no data.tar.xz in it")
        with tarfile.open(fileobj=BytesIO(lzma.decompress(data[2][: int(data[1])])), mode="r:") as archive:
            pages = {
                page[1]: stream.read()
                for member in archive
                if (page := PAGE.fullmatch(member.name)) and (stream := archive.extractfile(member))
            }
    except (ValueError, lzma.LZMAError, tarfile.TarError) as error:
        raise InputError(f"{deb}: damaged, or no package of Debian 12 ({error})") from error
    return dict(sorted(pages.items(), key=lambda page: page[0].encode()))


def fetch_pages(
    packages: Mapping[str, DebianPackage], mirror: Path | None = None, seconds: float = SECONDS
) -> dict[str, dict[str, bytes]]:
    """Fetch help pages, language -> path -> HTML, from the Debian package of each language.

    If `mirror` has all packages below POOL, they are read there, else apt-get downloads all of them. Nothing stays on
    disk. The SHA-256 is that of the text of a language: its pages, concatenated in byte order of their paths. It is not
    the package's, because Debian revises packages without changing the text. Raises InputError when a text has another
    SHA-256, and the InputErrors of `check_mirror`, `download_packages` (with its `seconds`) and `read_pages`.
    """
    check_mirror(mirror)
    names = [package.name for package in packages.values()]
    mirrored = [max((mirror / POOL).glob(f"{name}_*.deb"), default=None) for name in names] if mirror else []
    with tempfile.TemporaryDirectory(prefix="transformer-") as folder:
        archives = [deb for deb in mirrored if deb]
        if len(archives) < len(names):
            archives = download_packages(names, Path(folder), seconds)
        texts = {language: read_pages(deb) for language, deb in zip(packages, archives, strict=True)}
    for (language, pages), deb in zip(texts.items(), archives, strict=True):
        got = hashlib.sha256(b"".join(pages.values())).hexdigest()
        if got != (expected := packages[language].sha256):
            remedy = f"replace {deb}" if deb in mirrored else "this release of Debian carries another text"
            raise InputError(
                f"{packages[language].name} ({language}): the text of its {len(pages)} pages has SHA-256 {got}, "
                f"expected {expected}: {remedy}"
            )
    return texts
