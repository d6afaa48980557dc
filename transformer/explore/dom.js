// Elements of the page. Texts of readers become text, never HTML.

export const $ = (id) => document.getElementById(id);

function made(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export const element = (tag, attributes = {}, ...children) => made(document.createElement(tag), attributes, children);

export const drawn = (tag, attributes = {}, ...children) =>
  made(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** Fill a select with [value, text] pairs. It keeps its choice if this is still there. */
export function fill(select, pairs) {
  const before = select.value;
  select.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
  if (pairs.some(([value]) => String(value) === before)) select.value = before;
}

/** Arrow keys go from one element of a row or a table to the next; only the one that is reached last has tabindex 0.
 *
 * `selector` matches the elements inside `root`. `reached` is called with the element.
 */
export function roving(root, selector, reached = () => {}) {
  root.addEventListener("keydown", (event) => {
    const here = event.target.closest(selector);
    const [across, down] =
      { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [];
    if (!here || across === undefined) return;
    const row = [...here.parentElement.children].filter((each) => each.matches(selector));
    const column = row.indexOf(here);
    const beside = down < 0 ? here.parentElement.previousElementSibling : here.parentElement.nextElementSibling;
    const next = down ? beside?.querySelectorAll(selector)[column] : row[column + across];
    if (!next || !root.contains(next)) return;
    event.preventDefault();
    here.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    reached(next);
  });
}

export const swatch = (head) => element("span", { class: "swatch", "--head": colour(head) });
export const colour = (head) => `var(--c${head % 8})`;
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
export const number = (value) => value.toFixed(2).replace("-", "\u2212");

/** Numbers as a row of boxes: the larger a number, the darker its box; negative ones are striped. */
export function strip(values, label, ink) {
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9);
  const box = (value) =>
    element("span", {
      class: value < 0 ? "box minus" : "box",
      "--share": (Math.abs(value) / most).toFixed(3),
      title: number(value),
    });
  return element(
    "span",
    {
      class: "strip",
      role: "img",
      "aria-label": `${label}: ${[...values].map(number).join(", ")}`,
      "--head": ink,
      "--count": values.length,
    },
    ...Array.from(values, box),
  );
}

/** A line of a list: a name, and what it is. */
export const line = (name, ...parts) =>
  element("div", { class: "sum" }, element("dt", {}, name), element("dd", {}, ...parts));
