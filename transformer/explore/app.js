// The page: what a reader types goes through the model, and each part shows what it did.
import * as attention from "./attention.js";
import { beamSearch } from "./beam.js";
import * as decoder from "./decoder.js";
import { $, element, fill } from "./dom.js";
import * as input from "./input.js";
import { Transformer } from "./network.js";
import { parsed } from "./parse.js";
import { asRead, computed, LONGEST, ranked, searchOf, sourceIds, textOf } from "./sentence.js";
import { Subwords } from "./subwords.js";
import * as takeaway from "./takeaway.js";
import { showBeam, showTree } from "./tree.js";
import { bytesOf, readTensors } from "./vectors.js";
import * as weight from "./weight.js";

const QUIET = 250; // milliseconds without typing after which the beam begins
const SLICE = 8; // milliseconds for which it searches before the page may answer
const form = document.forms.sentence;
const beam = document.forms.beam;
const read = (name) => JSON.parse(document.querySelector(`script.${name}`).textContent);

let loaded; // the package that is shown: {model, subwords, config, name, facts}
let forced = []; // ids that a reader has chosen for the beginning of the output
let own = null; // the ids of the model's own output, once the beam has found it
let turn = 0; // counts what was asked; older work stops

const vocabularies = read("subwords");

/** The packages of the page. Each is read when it is first needed. */
const packages = read("packages").map(({ weights, subwords, ...about }) => {
  let whole;
  return {
    ...about,
    get open() {
      whole ??= {
        ...about,
        model: new Transformer(about.config.architecture, readTensors(bytesOf(weights).buffer)),
        subwords: new Subwords(bytesOf(vocabularies[subwords])),
      };
      return whole;
    },
  };
});

const pause = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** What `steps` return in the end. The page can answer meanwhile; null if the reader has asked for more. */
async function sliced(steps, asked) {
  for (let since = performance.now(); ;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - since < SLICE) continue;
    await pause();
    if (asked !== turn) return null;
    since = performance.now();
  }
}

/** The hypotheses for some ids, best first; null if the reader has asked for more. */
async function searched(each, line, ids, asked, given = {}, nodes = []) {
  const found = await sliced(beamSearch(each.model, ids, searchOf(each, ids, given), nodes), asked);
  return found && ranked(each, line, found);
}

/** What is wrong with a line, if anything is. */
function fault(ids) {
  if (ids.length === 1) return "Type a sentence.";
  const { positions, max_length } = loaded.config.architecture;
  const most = positions === "learned" ? Math.min(LONGEST, max_length) : LONGEST;
  return ids.length > most ? `This sentence has ${ids.length} subwords, and the page shows at most ${most}.` : "";
}

/** Show what `computed` returns in all parts that are about one output. Only a final one is said to screen readers. */
async function showOutput(line, data, final, asked) {
  const { output } = data;
  $("translation").textContent = textOf(loaded, line, output);
  if (loaded.config.kind === "parsing") {
    const tree = parsed(loaded.subwords.decode(output), line);
    showTree($("parse"), tree, tree.whole ? "" : "This output is no tree over these words.");
  }
  for (const show of [
    () => decoder.show({ data, line, loaded, forced: forced.length, choose }),
    () => weight.show(data, loaded.config.architecture),
    () => input.show(data, loaded),
    () => attention.show(data),
    () => $("translation").setAttribute("aria-busy", String(!final)),
  ]) {
    await pause();
    if (asked !== turn) return;
    show();
  }
}

/** Let the output begin with `prefix`, and end there or go on. */
function choose(prefix, ended = false) {
  forced = prefix;
  update(ended);
}

/** Begin anew: another sentence or another search. */
function restart() {
  own = null;
  choose([]);
}

/** Translate what stands there: at once greedily, and with the beam when the reader stops typing. */
async function update(ended = false) {
  const asked = ++turn;
  const line = asRead(loaded, form.text.value);
  const ids = sourceIds(loaded, line);
  const note = fault(ids);
  $("note").textContent = note;
  const piece = ({ text, unknown }) => element("span", { class: unknown ? "piece unknown" : "piece" }, text);
  const pieces = loaded.subwords.split(line);
  const strange = pieces.some(({ unknown }) => unknown);
  $("pieces").replaceChildren(
    ...pieces.map(piece),
    strange ? " Dashed: not in the vocabulary, so unknown to the model." : "",
  );
  $("parts").hidden = Boolean(note);
  $("parse").hidden = Boolean(note) || loaded.config.kind !== "parsing";
  if (note) return ($("translation").textContent = "");
  $("translation").ariaBusy = "true";
  await pause(); // first the keys that were pressed meanwhile
  if (asked !== turn) return;
  const known = ended ? forced : forced.length ? null : own; // else greedy
  const data = await sliced(computed(loaded, line, ids, known, forced), asked);
  if (!data) return;
  await showOutput(line, data, forced.length || own, asked);
  if (!own) {
    await pause(QUIET);
    if (asked !== turn) return;
    const given = { width: Number(beam.width.value), alpha: Number(beam.alpha.value), nbest: true };
    const nodes = [];
    const found = await searched(loaded, line, ids, asked, given, nodes);
    if (!found) return;
    own = found[0].ids;
    showBeam(nodes, found, loaded.subwords, (output) => textOf(loaded, line, output));
    if (!forced.length) {
      const whole = await sliced(computed(loaded, line, ids, own), asked);
      if (!whole) return;
      await showOutput(line, whole, true, asked);
    }
  }
  await showTaken(line, ids, asked);
  await showBeside(asked);
}

/** The output before and after something is taken away. */
async function showTaken(line, ids, asked) {
  const without = takeaway.taken();
  let after = null;
  if (without) {
    const found = await searched(loaded, line, sourceIds(loaded, line, without), asked, { without });
    if (!found) return;
    after = textOf(loaded, line, found[0].ids);
  }
  takeaway.show(textOf(loaded, line, own), after);
}

/** The outputs of all packages. */
async function showBeside(asked) {
  if (packages.length < 2) return;
  const outputs = [];
  for (const { open: each } of packages) {
    const line = asRead(each, form.text.value);
    await pause();
    const found = await searched(each, line, sourceIds(each, line), asked);
    if (!found || asked !== turn) return;
    outputs.push(textOf(each, line, found[0].ids));
  }
  takeaway.showPackages(packages, outputs);
}

/** Show another package. */
function open() {
  loaded = packages[Number(form.package.value)].open;
  const { architecture, decoding } = loaded.config;
  $("facts").textContent = loaded.facts.text;
  beam.width.value = decoding.beam;
  beam.alpha.value = decoding.alpha;
  attention.prepare(architecture, weight.work);
  takeaway.prepare(architecture, () => update());
  said();
  restart();
}

function said() {
  $("width-said").textContent = beam.width.value;
  $("alpha-said").textContent = beam.alpha.value;
}

fill(
  form.package,
  packages.map(({ name }, i) => [i, name]),
);
form.package.parentElement.hidden = $("packages").hidden = packages.length < 2;
fill(form.example, [["", "a sentence of your own"], ...read("examples").map((text) => [text, text])]);
form.text.value = form.example.value = read("examples")[0] ?? "";
for (const each of document.forms) each.addEventListener("submit", (event) => event.preventDefault());
form.package.addEventListener("change", open);
form.example.addEventListener("change", () => {
  form.text.value = form.example.value;
  restart();
});
form.text.addEventListener("input", () => {
  form.example.value = "";
  restart();
});
beam.addEventListener("input", () => {
  said();
  restart();
});
open();
