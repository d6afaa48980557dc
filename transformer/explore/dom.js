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

export const swatch = (head) => element("span", { class: "swatch", "--head": colour(head) });
export const colour = (head) => `var(--c${head % 8})`;
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
export const number = (value) => value.toFixed(2).replace("-", "\u2212");
