// Beam search (section 6.1) for one sentence, as transformer/decoding/beam.py has it.
import { END } from "./network.js";
import { logSoftmax } from "./vectors.js";

/** ((5 + length) / 6)^alpha of Wu et al. (2016). `length` counts the end of sentence. */
export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

const byScore = (one, other) => other.score - one.score;
const byLogp = (one, other) => other.logp - one.logp;

/** The `count` largest of a vector, largest first: [{token, logp}]. */
export function largest(logp, count) {
  const best = [];
  for (let token = 0; token < logp.length; token++) {
    if (best.length === count && logp[token] <= best[count - 1].logp) continue;
    let at = best.length;
    while (at && best[at - 1].logp < logp[token]) at--;
    best.splice(at, 0, { token, logp: logp[token] });
    if (best.length > count) best.pop();
  }
  return best;
}

/** The most subwords of an output, its end included (section 6.1). */
export function limitOf(config, ids, extra) {
  const limit = ids.indexOf(END) + 1 + extra;
  return config.positions === "learned" ? Math.min(limit, config.max_length) : limit;
}

/** The ids of a hypothesis, from its last node. */
export function idsOf(node) {
  const ids = [];
  for (; node.parent; node = node.parent) if (node.token !== END) ids.unshift(node.token);
  return ids;
}

/** The finished hypotheses of a source, best first: [{ids, score, node}].
 *
 * `limit` is that of `limitOf`. The search keeps on while a hypothesis can still win at the greatest length, or with
 * `nbest` be among the best. `tree` receives a node for each continuation that was considered: {parent, token, logp,
 * length, fate}, where the fate is "alive", "ended", "pruned" or "dropped".
 */
export function* beamSearch(model, source, { width, alpha, limit, nbest = false, without = {} }, tree = []) {
  const root = { parent: null, token: null, logp: 0, length: 0, fate: "alive" };
  tree.push(root);
  let alive = [{ node: root, state: yield* model.begin(source, without) }];
  let finished = [];
  const scored = (node, length) => ({ node, score: Math.fround(node.logp / lengthPenalty(length, alpha)) });
  for (let length = 1; length <= limit && alive.length; length++) {
    const count = width > 1 ? 2 * width : 1;
    const continued = model.next(alive).flatMap(({ logits, state }, r) => {
      const { node } = alive[r];
      const more = ({ token, logp }) => ({ node, state, token, logp: Math.fround(node.logp + logp) });
      return largest(logSoftmax(logits), count).map(more);
    });
    alive = [];
    for (const { node: parent, state, token, logp } of continued.sort(byLogp).slice(0, count)) {
      const node = { parent, token, logp, length, fate: "pruned" };
      tree.push(node);
      if (token === END) finished.push(scored(node, length));
      else if (alive.length < width) alive.push({ node, state, token });
    }
    finished = finished.sort(byScore).slice(0, width);
    const bar = (nbest ? finished[width - 1] : finished[0])?.score ?? -Infinity;
    const promising = alive.filter(({ node }) => length < limit && scored(node, limit).score > bar);
    if (!promising.length && !finished.length) finished = [scored(alive[0].node, length + 1)];
    for (const { node } of alive) node.fate = "dropped";
    for (const { node } of promising) node.fate = "alive";
    alive = promising;
    yield;
  }
  for (const { node } of finished) node.fate = "ended";
  return finished.map(({ node, score }) => ({ ids: idsOf(node), score, node }));
}
