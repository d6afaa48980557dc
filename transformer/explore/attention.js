// What reads what (section 3.2.3): lines between words, as in figures 3 to 5, numbers, and a matrix.
import { $, colour, drawn, element, fill, number, roving, swatch } from "./dom.js";

const FAINT = 0.02; // weights below it draw no line
const SHADES = 25; // steps of a line's opacity
const MARK = 7; // pixels from a word that a chosen word's line ends at
const KINDS = {
  encoder: ["Source (reads)", "Source (is read)", "Each word of the source reads words of the source."],
  decoder: [
    "Output (reads)",
    "Output so far (is read)",
    "To predict a word, the decoder reads the words before it. It cannot read what it has not written yet: this is the mask of section 3.2.3.",
  ],
  "encoder-decoder": ["Output (reads)", "Source (is read)", "To predict a word, the decoder reads the source."],
};
const form = document.forms.attention;
const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length);
let work = () => {}; // called with a kind, a layer, a head, a query and a key whose weight is to be worked out
let data; // what `computed` returned
let sides; // {queries, keys}: words, each {text, name, members}; members are places of subwords
let series; // what is drawn: {name, colour, at: (query, key) => weight}
let chosen = null; // {side, place, member}: a word, and its first subword

/** Subwords, or the words that they are parts of. */
function words(pieces) {
  const whole = form.unit.value === "words";
  const found = [];
  pieces.forEach((text, place) => {
    const special = text.startsWith("<");
    if (!whole || !place || special || text.startsWith("\u2581")) found.push({ text: "", members: [] });
    found.at(-1).text += text;
    found.at(-1).members.push(place);
  });
  const count = {};
  for (const word of found) {
    if (whole) word.text = word.text.replace(/^\u2581/, "") || "\u2581";
    count[word.text] = (count[word.text] ?? 0) + 1;
  }
  found.forEach((word, i) => (word.name = count[word.text] > 1 ? `${word.text} (word ${i + 1})` : word.text));
  return found;
}

/** Whether a word of the decoder is masked for another one: no subword of the one may read any of the other. */
const masked = (q, k) => form.kind.value === "decoder" && sides.keys[k].members[0] > sides.queries[q].members.at(-1);

/** The weights [query][key] of a head between words: to a word their sum, from a word their mean. */
function between(head) {
  const layer = data.layers[form.kind.value][form.layer.value - 1];
  const rows = sides.queries.map(({ members }) => members.map((q) => layer(q).weights[head]));
  return rows.map((some) =>
    sides.keys.map(({ members }) => mean(some.map((row) => members.reduce((sum, k) => sum + (row[k] ?? 0), 0)))),
  );
}

const boxes = () => [...form.querySelectorAll("[name=head]")];
const heads = () => boxes().flatMap((box, head) => (box.checked ? [head] : []));

/** Show a sentence and its output; without data, nothing. */
export function show(given = data) {
  data = given;
  $("attention-views").hidden = !data;
  if (!data) return;
  const kind = form.kind.value;
  const before = ["<start>", ...data.target.slice(0, -1)];
  const [queries, keys] = [kind === "encoder" ? data.source : data.target, kind === "decoder" ? before : data.source];
  sides = { queries: words(queries), keys: words(keys) };
  const matrix = form.view.value === "matrix";
  const hint = matrix
    ? "Click a number, or go to it with the arrow keys and press Enter, to work it out."
    : "Point at a word, or go to it with Tab and the arrow keys.";
  $("attention-note").textContent = `${KINDS[kind][2]} ${hint}`;
  series = heads().map((head) => {
    const rows = between(head);
    return { name: `head ${head + 1}`, colour: colour(head), at: (q, k) => rows[q][k] };
  });
  if (form.mean.checked && series.length) {
    const each = series;
    series = [{ name: "mean", colour: "var(--accent)", at: (q, k) => mean(each.map(({ at }) => at(q, k))) }];
  }
  $("lines").hidden = $("numbers").hidden = matrix;
  $("matrix").hidden = !matrix;
  if (matrix) return showMatrix();
  for (const [i, side] of ["queries", "keys"].entries()) {
    $(`${side}-name`).textContent = KINDS[kind][i];
    $(side).replaceChildren(
      ...sides[side].map(({ text, name }, place) => {
        const input = element("input", { type: "radio", name: side, value: place, "aria-label": name });
        return element("label", { class: "word", title: text, dir: "auto" }, input, text);
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
    const inputs = $(side).querySelectorAll("input");
    [...inputs].forEach((input, i) => (input.checked = word?.side === side && word.place === i));
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
  const placed = (side) =>
    [...$(side).children].map((word) => {
      const { left, top, width, height } = word.getBoundingClientRect();
      const [x, y] = [left - origin.left + lines.scrollLeft, top - origin.top];
      return columns
        ? { from: y, size: height, near: x, far: x + width }
        : { from: x, size: width, near: y, far: y + height };
    });
  const [queries, keys] = [placed("queries"), placed("keys")];
  const upper = Math.max(...queries.map(({ far }) => far)) + 2;
  const lower = Math.min(...keys.map(({ near }) => near)) - 2;
  const isRead = chosen?.side === "keys"; // then the marks are at the words that read
  const middle = ({ from, size }) => from + size / 2;
  const xy = (along, across) => (columns ? [across, along] : [along, across]).map((length) => length.toFixed(1));
  const parts = [];
  series.forEach(({ colour: ink, at }, s) => {
    const shades = new Map(); // lines of one opacity are one element: a browser takes too long for thousands
    const place = ({ from, size }) => from + size * (0.05 + (0.9 * (s + 0.5)) / series.length);
    queries.forEach((query, q) => {
      if (chosen && !isRead && chosen.place !== q) return;
      keys.forEach((key, k) => {
        if (isRead && chosen.place !== k) return;
        const weight = Math.min(1, at(q, k));
        if (weight < FAINT) return;
        const [x1, y1] = xy((isRead ? place : middle)(query), upper + (isRead ? MARK : 0));
        const [x2, y2] = xy((isRead ? middle : place)(key), lower - (chosen && !isRead ? MARK : 0));
        const opacity = Math.ceil(weight * SHADES) / SHADES;
        shades.set(opacity, `${shades.get(opacity) ?? ""}M${x1} ${y1}L${x2} ${y2}`);
        if (!chosen) return;
        const other = isRead ? query : key;
        const wide = (0.9 * other.size) / series.length;
        const [x, y] = xy(place(other) - wide / 2, isRead ? upper : lower - MARK);
        const [width, height] = xy(wide, MARK);
        parts.push(drawn("rect", { x, y, width, height, "--head": ink, opacity }));
      });
    });
    for (const [opacity, d] of shades) parts.push(drawn("path", { d, "--head": ink, opacity }));
  });
  svg.setAttribute("width", lines.scrollWidth);
  svg.setAttribute("height", lines.scrollHeight);
  svg.replaceChildren(...parts);
}

/** Which attention is shown. */
function where() {
  const some = heads().map((head) => head + 1);
  const parts = [`${form.kind.value} attention, layer ${form.layer.value}`];
  if (some.length === 1) parts.push(`head ${some[0]}`);
  else
    parts.push(
      some.length === boxes().length ? `mean of all ${some.length} heads` : `mean of heads ${some.join(", ")}`,
    );
  return parts.join(", ");
}

/** The weights of the chosen word as a sentence and as a table. */
function showNumbers() {
  $("clear").hidden = $("details").hidden = !chosen || !series.length;
  $("reading").textContent = series.length ? "" : "No head is chosen.";
  if (!chosen || !series.length) return;
  const reads = chosen.side === "queries";
  const word = sides[chosen.side][chosen.place];
  const rows = sides[reads ? "keys" : "queries"]
    .map(({ name }, i) => ({
      name,
      found: series.map(({ at }) => (reads ? at(chosen.place, i) : at(i, chosen.place))),
    }))
    .map((row) => ({ ...row, all: mean(row.found) }))
    .sort((one, other) => other.all - one.all)
    .filter(({ all, found }) => Math.max(all, ...found) >= 0.005);
  const first = rows.slice(0, 5).map(({ name, all }) => `${name} ${number(all)}`);
  $("reading").textContent =
    `\u201c${word.name}\u201d ${reads ? "reads" : "is read by"} ${first.join(", ") || "nothing"} (${where()}).`;
  const many = series.length > 1;
  const names = [...(many ? [element("th", { scope: "col" }, "mean")] : [])];
  for (const [i, { name }] of series.entries())
    names.push(element("th", { scope: "col" }, ...(many ? [swatch(heads()[i]), " "] : []), name));
  const head = element("tr", {}, element("th", { scope: "col" }, reads ? "word read" : "reading word"), ...names);
  const body = rows.map(({ name, found, all }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", dir: "auto" }, name),
      ...(many ? [all, ...found] : found).map((weight) => element("td", {}, number(weight))),
    ),
  );
  $("details").firstElementChild.replaceChildren(head, ...body);
}

/** All weights of the chosen heads' mean. A click, or Enter, works one out. */
function showMatrix() {
  const head = element("tr", {}, element("td"), ...sides.keys.map(({ text }) => element("th", { scope: "col" }, text)));
  const rows = sides.queries.map(({ text, name, members }, q) => {
    const cells = sides.keys.map((key, k) => {
      const tabindex = q || k ? -1 : 0;
      if (masked(q, k))
        return element("td", { tabindex, class: "masked", title: `${key.name} is masked` }, "\u2212\u221e");
      const weight = mean(series.map(({ at }) => at(q, k)));
      const open = () => work(form.kind.value, form.layer.value - 1, heads()[0] ?? 0, members[0], key.members[0]);
      const title = `${name} reads ${key.name}: ${number(weight)}. Click, or press Enter, to work it out`;
      const look = { tabindex, title, "--weight": Math.min(1, weight).toFixed(3) };
      const opens = { onclick: open, onkeydown: (event) => event.key === "Enter" && open() };
      return element("td", { ...look, ...opens }, weight < 0.005 ? "0" : number(weight).replace(/^0/, ""));
    });
    return element("tr", {}, element("th", { scope: "row" }, text), ...cells);
  });
  const caption = series.length ? `${where()}. Each row reads its columns.` : "No head is chosen.";
  $("matrix").firstElementChild.replaceChildren(
    element("caption", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, ...rows),
  );
}

/** Fit the controls to a model. `onwork` is called with the weight of the matrix that is clicked. */
export function prepare({ N, h }, onwork) {
  work = onwork;
  fill(
    form.layer,
    Array.from({ length: N }, (_, i) => [i + 1, i + 1]),
  );
  for (const box of boxes()) box.parentElement.remove();
  for (let head = 0; head < h; head++) {
    const box = element("input", { type: "checkbox", name: "head", checked: true, "aria-label": `head ${head + 1}` });
    $("all").before(element("label", {}, box, swatch(head), ` ${head + 1}`));
  }
}

function wordOf(target) {
  const label = target.closest?.(".word");
  return label && { side: label.parentElement.id, place: [...label.parentElement.children].indexOf(label) };
}

function point(event) {
  const word = wordOf(event.target);
  if (word && !(chosen && word.side === chosen.side && word.place === chosen.place)) choose(word);
}

form.addEventListener("change", () => show());
roving($("matrix"), "td[tabindex]");
for (const [id, checked] of [
  ["all", true],
  ["none", false],
]) {
  $(id).addEventListener("click", () => {
    for (const box of boxes()) box.checked = checked;
    show();
  });
}
$("lines").addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(event));
$("lines").addEventListener("focusin", point);
$("lines").addEventListener("change", point);
$("clear").addEventListener("click", () => choose(null));
document.addEventListener(
  "keydown",
  (event) => event.key === "Escape" && data && form.view.value === "lines" && choose(null),
);
addEventListener("resize", () => data && form.view.value === "lines" && drawLines());
