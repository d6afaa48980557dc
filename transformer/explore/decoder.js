// The decoder, step by step: the likeliest next subwords at each place. A click continues with another one.
import { $, element, number, percent, roving } from "./dom.js";
import { largest } from "./beam.js";
import { END } from "./network.js";
import { parsed } from "./parse.js";
import { showTree } from "./tree.js";

const TEN = 10;
const MOST = 3; // subwords of the source that a step is said to read
const BEAT = 500; // milliseconds a step, when the steps are played
let place = 0; // the step that is shown
let shown = null; // {data, line, loaded, forced, choose}
let playing = 0;

/** Show the steps of an output. `choose(prefix)` is called with the ids that the output shall begin with. */
export function show(given) {
  shown = given;
  clearInterval(playing);
  const { data, forced } = shown;
  const steps = data.target.map((piece, i) => {
    const share = percent(data.probabilities[i][data.output[i] ?? END]);
    const look = { type: "button", class: i < forced ? "step forced" : "step" };
    const said = { "aria-label": `step ${i + 1}: ${piece}, ${share}`, onclick: () => (clearInterval(playing), go(i)) };
    return element("button", { ...look, ...said }, element("span", {}, piece), element("small", {}, share));
  });
  const focused = ["output-steps", "next", "own"].some((id) => $(id).contains(document.activeElement));
  $("output-steps").replaceChildren(...steps);
  $("own").hidden = !forced;
  go(Math.min(place, steps.length - 1));
  if (focused) steps[place].focus(); // what had the focus is gone
}

/** Go to a step: its ten likeliest subwords, what it reads, and a parser's tree with the brackets so far. */
function go(step) {
  place = step;
  const { data, line, loaded, choose } = shown;
  const { output, target, source } = data;
  [...$("output-steps").children].forEach((button, i) => {
    if (i === place) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
    button.tabIndex = i === place ? 0 : -1;
  });
  const probabilities = data.probabilities[place];
  const rows = largest(probabilities.map(Math.log), TEN).map(({ token, logp }) => {
    const piece = token === END ? "<EOS>" : loaded.subwords.pieces[token].text;
    const now = String(token === (output[place] ?? END));
    const again = () => choose([...output.slice(0, place), ...(token === END ? [] : [token])], token === END);
    return element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        element("button", { type: "button", "aria-pressed": now, onclick: again }, piece),
      ),
      element("td", {}, element("span", { class: "bar", "--share": probabilities[token].toFixed(4) })),
      element("td", {}, percent(probabilities[token])),
      element("td", {}, number(logp)),
    );
  });
  const head = ["next subword", "", "P", "log P"].map((name) => element("th", { scope: "col" }, name));
  $("next").replaceChildren(element("tr", {}, ...head), ...rows);
  $("step-name").textContent = `Step ${place + 1}. Before it: ${target.slice(0, place).join(" ") || "nothing"}`;
  const { weights } = data.layers["encoder-decoder"].at(-1)(place);
  const mean = source.map((_, j) => weights.reduce((sum, row) => sum + row[j], 0) / weights.length);
  const most = largest(mean, MOST).map(({ token: j, logp: share }) => `${source[j]} ${number(share)}`);
  $("step-reads").textContent = `In the last layer it reads ${most.join(", ")} (mean of the heads).`;
  $("grown").hidden = loaded.config.kind !== "parsing";
  if (!$("grown").hidden) showTree($("grown"), parsed(loaded.subwords.decode(output.slice(0, place + 1)), line));
}

roving($("output-steps"), "button", (button) => button.click());
$("own").addEventListener("click", () => shown.choose([]));
$("play").addEventListener("click", () => {
  clearInterval(playing);
  go(0);
  playing = setInterval(() => {
    if (place + 1 < shown.data.target.length) go(place + 1);
    else clearInterval(playing);
  }, BEAT);
});
