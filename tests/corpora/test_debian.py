import pytest
from debs import HASH, PAGES, TEXT, ar, deb

from transformer.corpora.debian import POOL, DebianPackage, download_packages, fetch_pages, read_pages
from transformer.support.files import InputError


@pytest.fixture
def package(tmp_path):
    """A package with three help pages and two other files."""
    path = tmp_path / "help-de_1_all.deb"
    others = {"./usr/share/libreoffice/help/de/contents.js": b"x", "./usr/share/doc/text/a.html": b"x"}
    path.write_bytes(deb({TEXT + name: body for name, body in PAGES.items()} | others))
    return path


@pytest.fixture
def apt_get(tmp_path, monkeypatch):
    """Installs a shell script as the apt-get of this test."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def install(script):
        (folder / "apt-get").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "apt-get").chmod(0o755)

    return install


def test_only_pages_are_read_in_byte_order_of_their_paths(package):
    assert list(read_pages(package).items()) == [("a.html", b"eins"), ("b/10.html", b"zehn"), ("b/2.html", b"zwei")]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"<html>404 Not Found</html>",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-60] + bytes(byte ^ 255 for byte in content[-60:]),
        lambda _: ar({"data.tar.xz": b"no tar"}),
        lambda _: ar({"debian-binary": b"2.0\n", "data.tar.zst": b"of Ubuntu"}),
    ],
)
def test_a_damaged_package_and_one_in_another_format_are_refused(package, damage):
    package.write_bytes(damage(package.read_bytes()))
    with pytest.raises(InputError, match=r"help-de_1_all\.deb: damaged, or no package of Debian 12"):
        read_pages(package)


def test_apt_writes_only_into_the_given_folder(tmp_path, apt_get):
    apt_get('echo "$@" >> calls; touch one_1_all.deb two_1%3a2_all.deb')
    folder = tmp_path / "fetched"
    folder.mkdir()
    assert [path.name for path in download_packages(["two", "one"], folder)] == ["two_1%3a2_all.deb", "one_1_all.deb"]
    update, fetch = (folder / "calls").read_text().splitlines()
    for option in ("Dir::State=", "Dir::State::Lists=", "Dir::Cache="):
        assert f"-o {option}{folder}/" in update
    for option in ("Retries=0", "http::Timeout=10", "https::Timeout=10"):
        assert f"-o Acquire::{option} " in update
    assert update.endswith(" update")
    assert fetch == update.removesuffix("update") + "download two one"


def test_a_broken_source_of_the_machine_does_not_stop_the_download(tmp_path, apt_get):
    apt_get('case "$*" in *update) echo "E: a source is unsigned" >&2; exit 100;; *) touch one_1_all.deb;; esac')
    assert [path.name for path in download_packages(["one"], tmp_path)] == ["one_1_all.deb"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('echo "E: no such package" >&2; exit 100', "apt-get cannot download one .*E: no such package"),
        ("exit 7", r"apt-get cannot download one \(it does not say why\)"),
        ('case "$*" in *update*) exec sleep 60;; esac', "apt-get update did not end within 0.5 seconds"),
        ('case "$*" in *download*) exec sleep 60;; esac', "apt-get download did not end within 0.5 seconds"),
        (None, r"apt-get cannot be run \(No such file or directory\)"),
    ],
)
def test_a_failing_apt_is_reported(tmp_path, apt_get, monkeypatch, script, said):
    if script is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        apt_get(script)
    with pytest.raises(InputError, match=said):
        download_packages(["one"], tmp_path, 0.5)


def test_a_text_with_the_pinned_sha_256_is_fetched_and_nothing_stays_on_disk(tmp_path, package, apt_get, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    apt_get(f"cp {package} .")
    assert fetch_pages({"de": DebianPackage("help-de", HASH)}) == {"de": PAGES}
    with pytest.raises(InputError, match=rf"help-de \(de\).*SHA-256 {HASH}, expected {'0' * 64}"):
        fetch_pages({"de": DebianPackage("help-de", "0" * 64)})
    assert list(scratch.iterdir()) == []


def test_packages_in_a_mirror_need_no_apt_get(tmp_path, package, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / POOL).mkdir(parents=True)
    package.rename(tmp_path / POOL / package.name)
    assert fetch_pages({"de": DebianPackage("help-de", HASH)}, tmp_path) == {"de": PAGES}
