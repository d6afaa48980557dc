// The page: what a reader types goes through the model, and each part shows what it did.
import * as attention from "./attention.js";
import { beamSteps } from "./beam.js";
import * as decoder from "./decoder.js";
import { $, element, fill } from "./dom.js";
import { Transformer } from "./network.js";
import { best, computed, greedy, LONGEST, searchOf, sourceIds } from "./sentence.js";
import { Subwords } from "./subwords.js";
import * as takeaway from "./takeaway.js";
import { showBeam, showTree } from "./tree.js";
import { readTensors } from "./vectors.js";
import * as weight from "./weight.js";

const QUIET = 250; // milliseconds without typing after which the beam begins
const SLICE = 12; // milliseconds for which it searches before the page may answer
const form = document.forms.sentence;
const beam = document.forms.beam;
const read = (name) => JSON.parse(document.querySelector(`script.${name}`).textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

let loaded; // the package that is shown: {model, subwords, config, name, facts}
let forced = []; // ids that a reader has chosen for the beginning of the output
let own = []; // the ids of the model's own output
let turn = 0; // counts what was asked; older work stops

/** The packages of the page. Each is read when it is first needed. */
const packages = read("packages").map(({ weights, subwords, ...about }) => {
  let whole;
  return {
    ...about,
    get open() {
      whole ??= {
        ...about,
        model: new Transformer(about.config.architecture, readTensors(bytes(weights).buffer)),
        subwords: new Subwords(bytes(subwords)),
      };
      return whole;
    },
  };
});

const pause = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const textOf = (each, ids) => each.subwords.decode(ids);

/** A search of which the page waits in slices. Null if the reader has asked for something else meanwhile. */
async function searched(each, state, how, asked, nodes = []) {
  const steps = beamSteps(each.model, state, how, nodes);
  for (let since = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - since > SLICE) {
      await pause();
      if (asked !== turn) return null;
      since = performance.now();
    }
  }
}

/** Show what is wrong with a line, if anything is. */
function fault(ids) {
  if (ids.length === 1) return "Type a sentence.";
  const { positions, max_length } = loaded.config.architecture;
  const most = positions === "learned" ? Math.min(LONGEST, max_length) : LONGEST;
  return ids.length > most ? `This sentence has ${ids.length} subwords, and the page shows at most ${most}.` : "";
}

/** Show an output in all parts that are about one output. */
function showOutput(line, ids, output) {
  const data = computed(loaded, line, ids, output);
  $("translation").textContent = textOf(loaded, output);
  if (loaded.config.kind === "parsing") showTree(textOf(loaded, output), line);
  attention.show(data);
  weight.show(data, loaded.config.architecture);
  decoder.show({ data, output, subwords: loaded.subwords, forced: forced.length, choose });
}

function choose(prefix, ended = false) {
  forced = prefix;
  update(ended);
}

/** Translate what stands there: at once greedily, and with the beam when the reader stops typing. */
async function update(ended = false) {
  const asked = ++turn;
  const line = form.text.value;
  const ids = sourceIds(loaded.subwords, line);
  const note = fault(ids);
  $("note").textContent = note;
  $("pieces").replaceChildren(...loaded.subwords.split(line).map(({ text, unknown }) => element("span", { class: unknown ? "piece unknown" : "piece", title: unknown ? "not in the vocabulary" : undefined }, text)));
  $("parts").hidden = Boolean(note);
  if (note) return ($("translation").textContent = "");
  const draft = ended ? forced : greedy(loaded, ids, {}, forced);
  showOutput(line, ids, draft);
  await pause(QUIET);
  if (asked !== turn) return;
  if (!forced.length) {
    const given = { width: Number(beam.width.value), alpha: Number(beam.alpha.value), nbest: true };
    const nodes = [];
    const found = await searched(loaded, loaded.model.begin(ids), searchOf(loaded, ids, given), asked, nodes);
    if (!found) return;
    own = found[0].ids;
    showBeam(nodes, found, loaded);
    showOutput(line, ids, own);
  }
  await showTaken(line, ids, own, asked);
  await showBeside(line, asked);
}

/** The output before and after something is taken away. */
async function showTaken(line, ids, output, asked) {
  const without = takeaway.taken();
  let after = null;
  if (without) {
    const given = sourceIds(loaded.subwords, line, without);
    const found = await searched(loaded, loaded.model.begin(given, without), searchOf(loaded, ids), asked);
    if (!found) return;
    after = textOf(loaded, found[0].ids);
  }
  takeaway.show(textOf(loaded, output), after);
}

/** The outputs of all packages. */
async function showBeside(line, asked) {
  if (packages.length < 2) return;
  const outputs = [];
  for (const each of packages) {
    await pause();
    if (asked !== turn) return;
    outputs.push(textOf(each.open, best(each.open, each.open.subwords.encode(line))));
  }
  takeaway.showPackages(packages, outputs);
}

/** Show another package. */
function open() {
  loaded = packages[Number(form.package.value)].open;
  const { architecture, decoding, kind } = loaded.config;
  $("facts").textContent = loaded.facts.text;
  $("parse").hidden = kind !== "parsing";
  beam.width.value = decoding.beam;
  beam.alpha.value = decoding.alpha;
  attention.prepare(architecture, weight.work);
  takeaway.prepare(architecture, () => update());
  forced = [];
  said();
  update();
}

function said() {
  $("width-said").textContent = beam.width.value;
  $("alpha-said").textContent = beam.alpha.value;
}

fill(form.package, packages.map(({ name }, i) => [i, name]));
form.package.parentElement.hidden = packages.length < 2;
fill(form.example, [["", "a sentence of your own"], ...read("examples").map((text) => [text, text])]);
form.text.value = read("examples")[0] ?? "";
form.addEventListener("submit", (event) => event.preventDefault());
form.package.addEventListener("change", open);
form.example.addEventListener("change", () => {
  form.text.value = form.example.value;
  choose([]);
});
form.text.addEventListener("input", () => {
  form.example.value = "";
  choose([]);
});
beam.addEventListener("input", () => {
  said();
  choose([]);
});
beam.addEventListener("submit", (event) => event.preventDefault());
open();
