"""Download files: resume after a break, try again after a failure, and check size and SHA-256."""

import hashlib
import os
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.location import URL
from transformer.support.fields import STRICT, Config, Positive
from transformer.support.files import InputError, check_mirror, locked
from transformer.support.progress import Progress


@dataclass(frozen=True, config=STRICT)
class Download(Config):
    """The size and the SHA-256 of the file at a URL."""

    bytes: Positive = Field(description="size")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256, 64 digits of 0-9 and a-f")


ATTEMPTS = 5  # a download fails after this many attempts in a row that bring nothing new
BLOCK = 2**16  # bytes
SILENCE = 30.0  # seconds after which a silent connection is closed


def local_path(url: str) -> Path:
    """The path of a URL's file in a folder of downloads: host[:port]/path. For file:///path it is localhost/path.

    Raises InputError for other schemes, a query, a fragment, and a path with a component that is empty, `.` or `..`.
    """
    match = URL.fullmatch(url)
    place = (match[1] or "localhost").lower() + match[2] if match else ""
    plain = unquote(place)
    if not plain.isprintable() or not {"", ".", ".."}.isdisjoint(plain.split("/")):
        raise InputError(f"{url!r}: not the URL of a file; give http(s)://host/path or file:///path without .. ? #")
    return Path(place)


def download(url: str, path: Path, size: int, sha256: str, mirror: Path | None = None, pause: float = 1.0) -> None:
    """Download a file of `size` bytes from `url` to `path`, or copy it from `mirror` if `local_path(url)` is there.

    The content is written to `path`.part, which a later call continues after a break. `path` appears when size and
    SHA-256 are right. A new attempt begins after `pause` seconds, and the pause doubles each time that an attempt
    brings nothing new. Raises InputError when the file cannot be downloaded or stored, when another process downloads
    to the same path, and when size or SHA-256 is wrong; the wrong file is kept as `path`.bad.
    """
    check_mirror(mirror)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file to write")
    part, bad = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.bad")
    mirrored = Path(mirror or "") / local_path(url)
    source = Path(unquote(url[len("file://") :])) if url.lower().startswith("file:") else None
    try:
        if mirror and mirrored.exists():
            source = mirrored
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as stream:
            if not locked(stream):
                raise InputError(f"{url}: another process downloads it to {part}; wait until it has ended")
            if path.exists():  # it was downloaded earlier
                part.unlink()
                part = path
            elif source:
                stream.truncate(stream.seek(0))
                with source.open("rb") as given:
                    shutil.copyfileobj(given, stream)
            else:
                _fetch(url, stream, size, pause)
            stream.flush()
            os.fsync(stream.fileno())
            if fault := _fault(part, size, sha256):
                part.replace(bad)
                raise _error(f"{source or url}: {fault}, kept as {bad}", url)
            part.replace(path)
    except OSError as error:
        reason = f"{error.filename or part}: {error.strerror or error}"
        raise InputError(f"{url}: {reason}; check that path, its permissions and the free space") from error


def _fetch(url: str, stream: BinaryIO, size: int, pause: float) -> None:
    """Fill `stream` up to `size` bytes. Raises InputError after ATTEMPTS attempts in a row that bring nothing new."""
    import requests  # slow to load, and most commands download nothing
    import urllib3

    if stream.tell() > size:
        stream.truncate(stream.seek(0))
    most, failures = stream.tell(), 0
    while stream.tell() != size:
        try:
            _attempt(url, stream, size)
        except ValueError as error:  # requests raises it for an invalid URL, host, proxy or redirection
            raise _error(f"{url}: {error}", url) from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            # Progress means more bytes than ever before. A server that always starts over and breaks off makes none.
            failures = 0 if stream.tell() > most else failures + 1
            most = max(most, stream.tell())
            problem = f"{url}: {' '.join(f'{type(error).__name__}: {error}'.split())}"
            if failures == ATTEMPTS:
                raise _error(f"{problem} ({ATTEMPTS} attempts in a row)", url) from error
            print(f"{problem}; trying again in {pause * 2**failures:g} s", file=sys.stderr, flush=True)
            time.sleep(pause * 2**failures)


def _attempt(url: str, stream: BinaryIO, size: int) -> None:
    """Request the missing part of `stream` and append it. Raises InputError if another attempt would not help."""
    import requests

    have = stream.tell()
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=SILENCE) as response:
        status = response.status_code
        sent, _, total = response.headers.get("Content-Range", "").partition("/")
        if status == 416 or (status == 206 and not sent.startswith(f"bytes {have}-")):
            stream.truncate(stream.seek(0))
            raise requests.HTTPError(f"the server does not go on at byte {have}")
        if status in (408, 429) or status >= 500:
            raise requests.HTTPError(f"{status} {response.reason}")
        if status not in (200, 206):
            raise _error(f"{url}: HTTP status {status} {response.reason}", url)
        total = total or response.headers.get("Content-Length", "")
        if total.isdecimal() and int(total) != size:
            raise _error(f"{url}: {total} bytes offered, expected {size}: an error page, or the file has changed", url)
        if status == 200:
            stream.truncate(stream.seek(0))
        with closing(Progress(url, -(-size // 10**6), "MB", -(-stream.tell() // 10**6))) as progress:
            # If the server declares a .gz file as a content encoding, iter_content would unpack it.
            for block in response.raw.stream(BLOCK, decode_content=False):
                stream.write(block[: size - stream.tell()])
                if more := -(-stream.tell() // 10**6) - progress.done:
                    progress.update(more)
                if stream.tell() == size:
                    break
    if stream.tell() < size:
        raise requests.ConnectionError(f"closed after {stream.tell()} of {size} bytes")


def _fault(path: Path, size: int, sha256: str) -> str:
    """What is wrong with a file; empty if size and SHA-256 are right."""
    if (length := path.stat().st_size) != size:
        return f"{length} bytes, expected {size}"
    with path.open("rb") as stream:
        got = hashlib.file_digest(stream, "sha256").hexdigest()
    return "" if got == sha256.lower() else f"SHA-256 {got}, expected {sha256}"


def _error(fault: str, url: str) -> InputError:
    return InputError(f"{fault}; try again later, or put the file of {url} into a mirror folder as {local_path(url)}")
