// One weight of equation 1, worked out: a query, a key, their product, the softmax, and what the head writes.
import { $, colour, element, fill, line, number, strip } from "./dom.js";
import { dot, softmax } from "./vectors.js";

const form = document.forms.weight;
let [data, config] = [null, null];

const names = (pieces) => pieces.map((text, i) => [i, `${i + 1}. ${text}`]);

/** A table with a column for each key; that of the chosen key is marked, and those of masked ones are hatched. */
function table(rows, key, masked) {
  const classes = (i) => (i === key ? "key" : i >= masked ? "masked" : "");
  const cells = ([name, values]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      ...Array.from(values, (value, i) => element("td", { class: classes(i) }, value)),
    );
  const look = { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Scores and weights of the query" };
  return element("div", look, element("table", {}, ...rows.map(cells)));
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
  const products = every.map((other) => dot(qs, 0, part(other, d_k), 0, d_k));
  const [product, score, root] = [products[key], scores[head][key], Math.sqrt(d_k)];
  const ink = colour(head);
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
  const hidden = (text) => Array(keys.length - read.length).fill(text);
  const fixed = (some) => [...Array.from(some, (each) => each.toFixed(3)), ...hidden("0")];
  const rows = [
    ["key", keys],
    ["score", [...Array.from(scores[head], number), ...hidden("\u2212\u221e")]],
    ["softmax", fixed(weights[head])],
  ];
  const why = [];
  if (attention === "scaled") {
    const undivided = softmax(products.map((each, j) => scores[head][j] + each - each / root));
    rows.push(["softmax, undivided", fixed(undivided)]);
    const [now, then] = [weights[head], undivided].map((some) => Math.max(...some).toFixed(3));
    why.push(
      line(
        "why \u221ad_k",
        `q \u00b7 k is a sum of ${d_k} products, so it grows with d_k. Large scores make the softmax give nearly all weight to `,
        `one key, and then it hardly learns. Here the greatest weight is ${now}; undivided it would be ${then}.`,
      ),
    );
  }
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
    line("all scores", table(rows, key, read.length)),
    ...(keys.length > read.length
      ? [line("mask", `\u2212\u221e hides the subwords that come later: e^\u2212\u221e is 0.`)]
      : []),
    line(
      "weight",
      `e^${number(score)} / (the sum of e^score over ${read.length} keys) = ${weights[head][key].toFixed(4)}`,
    ),
    ...why,
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
  form.scrollIntoView({ block: "nearest" });
  $("worked").focus({ preventScroll: true });
}

form.addEventListener("change", () => show());
