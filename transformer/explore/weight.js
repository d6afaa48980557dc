// One weight of equation 1, worked out: a query, a key, their product, the softmax, and what the head writes.
import { $, colour, element, fill, number } from "./dom.js";

const form = document.forms.weight;
let [data, config] = [null, null];

const names = (pieces) => pieces.map((text, i) => [i, `${i + 1}. ${text}`]);

/** Numbers as a row of boxes: the larger a number, the darker its box; negative ones are striped. */
function strip(values, label, ink) {
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9);
  const box = (value) =>
    element("span", {
      class: value < 0 ? "box minus" : "box",
      "--share": (Math.abs(value) / most).toFixed(3),
      title: number(value),
    });
  return element(
    "span",
    {
      class: "strip",
      role: "img",
      "aria-label": `${label}: ${[...values].map(number).join(", ")}`,
      "--head": ink,
      "--count": values.length,
    },
    ...Array.from(values, box),
  );
}

const line = (name, ...parts) => element("div", { class: "sum" }, element("dt", {}, name), element("dd", {}, ...parts));

/** A table of scores and weights of all keys; the chosen one is marked. */
function rowOf(pieces, scores, weights, key) {
  const cells = (kind, values) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, kind),
      ...values.map((value, i) => element("td", { class: i === key ? "key" : "" }, value)),
    );
  return element(
    "div",
    { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Scores and weights of the query" },
    element(
      "table",
      {},
      cells("key", pieces),
      cells("score", [...scores].map(number)),
      cells(
        "softmax",
        [...weights].map((weight) => weight.toFixed(3)),
      ),
    ),
  );
}

/** Show a sentence, the chosen weight worked out. */
export function show(given = data, architecture = config) {
  [data, config] = [given, architecture];
  $("worked").hidden = !data;
  if (!data) return;
  const { h, d_k, d_v, attention } = config;
  const kind = form.kind.value;
  const before = ["<start>", ...data.target.slice(0, -1)];
  const [queries, keys] = [kind === "encoder" ? data.source : data.target, kind === "decoder" ? before : data.source];
  fill(
    form.layer,
    data.layers[kind].map((_, i) => [i, i + 1]),
  );
  fill(
    form.head,
    Array.from({ length: h }, (_, i) => [i, i + 1]),
  );
  fill(form.query, names(queries));
  const read = kind === "decoder" ? keys.slice(0, Number(form.query.value) + 1) : keys;
  fill(form.key, names(read));
  const [layer, head, query, key] = ["layer", "head", "query", "key"].map((name) => Number(form[name].value));
  const { q, keys: every, values, scores, weights } = data.layers[kind][layer](query);
  const part = (vector, width) => vector.subarray(head * width, (head + 1) * width);
  const [qs, ks, vs] = [part(q, d_k), part(every[key], d_k), part(values[key], d_v)];
  const product = qs.reduce((sum, each, i) => sum + each * ks[i], 0);
  const score = scores[head][key];
  const ink = colour(head);
  const root = Math.sqrt(d_k);
  const scoreOf = {
    scaled: [
      line("q \u00b7 k", number(product)),
      line("q \u00b7 k / \u221ad_k", `${number(product)} / \u221a${d_k} = ${number(product / root)}`),
    ],
    unscaled: [line("q \u00b7 k", `${number(product)}. This model does not divide by \u221ad_k.`)],
    additive: [line("v \u00b7 tanh(q + k)", `${number(score)}. This model adds instead of multiplying.`)],
  }[attention];
  const plain = { scaled: product / root, unscaled: product, additive: score }[attention];
  const more = score - plain;
  const output = values.reduce(
    (sum, value, i) => sum.map((each, j) => each + weights[head][i] * part(value, d_v)[j]),
    new Float32Array(d_v),
  );
  $("worked").replaceChildren(
    line("query q", `\u201c${queries[query]}\u201d `, strip(qs, "query", ink)),
    line("key k", `\u201c${read[key]}\u201d `, strip(ks, "key", ink)),
    ...scoreOf,
    ...(Math.abs(more) > 1e-4
      ? [line("+ position", `${number(more)}: what the positional encoding (${config.positions}) adds`)]
      : []),
    line("all scores", rowOf(read, scores[head], weights[head], key)),
    line(
      "weight",
      `e^${number(score)} / (the sum of e^score over ${read.length} keys) = ${weights[head][key].toFixed(4)}`,
    ),
    line(
      "value v",
      strip(vs, "value", ink),
      ` times ${weights[head][key].toFixed(3)} is this key's share of the output`,
    ),
    line("output", strip(output, "output", ink), ` the sum over all ${read.length} keys`),
  );
}

/** Choose a weight, and go to it. */
export function work(kind, layer, head, query, key) {
  form.kind.value = kind;
  show();
  for (const [name, value] of Object.entries({ layer, head, query })) form[name].value = value;
  show();
  form.key.value = key;
  show();
  document.forms.weight.scrollIntoView({ block: "nearest" });
}

form.addEventListener("change", () => show());
