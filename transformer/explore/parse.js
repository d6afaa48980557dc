// Trees as a parser writes them (section 6.3): brackets that carry their label, and leaves that stand for words.

const split = (line) => line.split(/[\t-\r ]+/).filter((word) => word.trim());

/** A tree that is written out, as far as it goes, over the words of a line.
 *
 * {root: {label, children, open: whether it is not closed yet}, whole: whether it is one tree over just these words, faults: how many of its leaves differ
 * from their words}. A leaf is a text.
 */
export function parsed(output, line) {
  const [words, root] = [split(line), { label: "", children: [] }];
  const open = [root];
  let [leaves, faults, closed] = [0, 0, true];
  for (const token of split(output)) {
    const { label, children } = open.at(-1);
    if (token.startsWith("(")) {
      open.push({ label: token.slice(1), children: [] });
      children.push(open.at(-1));
    } else if (token.startsWith(")")) {
      closed &&= open.length > 1 && label === token.slice(1) && children.length > 0;
      if (open.length > 1) open.pop();
    } else {
      const word = words[leaves++];
      if (token !== word) faults++;
      children.push(word === undefined || token === word ? token : token === "XX" ? word : `${word} (${token})`);
    }
  }
  for (const node of open.slice(1)) node.open = true;
  const single = open.length === 1 && root.children.length === 1 && typeof root.children[0] !== "string";
  return { root, whole: closed && single && leaves === words.length, faults };
}

/** A tree in brackets, over its words. */
export function bracketed(node) {
  if (typeof node === "string") return node;
  const text = node.children.map(bracketed).join(" ");
  return node.label ? `(${node.label} ${text})` : text;
}

/** Hypotheses whose trees are whole before others, and those with fewer faults before others. */
export function treesFirst(hypotheses, line, textOf) {
  const rank = ({ whole, faults }) => (whole ? faults : Number.MAX_SAFE_INTEGER);
  const ranks = new Map(hypotheses.map((each) => [each, rank(parsed(textOf(each), line))]));
  return [...hypotheses].sort((one, other) => ranks.get(one) - ranks.get(other));
}
