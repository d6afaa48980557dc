"""What a reader does on the page in which packages run, and what code computes there."""

import json
import time

SETUP = """
const { Transformer } = await import("network");
const { Subwords } = await import("subwords");
const { bytesOf, readTensors } = await import("vectors");
const { beamSearch, limitOf } = await import("beam");
const { computed } = await import("sentence");
const [about] = JSON.parse(document.querySelector("script.packages").textContent);
const subwords = new Subwords(bytesOf(JSON.parse(document.querySelector("script.subwords").textContent)[0]));
const model = new Transformer(about.config.architecture, readTensors(bytesOf(about.weights).buffer));
const loaded = { model, subwords, config: about.config };
const ended = (steps) => {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
};
"""


def computed(tab, code, **given):
    """What code returns that runs in the page, after SETUP."""
    names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items())
    return tab.value(f"(async () => {{{SETUP}{names}{code}}})()")


def settled(tab):
    """Wait until the beam has ended."""
    wait(tab, "document.getElementById('translation').ariaBusy === 'false' || document.getElementById('parts').hidden")


def wait(tab, expression):
    """Wait until something is so on the page."""
    end = time.monotonic() + 60
    while not (found := tab.value(expression)):
        assert time.monotonic() < end, expression
        time.sleep(0.05)
    return found


def text(tab, selector):
    return tab.value(f"document.querySelector({json.dumps(selector)}).textContent")


def texts(tab, selector):
    return tab.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)")


def pick(tab, form, name, value):
    """Choose in a list, as a browser's own list does it."""
    field = f"document.forms.{form}.{name}"
    event = "new Event('change', {bubbles: true})"
    tab.value(f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent({event})")


def write(tab, line):
    tab.value("document.forms.sentence.text.select()")
    tab.call("Input.insertText", text=line)
