// What goes into the encoder (sections 3.4 and 3.5): the embedding of a subword, and what its position adds.
import { $, fill, line, strip } from "./dom.js";

const INK = "var(--accent)";
const ELSEWHERE = {
  none: "This model has no positional encoding.",
  t5: "T5's biases add nothing here. They add to the scores of equation 1.",
  alibi: "ALiBi adds nothing here. It adds to the scores of equation 1.",
  rotary: "Rotary positions add nothing here. They turn the queries and keys of equation 1.",
};
const form = document.forms.input;
let [data, loaded] = [null, null];

/** Show the summands of the chosen subword. */
export function show(given = data, whole = loaded) {
  [data, loaded] = [given, whole];
  const { model, config } = loaded;
  fill(
    form.subword,
    data.source.map((text, i) => [i, `${i + 1}. ${text}`]),
  );
  const place = Number(form.subword.value);
  const [sum, embedding] = [{}, { positions: true }].map((without) =>
    model.embed(data.ids[place], model.sourcePositions, place, without),
  );
  const position = sum.map((each, i) => each - embedding[i]);
  $("summands").replaceChildren(
    line("embedding \u00b7 \u221ad_model", strip(embedding, "embedding", INK)),
    line("+ position", ELSEWHERE[config.architecture.positions] ?? strip(position, `position ${place}`, INK)),
    line("goes in", strip(sum, "sum", INK)),
  );
}

form.addEventListener("change", () => show());
