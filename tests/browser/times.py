"""Print sizes and times of the page of each shipped package, in Chromium.

    python -m tests.browser.times

A sentence of 20 subwords is searched, and one of 30 words typed. A key waits from when it is pressed until the page
reads it. Other work on the machine makes all times longer.
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
window.waits = [0];
const note = (list) => list.getEntries().forEach((event) => waits.push(event.processingStart - event.startTime));
new PerformanceObserver(note).observe({ type: "event", durationThreshold: 16 });
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


def measure(tab: Page, package: Path, path: Path) -> None:
    """Print the row of a package."""
    config = read_package_config(package)
    write_page(path, [(package, config)], ["A dog runs."])
    tab.open(path)
    opened = tab.value("shown")
    settled(tab)
    greedy, beam = (median(times) for times in computed(tab, SEARCHES, line=SENTENCE))
    tab.value("document.forms.sentence.text.select()")
    for letter in SENTENCE:
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
        tab.call("Input.dispatchKeyEvent", type="keyUp", key=letter)
        tab.value("new Promise((then) => setTimeout(then, 80))")
    settled(tab)
    wait = tab.value("Math.max(...waits)")
    megabytes = f"{path.stat().st_size / 1e6:.1f}"
    print_row(f"{config.task} {config.model}", megabytes, *(f"{each:.0f}" for each in (opened, greedy, beam, wait)))


if __name__ == "__main__":
    print_head("Model", "Page, MB", "Output shown, ms", "Greedy, ms", "Beam 4, ms", "Longest wait of a key, ms")
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as tab:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=SHOWN)
        for each in MODELS:
            measure(tab, each.parent, Path(folder) / "page.html")
