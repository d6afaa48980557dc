// The beam as a tree (section 6.1), and the tree that a parser writes (section 6.3).
import { $, drawn, element, number } from "./dom.js";
import { END } from "./network.js";
import { bracketed } from "./parse.js";

const [WIDE, HIGH, FONT] = [84, 18, 12];
const FATES = {
  alive: "was continued",
  ended: "ended among the best",
  dropped: "could not win any more",
  pruned: "was not among the best",
};

/** Draw the nodes of `beamSearch` in columns, one a step. The first hypothesis wins, and its path is bold. */
export function showBeam(nodes, hypotheses, subwords, textOf) {
  const winner = new Set();
  for (let node = hypotheses[0].node; node; node = node.parent) winner.add(node);
  const columns = [];
  for (const node of nodes) (columns[node.length] ??= []).push(node);
  const place = new Map();
  columns.forEach((column, x) => column.forEach((node, y) => place.set(node, [8 + x * WIDE, 14 + y * HIGH])));
  const text = ({ token }) => (token === null ? "<start>" : token === END ? "<EOS>" : subwords.pieces[token].text);
  const parts = nodes.flatMap((node) => {
    const [x, y] = place.get(node);
    const classes = `${node.fate}${winner.has(node) ? " winner" : ""}`;
    const label = drawn(
      "text",
      { x, y: y + 4, class: classes },
      text(node),
      drawn("title", {}, `${text(node)}: log P ${number(node.logp)}, ${FATES[node.fate]}`),
    );
    if (!node.parent) return [label];
    const [from, at] = place.get(node.parent);
    const start = from + Math.min(WIDE - 26, 7 * text(node.parent).length);
    return [
      drawn("path", { d: `M${start} ${at}C${start + 12} ${at} ${x - 14} ${y} ${x - 3} ${y}`, class: classes }),
      label,
    ];
  });
  const size = {
    width: 16 + columns.length * WIDE,
    height: 14 + HIGH * Math.max(...columns.map((column) => column.length)),
  };
  $("beam-tree").replaceChildren(
    drawn(
      "svg",
      { ...size, role: "img", "aria-label": `A tree of ${nodes.length} continuations in ${columns.length - 1} steps` },
      ...parts,
    ),
  );
  $("hypotheses").replaceChildren(
    ...hypotheses.map(({ ids, score }) => element("li", {}, element("bdi", {}, textOf(ids)), ` (${number(score)})`)),
  );
}

/** Draw a parser's output as a tree over the words of its line, as far as it goes. */
export function showTree(place, { root }, fault = "") {
  const parts = [];
  let [column, deepest] = [0, 0];
  function draw(node, depth) {
    deepest = Math.max(deepest, depth);
    if (typeof node === "string") {
      const wide = Math.max(3, node.length) * 7.5 + 12;
      column += wide;
      parts.push([column - wide / 2, depth, node, "leaf"]);
      return column - wide / 2;
    }
    const below = node.children.map((child) => [draw(child, depth + 1), depth + 1]);
    if (!below.length) below.push([(column += 30) - 15, depth]);
    const x = (below[0][0] + below.at(-1)[0]) / 2;
    if (node.label) {
      parts.push([x, depth, node.open ? `(${node.label} \u2026` : node.label, "label"]);
      for (const [to, at] of below) if (at > depth) parts.push([x, depth, to, at]);
    }
    return x;
  }
  draw(root, 0);
  const y = (depth) => depth * 34;
  const shapes = parts.map(([x, depth, what, kind]) =>
    typeof kind === "number"
      ? drawn("path", { d: `M${x} ${y(depth) + 4}L${what} ${y(kind) - 13}` })
      : drawn("text", { x, y: y(depth), "text-anchor": "middle", class: kind }, what),
  );
  place.replaceChildren(
    ...(fault ? [element("p", { class: "muted" }, fault)] : []),
    drawn(
      "svg",
      {
        width: column + 8,
        height: y(deepest) + 12,
        role: "img",
        "aria-label": `A tree: ${bracketed(root)}`,
        "font-size": FONT,
      },
      ...shapes,
    ),
  );
}
