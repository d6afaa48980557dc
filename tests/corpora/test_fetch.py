import hashlib
import random
import re
import threading
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from transformer.corpora.fetch import download, local_path
from transformer.support.files import InputError

BODY = random.Random(0).randbytes(300_000)
SIZE, HASH = len(BODY), hashlib.sha256(BODY).hexdigest()
HALF = SIZE // 2


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append((self.path, self.headers["Range"]))
        answers = self.server.answers
        with suppress(ConnectionError):
            (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, *_):
        pass

    @property
    def start(self):
        return int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").removesuffix("-"))

    def reply(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.server.served += len(body)
        self.wfile.write(body)


def reply(*given, **headers):
    return lambda handler: handler.reply(*given, **headers)


def status(number):
    return reply(number, b"<html>sorry</html>")


def ranges(handler, upto=SIZE, total=SIZE):
    start = handler.start
    if not start:
        handler.reply(200, BODY[:upto], Content_Length=total)
    else:
        declared = {"Content_Range": f"bytes {start}-{total - 1}/{total}", "Content_Length": total - start}
        handler.reply(206, BODY[start:upto], **declared)


def closes_half_way(handler):
    ranges(handler, upto=(handler.start + SIZE) // 2)


def hangs_up(handler):
    handler.connection.close()


def stalls(handler):
    ranges(handler, upto=(handler.start + SIZE) // 2)
    handler.wfile.flush()
    handler.server.over.wait(10)


GOES_ON_ELSEWHERE = reply(206, BODY[1:], Content_Range=f"bytes 1-{SIZE - 1}/{SIZE}", Content_Length=SIZE - 1)
TRANSIENT = [
    closes_half_way,
    reply(200, BODY[:HALF], Content_Length=SIZE),  # starts over and closes
    reply(200, BODY[:HALF]),  # closes half-way, unannounced
    reply(200, b"%x\r\n" % SIZE + BODY[:HALF], Transfer_Encoding="chunked"),  # closes within a chunk
    reply(200, b"%x\r\n%b\r\n" % (HALF, BODY[:HALF]), Transfer_Encoding="chunked"),  # closes between chunks
    hangs_up,
    *map(status, (408, 429, 500, 503)),
]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server():
    """A server that answers each request with the first of `answers`, and then drops it unless it is the last."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.url = f"http://127.0.0.1:{server.server_port}/folder/file.gz"
        server.answers, server.requests, server.served, server.over = [ranges], [], 0, threading.Event()
        threading.Thread(target=partial(server.serve_forever, poll_interval=0.01)).start()
        yield server
        server.over.set()
        server.shutdown()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "downloads" / "file.gz"


def fetch(url, path, sha256=HASH, **options):
    download(url, path, SIZE, sha256, **{"pause": 0.0001} | options)


def arrives(url, path, **options):
    """Download a file, which must then be whole."""
    fetch(url, path, **options)
    assert path.read_bytes() == BODY


def beside(path, suffix):
    return path.with_name(path.name + suffix)


def leave(path, content):
    """Write the partial file that an earlier process would have left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside(path, ".part").write_bytes(content)


def error(url, path, **options):
    """The message of a failed download. It must be one line that names the URL, and `path` must not exist."""
    with pytest.raises(InputError) as raised:
        fetch(url, path, **options)
    message = str(raised.value)
    assert url in message
    assert "\n" not in message
    assert not path.exists()
    return message


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://www.statmt.org/wmt14/dev.tgz", "www.statmt.org/wmt14/dev.tgz"),
        ("HTTPS://Host.org:8080/A%20b/C", "host.org:8080/A%20b/C"),
        ("http://[::1]:80/file", "[::1]:80/file"),
        ("file:///data/own text", "localhost/data/own text"),
    ],
)
def test_a_url_has_a_place_in_a_folder(url, place):
    assert local_path(url) == Path(place)


@pytest.mark.parametrize(
    "url",
    [
        *("file", "ftp://host/file", "http:///file", "http://host/", "http://host/a//b", "http://host/a%0Ab"),
        *("http://host/../file", "http://host/a/%2e%2E/file", "http://host/a%2F..%2Fb", "file://data/own"),
        *("http://user:word@host/file", "http://host:port/file", "http://host/file?x=1", "http://host/file#2"),
    ],
)
def test_a_url_that_does_not_name_a_file_is_refused(url, path):
    with pytest.raises(InputError, match="not the URL of a file"):
        fetch(url, path)


def test_a_file_is_downloaded_once_and_progress_is_shown_and_a_folder_in_its_place_stays(server, path, capsys):
    arrives(server.url, path)
    assert [file.name for file in path.parent.iterdir()] == ["file.gz"]
    assert "file.gz: 1 MB" in capsys.readouterr().err
    arrives(server.url, path)  # it is there, and only checked
    assert server.requests == [("/folder/file.gz", None)]
    path.write_bytes(BODY[:-1])
    assert f"{SIZE - 1} bytes, expected {SIZE}, kept as {path}.bad" in error(server.url, path)
    path.mkdir()
    with pytest.raises(InputError, match="is a folder; name a file to write"):
        fetch(server.url, path)
    assert path.is_dir()


@pytest.mark.parametrize("have", [0, 1, HALF, SIZE - 1, SIZE])
def test_a_later_call_transfers_only_the_rest(server, path, have):
    leave(path, BODY[:have])
    arrives(server.url, path)
    assert server.served == SIZE - have
    assert len(server.requests) == (have < SIZE)


def test_attempts_that_bring_something_new_do_not_count_as_failures(server, path, capsys):
    server.answers = [closes_half_way] * 12 + [ranges]
    arrives(server.url, path)
    assert server.served == SIZE
    assert [asked for _, asked in server.requests[:2]] == [None, f"bytes={HALF}-"]
    assert len(server.requests) == 13
    assert "trying again in 0.0001 s" in capsys.readouterr().err


@pytest.mark.parametrize("answer", TRANSIENT[1:])  # the first one brings half of the rest each time
def test_a_download_fails_after_five_attempts_that_bring_nothing_new(server, path, answer):
    server.answers = [answer]
    assert "(5 attempts in a row)" in error(server.url, path)
    left = beside(path, ".part").read_bytes()
    assert BODY.startswith(left)
    assert len(server.requests) == 5 + (left != b"")


@pytest.mark.parametrize(
    ("left", "answers", "starts"),
    [
        pytest.param(b"x" * HALF, [reply(200, BODY, Content_Length=SIZE)], [HALF], id="server without ranges"),
        pytest.param(b"x" * HALF, [status(416), ranges], [HALF, 0], id="range refused"),
        pytest.param(b"x" * HALF, [GOES_ON_ELSEWHERE, ranges], [HALF, 0], id="another range"),
        pytest.param(b"x" * HALF, [reply(206, BODY), ranges], [HALF, 0], id="range without bounds"),
        pytest.param(BODY + b"x", [ranges], [0], id="partial file too long"),
        pytest.param(b"", [reply(200, BODY + b"x" * 10**6)], [0], id="bytes beyond the size"),
        pytest.param(b"", [reply(200, BODY, Content_Length=SIZE, Content_Encoding="gzip")], [0], id="packed file"),
        pytest.param(b"", [reply(302, b"", Location="/elsewhere"), ranges], [0, 0], id="redirection"),
    ],
)
def test_the_file_arrives_as_it_is_and_starts_over_where_it_cannot_go_on(server, path, left, answers, starts):
    server.answers = answers
    leave(path, left)
    arrives(server.url, path)
    assert [asked for _, asked in server.requests] == [f"bytes={start}-" if start else None for start in starts]


def test_a_stalled_connection_is_closed_and_tried_again(server, path, monkeypatch):
    monkeypatch.setattr("transformer.corpora.fetch.SILENCE", 0.1)
    server.answers = [stalls, ranges]
    arrives(server.url, path)
    assert server.served < 2 * SIZE - HALF


@pytest.mark.parametrize("number", [401, 404, 204])
def test_a_refusal_is_final_the_partial_file_stays_and_the_remedy_names_the_place_in_a_mirror(server, path, number):
    server.answers = [status(number)]
    leave(path, BODY[:HALF])
    message = error(server.url, path)
    assert f"HTTP status {number}" in message
    assert f"into a mirror folder as 127.0.0.1:{server.server_port}/folder/file.gz" in message
    assert len(server.requests) == 1
    assert beside(path, ".part").read_bytes() == BODY[:HALF]
    server.answers = [lambda handler: ranges(handler, total=6000 + SIZE)]
    assert f"{6000 + SIZE} bytes offered, expected {SIZE}" in error(server.url, path)
    assert beside(path, ".part").read_bytes() == BODY[:HALF]


def test_a_file_with_a_wrong_sha_256_is_kept_aside_and_the_next_call_starts_over(server, path):
    server.answers = [reply(200, BODY[::-1], Content_Length=SIZE), ranges]
    got = hashlib.sha256(BODY[::-1]).hexdigest()
    assert f"SHA-256 {got}, expected {HASH}, kept as {path}.bad" in error(server.url, path)
    assert [file.name for file in path.parent.iterdir()] == ["file.gz.bad"]
    arrives(server.url, path, sha256=HASH.upper())
    assert server.requests[-1][1] is None


def test_a_file_in_the_mirror_or_of_this_machine_is_copied_and_one_that_is_neither_is_downloaded(
    server, tmp_path, path
):
    mirrored, options = tmp_path / "mirror" / local_path(server.url), {"mirror": tmp_path / "mirror"}
    mirrored.parent.mkdir(parents=True)
    arrives(server.url, path, **options)
    server.answers = [status(404)]
    source = tmp_path / "my file"
    assert f"{source}: No such file" in error(f"file://{tmp_path}/my%20file", path.with_name("other"))
    for file, url, more in ((mirrored, server.url, options), (source, f"file://{tmp_path}/my%20file", {})):
        for content in (BODY[:-1], BODY[::-1]):
            path.unlink(missing_ok=True)
            file.write_bytes(content)
            assert f"{file}: " in error(url, path, **more)
            assert file.read_bytes() == content
        file.write_bytes(BODY)
        leave(path, b"x" * HALF)
        arrives(url, path, **more)
        assert file.read_bytes() == BODY
        assert not path.samefile(file)
    assert len(server.requests) == 1
    with pytest.raises(InputError, match=r"nowhere: no such folder; correct `mirror`"):
        fetch(server.url, path, mirror=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1/file", r"Connection refused.*5 attempts in a row"),
        ("http://host..name/file", "host..name"),
        ("http://127.0.0.1:99999/file", "99999"),
    ],
)
def test_a_host_that_does_not_answer_is_reported_in_one_line(path, url, reason):
    assert re.search(reason, error(url, path))
