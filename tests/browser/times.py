"""Print sizes and times of the page of each shipped package, in Chromium.

    python -m tests.browser.times

A sentence of 20 subwords is searched, and one of 28 words typed. A key waits for the task in which the page is: its
time is that of the processor. Other work on the machine makes the other times longer.
"""

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measuring import print_head, print_row
from tests.browser.conftest import Page, browser
from tests.browser.reader import computed, settled
from transformer.explore.page import write_page
from transformer.package.config import read_package_config

MODELS = sorted(Path("models").glob("**/package/config.json"))
SENTENCE = "a man in a blue shirt and a little girl with a red hat are standing in front of a large white house "
SENTENCE += "near the water while people walk by ."
SHOWN = """
window.shown = new Promise((found) => {
  (function look() {
    if (document.getElementById("translation")?.textContent) found(performance.now());
    else setTimeout(look, 5);
  })();
});
"""
SEARCHES = """
const ids = [...subwords.encode(line).slice(0, 19), 1];
const { beam, alpha } = about.config.decoding;
const timed = (width) => Array.from({ length: 7 }, () => {
  const start = performance.now();
  ended(beamSearch(model, ids, { width, alpha, limit: 21 }));
  return performance.now() - start;
});
return [1, 4].map(timed);
"""


def type_sentence(tab: Page) -> float:
    """Type a sentence. Returns the milliseconds of the processor in the longest task of the page meanwhile."""
    session, tab.session = tab.session, None  # tracing is of the whole browser
    tab.call("Tracing.start", traceConfig={"includedCategories": ["toplevel"]}, transferMode="ReportEvents")
    tab.session = session
    tab.value("document.forms.sentence.text.select()")
    for letter in SENTENCE:
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
        tab.call("Input.dispatchKeyEvent", type="keyUp", key=letter)
        tab.value("new Promise((then) => setTimeout(then, 80))")
    settled(tab)
    tab.session = None
    tab.call("Tracing.end")
    while not any(event["method"] == "Tracing.tracingComplete" for event in tab.events):
        tab.events.append(tab._message())
    tab.session = session
    traced = [e["params"]["value"] for e in tab.events if e["method"] == "Tracing.dataCollected"]
    events = [event for some in traced for event in some]
    named = [event for event in events if event["name"] == "thread_name"]
    pages = {(e["pid"], e["tid"]) for e in named if e["args"]["name"] == "CrRendererMain"}
    return max(e.get("tdur", 0) for e in events if "RunTask" in e["name"] and (e["pid"], e["tid"]) in pages) / 1000


def measure(tab: Page, package: Path, path: Path) -> None:
    """Print the row of a package."""
    config = read_package_config(package)
    write_page(path, [(package, config)], ["A dog runs."])
    tab.open(path)
    opened = tab.value("shown")
    settled(tab)
    greedy, beam = (median(times) for times in computed(tab, SEARCHES, line=SENTENCE))
    wait = type_sentence(tab)
    megabytes = f"{path.stat().st_size / 1e6:.1f}"
    print_row(
        f"{config.task} {config.model} {config.seed}",
        megabytes,
        *(f"{each:.0f}" for each in (opened, greedy, beam, wait)),
    )


if __name__ == "__main__":
    print_head("Model", "Page, MB", "Output shown, ms", "Greedy, ms", "Beam 4, ms", "Longest task, ms")
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as tab:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=SHOWN)
        for each in MODELS:
            measure(tab, each.parent, Path(folder) / "page.html")
