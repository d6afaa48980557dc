// Released tables: a click on a heading sorts the rows, and the boxes above a table hide columns.
"use strict";

const NUMBER = /^[+\-\u2212]?\d[\d,]*(\.\d+)?(e[+\-]\d+)?( ?%)?( ± [\d.]+)?(\u00b710)?$/;

function value(cell) {
  const sup = cell.querySelector("sup");
  const text = cell.textContent.slice(0, sup ? -sup.textContent.length : undefined).trim();
  if (!NUMBER.test(text)) return NaN;
  const exponent = sup ? Number(sup.textContent.replace("\u2212", "-")) : 0;
  return parseFloat(text.replace("\u2212", "-").replaceAll(",", "")) * 10 ** exponent;
}

function order(column, numeric, sign) {
  return (one, other) => {
    const [a, b] = [one.cells[column], other.cells[column]];
    if (!numeric) return sign * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
    const [x, y] = [value(a), value(b)];
    return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : sign * (x - y); // without a number: last
  };
}

function makeSortable(table, rows, heading, column) {
  const numeric = column > 0 && rows.some((row) => !isNaN(value(row.cells[column])));
  if (numeric) rows.forEach((row) => row.cells[column].classList.add("number"));
  const button = document.createElement("button");
  button.append(...heading.childNodes);
  heading.append(button);
  button.addEventListener("click", () => {
    const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort ?? "none"];
    table.querySelectorAll("th").forEach((each) => (each.ariaSort = null));
    heading.ariaSort = next;
    table.classList.toggle("sorted", next !== "none");
    const sorted = next === "none" ? rows : rows.toSorted(order(column, numeric, next === "ascending" ? 1 : -1));
    table.tBodies[0].append(...sorted);
  });
}

function makeFoldable(table, groups) {
  const boxes = document.createElement("details");
  boxes.className = "columns";
  boxes.innerHTML = "<summary>Columns</summary>";
  for (const { title, from, to } of groups) {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    label.append(box, ` ${title}`);
    boxes.append(label);
    box.addEventListener("change", () => {
      for (const row of table.rows) {
        let column = 0;
        for (const cell of row.cells) {
          if (column >= from && column < to) cell.hidden = !box.checked;
          column += cell.colSpan;
        }
      }
    });
  }
  table.parentElement.before(boxes);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".released table")) {
    const [upper, lower = upper] = table.tHead.rows;
    const rows = [...table.tBodies[0].rows];
    let from = 0;
    const groups = [...upper.cells].map((cell) => {
      const group = { title: cell.textContent, from, to: from + cell.colSpan };
      // A heading without others below it: its own button sorts.
      const heading = lower.cells[from].textContent.trim() ? null : cell;
      for (let column = from; column < group.to; column++) {
        makeSortable(table, rows, heading ?? lower.cells[column], column);
      }
      from = group.to;
      return group;
    });
    if (table.closest(".whole")) makeFoldable(table, groups);
  }
});
