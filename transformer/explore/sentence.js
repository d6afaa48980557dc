// What a model computes for one sentence and one output: the page's parts show it.
import { limitOf } from "./beam.js";
import { END, PADDING } from "./network.js";
import { bracketed, parsed, treesFirst } from "./parse.js";
import { logSoftmax } from "./vectors.js";

export const LONGEST = 200; // subwords; the number of weights grows with the square
const PADDED = 4; // how many subwords of padding show what a source without a mask does

/** A line as the model learnt to read it: a parser's has brackets as in treebanks. */
export const asRead = ({ config }, line) =>
  config.kind === "parsing" ? line.replaceAll("(", "-LRB-").replaceAll(")", "-RRB-") : line;

/** The ids of a source; without its mask, padding follows. */
export function sourceIds({ subwords }, line, without = {}) {
  const ids = subwords.encode(line);
  return without.mask ? [...ids, ...Array(PADDED).fill(PADDING)] : ids;
}

/** How a package searches: {width, alpha, limit}. */
export function searchOf({ config }, ids, given = {}) {
  const { beam, alpha, extra } = config.decoding;
  return {
    width: beam,
    alpha,
    limit: limitOf(config.architecture, ids, extra),
    nbest: config.kind === "parsing",
    ...given,
  };
}

/** The greedy output of a source that goes on from `prefix`. */
export function greedy({ model, config }, ids, prefix = []) {
  let state = model.begin(ids);
  let last = null;
  for (const id of prefix) {
    [{ state }] = model.next([state], [last]);
    last = id;
  }
  const output = [...prefix];
  const { limit } = searchOf({ config }, ids);
  while (output.length < limit) {
    const [next] = model.next([state], [last]);
    last = next.logits.indexOf(next.logits.reduce((a, b) => Math.max(a, b)));
    state = next.state;
    if (last === END) break;
    output.push(last);
  }
  return output;
}

/** The hypotheses of a beam in the order in which a model has them: of a parser's, trees come first. */
export const ranked = ({ config, subwords }, line, found) =>
  config.kind === "parsing" ? treesFirst(found, line, ({ ids }) => subwords.decode(ids)) : found;

/** An output as readers know it: a text, or a tree in brackets. */
export function textOf({ config, subwords }, line, ids) {
  const text = subwords.decode(ids);
  return config.kind === "parsing" ? bracketed(parsed(text, line).root) : text;
}

/** All that is computed for a source and an output.
 *
 * {source, target: pieces, layers: {encoder, decoder, "encoder-decoder"}: [layer](query) -> {q, keys, values, scores,
 * weights, output}, probabilities: of each subword, for each place of the output and for its end}
 */
export function computed({ model, subwords }, line, ids, output) {
  const encoder = [];
  let state = model.begin(ids, {}, encoder);
  const steps = [null, ...output].map((id) => {
    const trace = [];
    const [next] = model.next([state], [id], trace);
    state = next.state;
    return { trace, probabilities: logSoftmax(next.logits).map(Math.exp) };
  });
  const piece = (id) => (id === END ? "<EOS>" : id === PADDING ? "<pad>" : subwords.pieces[id].text);
  const layer =
    ({ queries, keys, values, attended }) =>
    (i) => ({ q: queries[i], keys, values, ...attended[i] });
  const step = (n, part) => (i) => ({ q: steps[i].trace[n][part].query, ...steps[i].trace[n][part] });
  return {
    source: [...subwords.split(line).map((each) => each.text), ...ids.slice(ids.indexOf(END)).map(piece)],
    target: [...output, END].map(piece),
    layers: {
      encoder: encoder.map(layer),
      decoder: encoder.map((_, n) => step(n, "own")),
      "encoder-decoder": encoder.map((_, n) => step(n, "across")),
    },
    probabilities: steps.map((each) => each.probabilities),
  };
}
