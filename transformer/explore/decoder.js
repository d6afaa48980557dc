// The decoder, step by step: the likeliest next subwords at each place. A click continues with another one.
import { $, element, number, percent } from "./dom.js";
import { largest } from "./beam.js";
import { END } from "./network.js";

const TEN = 10;
let place = 0; // the step that is shown
let shown = null; // {data, output, subwords, choose}

/** Show the steps of an output. `choose(prefix)` is called with the ids that the output shall begin with. */
export function show(given = shown) {
  shown = given;
  $("steps").hidden = !shown;
  if (!shown) return;
  const { data, output, subwords, choose, forced } = shown;
  place = Math.min(place, data.target.length - 1);
  $("output-steps").replaceChildren(
    ...data.target.map((piece, i) => {
      const current = i === place ? "step" : false;
      const probability = data.probabilities[i][output[i] ?? END];
      const title = `step ${i + 1}: ${piece}, ${percent(probability)}`;
      const classes = i < forced ? "step forced" : "step";
      return element(
        "button",
        {
          type: "button",
          class: classes,
          "aria-current": current,
          "aria-label": title,
          title,
          onclick: () => ((place = i), show(), $("output-steps").children[i].focus()),
        },
        piece,
      );
    }),
  );
  const logp = data.probabilities[place].map(Math.log);
  const rows = largest(logp, TEN).map(({ token }) => {
    const [piece, probability] = [
      token === END ? "<EOS>" : subwords.pieces[token].text,
      data.probabilities[place][token],
    ];
    const now = token === (output[place] ?? END);
    const again = () => choose([...output.slice(0, place), ...(token === END ? [] : [token])], token === END);
    const button = element("button", { type: "button", "aria-pressed": String(now), onclick: again }, piece);
    const bar = element("span", { class: "bar", "--share": probability.toFixed(4) });
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, button),
      element("td", {}, bar),
      element("td", {}, percent(probability)),
      element("td", {}, number(Math.log(probability))),
    );
  });
  const head = ["next subword", "", "P", "log P"].map((name) => element("th", { scope: "col" }, name));
  $("step-name").textContent = `Step ${place + 1}. Before it: ${data.target.slice(0, place).join(" ") || "nothing"}`;
  $("next").replaceChildren(element("tr", {}, ...head), ...rows);
  $("own").hidden = !forced;
}

$("own").addEventListener("click", () => shown.choose([], false));
