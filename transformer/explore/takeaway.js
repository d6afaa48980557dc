// What happens if a part of the paper is taken away, and what the same sentence becomes with other packages.
import { $, element, fill } from "./dom.js";

const form = document.forms.away;
const NAMES = { self_attention: "self-attention", encoder_attention: "encoder-decoder attention" };

/** The parts that can be taken away from a model: [name, text]. */
function parts({ N, h }) {
  const found = [["", "nothing"]];
  for (const stack of ["encoder", "decoder"])
    for (let n = 0; n < N; n++) {
      const layer = `${stack} layer ${n + 1}`;
      const kinds = stack === "encoder" ? ["self_attention"] : ["self_attention", "encoder_attention"];
      found.push([`${stack}.${n}`, `${layer}, whole`]);
      [...kinds, "position_wise"].forEach((kind, i) =>
        found.push([`${stack}.${n}.residuals.${i}`, `${layer}: ${NAMES[kind] ?? "position-wise sub-layer"}`]),
      );
      for (const kind of kinds)
        for (let head = 0; head < h; head++)
          found.push([`${stack}.${n}.${kind}.${head}`, `${layer}: head ${head + 1} of ${NAMES[kind]}`]);
    }
  return found;
}

/** Fit the controls to a model. `onchange` is called when a reader takes away something else. */
export function prepare(config, onchange) {
  fill(form.part, parts(config));
  fill(form.more, parts(config));
  form.scaling.disabled = config.attention !== "scaled";
  form.positions.disabled = config.positions === "none";
  for (const name of ["scaling", "positions"]) form[name].checked &&= !form[name].disabled;
  form.onchange = onchange;
}

/** What is taken away now, as the network's methods take it. Null if it is nothing. */
export function taken() {
  const some = [form.part.value, form.more.value].filter(Boolean);
  const without = {
    scaling: form.scaling.checked,
    positions: form.positions.checked,
    mask: form.mask.checked,
    parts: new Set(some),
  };
  return some.length || without.scaling || without.positions || without.mask ? without : null;
}

/** A text whose words that the other one lacks are marked. */
function marked(text, other) {
  const there = new Set(other.split(" "));
  const words = text.split(" ").map((word) => (there.has(word) ? word : element("mark", {}, word)));
  return element("bdi", {}, ...words.flatMap((word, i) => (i ? [" ", word] : [word])));
}

/** Show the outputs before and after. */
export function show(before, after) {
  $("before").replaceChildren(before);
  $("after").replaceChildren(
    after === null
      ? "Take something away to see what becomes of the output."
      : element("span", {}, marked(after, before), after === before ? " (no change)" : " (changed)"),
  );
}

const judgement = ({ claim, verdict }) => element("li", {}, `${claim}: `, element("strong", {}, verdict));

/** Show the outputs of all packages of the page. */
export function showPackages(packages, outputs) {
  const judged = packages.some(({ facts }) => facts.claims?.length);
  $("judged").hidden = !judged;
  const names = ["model", "output", "parameters", "BLEU on test", ...(judged ? ["its claims"] : [])];
  const head = names.map((name) => element("th", { scope: "col" }, name));
  const judgements = ({ claims }) =>
    claims ? element("ul", {}, ...claims.map(judgement)) : "The others are compared with this one.";
  const rows = packages.map(({ name, facts }, i) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, marked(outputs[i], outputs[0])),
      element("td", {}, facts.parameters.toLocaleString("en")),
      element("td", {}, facts.bleu ?? ""),
      ...(judged ? [element("td", { class: "judged" }, judgements(facts))] : []),
    ),
  );
  $("beside").replaceChildren(element("tr", {}, ...head), ...rows);
}
