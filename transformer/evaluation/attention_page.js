"use strict";
const $ = (id) => document.getElementById(id);
const form = document.forms[0];
const model = JSON.parse(document.querySelector(".model").textContent);
const sentences = [...document.querySelectorAll(".sentence")];
const FAINT = 0.02; // weights below it draw no line
const MARK = 7; // pixels from a word that a chosen word's line ends at
const NO_HEAD = "No head is chosen.";
const KINDS = {
  encoder: ["Source (reads)", "Source (is read)", "Each word of the source reads words of the source."],
  decoder: ["Output (reads)", "Output so far (is read)", "To predict a word, the decoder reads the words before it."],
  "encoder-decoder": ["Output (reads)", "Source (is read)", "To predict a word, the decoder reads the source."],
};
let sentence; // as its script element has it
let weights; // of the chosen kind, one byte each: [layer][head][query][key] in a row
let sides; // {queries, keys}: words, each {text, name, members}; members are places of subwords
let series; // what is drawn: {name, colour, at: (query, key) => weight}
let chosen = null; // {side, place, member}: a word, and its first subword

function element(tag, text = "", attributes = {}) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(text);
  return made;
}

function swatch(colour) {
  const made = element("span", "", { className: "swatch" });
  made.style.setProperty("--head", colour);
  return made;
}

/** Subwords, or the words that they are parts of. */
function words(pieces) {
  const found = [];
  pieces.forEach(({ text, starts }, place) => {
    if (starts || form.unit.value === "subwords") found.push({ text: "", members: [] });
    found.at(-1).text += text;
    found.at(-1).members.push(place);
  });
  const count = {};
  for (const word of found) {
    if (form.unit.value === "words") word.text = word.text.replace(/^\u2581/, "") || "\u2581";
    count[word.text] = (count[word.text] ?? 0) + 1;
  }
  found.forEach((word, i) => (word.name = count[word.text] > 1 ? `${word.text} (word ${i + 1})` : word.text));
  return found;
}

/** The words of both sides of the chosen kind. */
function bothSides() {
  const plain = (text, place) => ({ text, starts: !place || text.startsWith("\u2581") });
  const special = (text) => ({ text, starts: true });
  const source = [...sentence.pieces.source.map(plain), special("<EOS>")];
  const target = [...sentence.pieces.target.map(plain), special("<EOS>")];
  const kind = form.kind.value;
  const before = [special("<start>"), ...target.slice(0, -1)];
  const queries = kind === "encoder" ? source : target;
  const keys = kind === "decoder" ? before : source;
  return { subwords: [queries.length, keys.length], queries: words(queries), keys: words(keys) };
}

/** The weights [query][key] of a head between words: to a word their sum, from a word their mean. */
function between(head) {
  const [T, S] = sides.subwords;
  const first = ((form.layer.value - 1) * model.heads + head) * T * S;
  return sides.queries.map((query) =>
    sides.keys.map((key) => {
      let sum = 0;
      for (const q of query.members) for (const k of key.members) sum += weights[first + q * S + k];
      return sum / query.members.length / model.steps;
    }),
  );
}

const headBoxes = () => [...form.querySelectorAll("[name=head]")];
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
const number = (weight) => weight.toFixed(2);

function chosenHeads() {
  return headBoxes().flatMap((box, head) => (box.checked ? [head] : []));
}

/** Work out what is drawn, and draw it. */
function update() {
  $("source").textContent = sentence.source;
  $("target").textContent = sentence.target;
  const shown = Boolean(sentence.weights);
  $("note").textContent = sentence.note ?? KINDS[form.kind.value][2];
  $("lines").hidden = $("numbers").hidden = !shown || form.view.value !== "lines";
  $("matrix").hidden = !shown || form.view.value !== "matrix";
  showTree();
  if (!shown) return;
  weights = Uint8Array.from(atob(sentence.weights[form.kind.value]), (letter) => letter.charCodeAt(0));
  sides = bothSides();
  const each = chosenHeads().map((head) => ({ name: `head ${head + 1}`, colour: `var(--c${head % 8})`, rows: between(head) }));
  series = each.map(({ name, colour, rows }) => ({ name, colour, at: (q, k) => rows[q][k] }));
  if (form.mean.checked && each.length) {
    const at = (q, k) => mean(each.map(({ rows }) => rows[q][k]));
    series = [{ name: "mean", colour: "var(--accent)", at }];
  }
  if (form.view.value === "matrix") return showMatrix();
  for (const [i, side] of ["queries", "keys"].entries()) {
    $(`${side}-name`).textContent = KINDS[form.kind.value][i];
    $(side).replaceChildren(
      ...sides[side].map(({ text, name }, place) => {
        const label = element("label", "", { className: "word", title: text, dir: "auto" });
        const input = element("input", "", { type: "radio", name: side, value: place });
        input.setAttribute("aria-label", name);
        label.append(input, text);
        return label;
      }),
    );
  }
  choose(chosen && { side: chosen.side, place: wordWith(sides[chosen.side], chosen.member) });
}

/** The place of the word that a subword is part of; the last one where there are fewer. */
function wordWith(side, member) {
  const place = side.findIndex(({ members }) => members.includes(member));
  return place < 0 ? side.length - 1 : place;
}

/** Choose a word of a side, or none, and show its weights. */
function choose(word) {
  chosen = word && { ...word, member: sides[word.side][word.place].members[0] };
  for (const side of ["queries", "keys"]) {
    $(side).classList.toggle("other", Boolean(word) && side !== word.side);
    [...$(side).querySelectorAll("input")].forEach((input, i) => (input.checked = word?.side === side && word.place === i));
  }
  $("lines").classList.toggle("chosen", Boolean(word));
  drawLines();
  showNumbers();
}

/** Draw a line for each weight. A chosen word's lines end in marks, as in figure 3. */
function drawLines() {
  const lines = $("lines");
  const svg = lines.querySelector("svg");
  const columns = lines.clientWidth < 22 * Math.max(sides.queries.length, sides.keys.length);
  lines.classList.toggle("columns", columns);
  svg.setAttribute("width", 0);
  const origin = lines.getBoundingClientRect();
  // Words as boxes: `from` and `size` along the line of words, `near` and `far` across it.
  const boxes = (side) =>
    [...$(side).children].map((word) => {
      const { left, top, width, height } = word.getBoundingClientRect();
      const [x, y] = [left - origin.left + lines.scrollLeft, top - origin.top];
      return columns
        ? { from: y, size: height, near: x, far: x + width }
        : { from: x, size: width, near: y, far: y + height };
    });
  const [queries, keys] = [boxes("queries"), boxes("keys")];
  const upper = Math.max(...queries.map(({ far }) => far)) + 2;
  const lower = Math.min(...keys.map(({ near }) => near)) - 2;
  const isRead = chosen?.side === "keys"; // then the marks are at the words that read
  const middle = ({ from, size }) => from + size / 2;
  const xy = (along, across) => (columns ? [across, along] : [along, across]).map((length) => length.toFixed(1));
  const parts = [];
  series.forEach(({ colour, at }, s) => {
    const place = ({ from, size }) => from + size * (0.05 + (0.9 * (s + 0.5)) / series.length);
    queries.forEach((query, q) => {
      if (chosen && !isRead && chosen.place !== q) return;
      keys.forEach((key, k) => {
        if (isRead && chosen.place !== k) return;
        const weight = Math.min(1, at(q, k));
        if (weight < FAINT) return;
        const [x1, y1] = xy((isRead ? place : middle)(query), upper + (isRead ? MARK : 0));
        const [x2, y2] = xy((isRead ? middle : place)(key), lower - (chosen && !isRead ? MARK : 0));
        const style = `style="--head:${colour}" opacity="${weight.toFixed(3)}"`;
        parts.push(`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${style}/>`);
        if (!chosen) return;
        const other = isRead ? query : key;
        const wide = (0.9 * other.size) / series.length;
        const [x, y] = xy(place(other) - wide / 2, isRead ? upper : lower - MARK);
        const [width, height] = xy(wide, MARK);
        parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" ${style}/>`);
      });
    });
  });
  svg.setAttribute("width", lines.scrollWidth);
  svg.setAttribute("height", lines.scrollHeight);
  svg.innerHTML = parts.join(""); // numbers alone
}

/** Which attention is shown. */
function where() {
  const heads = chosenHeads().map((head) => head + 1);
  const parts = [`${form.kind.value} attention`];
  if (model.layers > 1) parts.push(`layer ${form.layer.value}`);
  if (model.heads > 1) {
    if (heads.length === 1) parts.push(`head ${heads[0]}`);
    else parts.push(heads.length === model.heads ? `mean of all ${heads.length} heads` : `mean of heads ${heads.join(", ")}`);
  }
  return parts.join(", ");
}

/** The weights of the chosen word as a sentence and as a table. */
function showNumbers() {
  $("clear").hidden = $("details").hidden = !chosen || !series.length;
  if (!series.length) return ($("reading").textContent = NO_HEAD);
  if (!chosen) return ($("reading").textContent = "");
  const reads = chosen.side === "queries";
  const word = sides[chosen.side][chosen.place];
  const rows = sides[reads ? "keys" : "queries"]
    .map(({ name }, i) => ({ name, found: series.map(({ at }) => (reads ? at(chosen.place, i) : at(i, chosen.place))) }))
    .map((row) => ({ ...row, all: mean(row.found) }))
    .sort((one, other) => other.all - one.all)
    .filter(({ all, found }) => Math.max(all, ...found) >= 0.005);
  const first = rows.slice(0, 5).map(({ name, all }) => `${name} ${number(all)}`);
  $("reading").textContent = `\u201c${word.name}\u201d ${reads ? "reads" : "is read by"} ${first.join(", ") || "nothing"} (${where()}).`;
  const columns = series.length > 1 ? ["mean", ...series.map(({ name }) => name)] : [series[0].name];
  const head = element("tr");
  head.append(element("th", reads ? "word read" : "reading word"), ...columns.map((name) => element("th", name)));
  if (series.length > 1) series.forEach(({ colour }, i) => head.children[i + 2].prepend(swatch(colour), " "));
  const body = rows.map(({ name, found, all }) => {
    const row = element("tr");
    const numbers = series.length > 1 ? [all, ...found] : found;
    row.append(element("th", name, { dir: "auto" }), ...numbers.map((weight) => element("td", number(weight))));
    row.firstChild.scope = "row";
    return row;
  });
  for (const cell of head.children) cell.scope = "col";
  $("details").firstChild.replaceChildren(head, ...body);
}

/** All weights of the chosen heads' mean. */
function showMatrix() {
  const cell = (q, k) => mean(series.map(({ at }) => at(q, k)));
  const caption = series.length ? `${where()}. Each row reads its columns.` : NO_HEAD;
  const head = element("thead");
  const across = element("tr");
  across.append(element("td"), ...sides.keys.map(({ text }) => element("th", text, { scope: "col" })));
  head.append(across);
  const body = element("tbody");
  sides.queries.forEach(({ text, name }, q) => {
    const row = element("tr");
    row.append(element("th", text, { scope: "row" }));
    sides.keys.forEach((key, k) => {
      const weight = cell(q, k);
      const made = element("td", weight < 0.005 ? "0" : number(weight).replace(/^0/, ""), { title: `${name} reads ${key.name}` });
      made.style.setProperty("--weight", Math.min(1, weight).toFixed(3));
      row.append(made);
    });
    body.append(row);
  });
  $("matrix").firstChild.replaceChildren(element("caption", caption), head, body);
}

function showTree() {
  const tree = sentence.tree;
  $("tree").hidden = !tree;
  if (!tree) return;
  $("tree").firstChild.textContent = tree.repaired
    ? "The output is not a tree over the sentence. This is the tree it was repaired to."
    : "The tree of the output.";
  const image = $("tree").querySelector("img");
  image.src = `data:image/svg+xml,${encodeURIComponent(tree.svg)}`;
  image.alt = tree.brackets;
}

/** Show another sentence: its weights are read now, and only now. */
function load() {
  sentence = JSON.parse(sentences[form.sentence.value].textContent);
  chosen = sentence.weights ? { side: "queries", member: sentence.pieces.source.length >> 1 } : null;
  update();
}

function wordOf(target) {
  const label = target.closest?.(".word");
  return label && { side: label.parentElement.id, place: [...label.parentElement.children].indexOf(label) };
}

function point(event) {
  const word = wordOf(event.target);
  if (word && !(chosen && word.side === chosen.side && word.place === chosen.place)) choose(word);
}

for (const [place, { dataset }] of sentences.entries()) {
  form.sentence.append(element("option", dataset.label, { value: place }));
}
for (let layer = 1; layer <= model.layers; layer++) form.layer.append(element("option", layer, { value: layer }));
for (const radio of form.kind) radio.parentElement.hidden = !model.kinds.includes(radio.value);
for (let head = 0; head < model.heads; head++) {
  const label = element("label");
  const box = element("input", "", { type: "checkbox", name: "head", checked: true, ariaLabel: `head ${head + 1}` });
  label.append(box, swatch(`var(--c${head % 8})`), ` ${head + 1}`);
  $("all").before(label);
}
form.layer.parentElement.hidden = model.layers === 1;
$("heads").hidden = model.heads === 1;
form.kind.value = model.kind;
form.layer.value = model.layer;
form.addEventListener("change", (event) => (event.target === form.sentence ? load() : update()));
form.addEventListener("submit", (event) => event.preventDefault());
for (const [id, checked] of [["all", true], ["none", false]]) {
  $(id).addEventListener("click", () => {
    headBoxes().forEach((box) => (box.checked = checked));
    update();
  });
}
$("lines").addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(event));
$("lines").addEventListener("focusin", point);
$("lines").addEventListener("change", point);
$("clear").addEventListener("click", () => choose(null));
document.addEventListener("keydown", (event) => event.key === "Escape" && sentence?.weights && choose(null));
addEventListener("resize", () => sentence?.weights && form.view.value === "lines" && drawLines());
if (sentences.length) load();
