"""A tab of a real browser: Chromium without a window, driven through a pipe by the Chrome DevTools Protocol."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from transformer.explore.page import write_page
from transformer.package.config import read_package_config

NAMES = ("google-chrome", "chromium", "chromium-browser")
KEYS = {"Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowUp": 38, "ArrowDown": 40, "Enter": 13}


class Page:
    """A tab: what a reader does, what the page shows, and in `events` what the browser told meanwhile."""

    def __init__(self, read: int, write: int):
        self.stream, self.write = os.fdopen(read, "rb"), write
        self.buffer, self.number, self.session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            if not (read := self.stream.read1()):
                raise EOFError("the browser has ended")
            self.buffer += read
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        command |= {"sessionId": self.session} if self.session else {}
        os.write(self.write, json.dumps(command).encode() + b"\0")
        while (message := self._message()).get("id") != self.number:
            self.events.append(message)
        assert "error" not in message, message
        return message["result"]

    def open(self, path: Path, width: int = 1280, dark: bool = False, query: str = "") -> None:
        """Load a file in a window of some width, and wait until it is there."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri() + query)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """What the page, or the browser about the page, wrote to the console."""
        kinds = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [event for event in self.events if event["method"] in kinds]

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is, or what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def point(self, selector: str, click: bool = False) -> None:
        """Move the mouse to the middle of an element, and click."""
        x, y = self.value(
            f"(() => {{ const element = document.querySelector({json.dumps(selector)}); "
            "element.scrollIntoView({block: 'center'}); const box = element.getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2] })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased")[: 3 if click else 1]:
            button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def press(self, key: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A tab of a new browser, whose settings are in a folder. It reaches no network."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip("no Chromium or Chrome is installed (Debian: apt-get install chromium)")
    (read, theirs), (mine, write) = os.pipe(), os.pipe()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
    options += ["--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"]
    options += ["--proxy-server=127.0.0.1:9"]
    # The browser reads commands from descriptor 3 and writes to 4.
    line = f'exec "$0" "$@" 3<&{mine} 4>&{theirs}'
    command = ["bash", "-c", line, executable, *options]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, pass_fds=(mine, theirs), **silent)
    os.close(mine)
    os.close(theirs)
    try:
        yield Page(read, write)
    finally:
        process.kill()
        process.wait()
        os.close(write)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a new browser."""
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def opened(tab, tmp_path):
    """Opens the page of some packages; at the end, the browser must have had nothing to complain about."""

    def open_page(*folders, width=1280, dark=False, examples=("the cat sees a dog .",), claims=None):
        path = tmp_path / "explore.html"
        write_page(path, [(folder, read_package_config(folder)) for folder in folders], examples, claims)
        tab.open(path, width, dark)

    yield open_page
    assert not tab.complaints
    asked = [e["params"]["request"]["url"] for e in tab.events if e["method"] == "Network.requestWillBeSent"]
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
