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

/** The hypotheses of a beam in the order in which a model has them: of a parser's, trees come first. */
export const ranked = ({ config, subwords }, line, found) =>
  config.kind === "parsing" ? treesFirst(found, line, ({ ids }) => subwords.decode(ids)) : found;

/** An output as readers know it: a text, or a tree in brackets. */
export function textOf({ config, subwords }, line, ids) {
  const text = subwords.decode(ids);
  return config.kind === "parsing" ? bracketed(parsed(text, line).root) : text;
}

/** All that is computed for a source and an output; without an output, for the greedy one that goes on from `prefix`.
 *
 * {ids, output, source, target: pieces, layers: {encoder, decoder, "encoder-decoder"}: [layer](query) -> {q, keys, values,
 * scores, weights, output}, probabilities: of each subword, for each place of the output and for its end}
 */
export function* computed({ model, config, subwords }, line, ids, output = null, prefix = []) {
  const [encoder, steps, found] = [[], [], []];
  const given = output ?? prefix;
  const end = output ? output.length : searchOf({ config }, ids).limit;
  let state = yield* model.begin(ids, {}, encoder);
  for (let token; ; found.push(token)) {
    const trace = [];
    const [{ logits, state: after }] = model.next([{ state, token }], trace);
    steps.push({ trace, probabilities: logSoftmax(logits).map(Math.exp) });
    state = after;
    token = given[found.length] ?? logits.indexOf(logits.reduce((a, b) => Math.max(a, b)));
    if (found.length >= end || token === END) break;
    yield;
  }
  const piece = (id) => (id === END ? "<EOS>" : id === PADDING ? "<pad>" : subwords.pieces[id].text);
  const layer =
    ({ queries, keys, values, attended }) =>
    (i) => ({ q: queries[i], keys, values, ...attended[i] });
  const step = (n, part) => (i) => ({ q: steps[i].trace[n][part].query, ...steps[i].trace[n][part] });
  return {
    ids,
    output: found,
    source: [...subwords.split(line).map((each) => each.text), ...ids.slice(ids.indexOf(END)).map(piece)],
    target: [...found, END].map(piece),
    layers: {
      encoder: encoder.map(layer),
      decoder: encoder.map((_, n) => step(n, "own")),
      "encoder-decoder": encoder.map((_, n) => step(n, "across")),
    },
    probabilities: steps.map((each) => each.probabilities),
  };
}
