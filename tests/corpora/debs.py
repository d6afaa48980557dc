"""Make Debian packages with help pages."""

import hashlib
import io
import tarfile

TEXT = "./usr/share/libreoffice/help/de/text/"
PAGES = {"b/2.html": b"zwei", "a.html": b"eins", "b/10.html": b"zehn"}
HASH = hashlib.sha256(b"einszehnzwei").hexdigest()


def ar(members):
    return b"!<arch>\n" + b"".join(
        f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(body):<10}`\n".encode() + body + b"\n" * (len(body) % 2)
        for name, body in members.items()
    )


def deb(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:xz") as archive:
        for name, body in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": stream.getvalue()}
    return ar(members)
