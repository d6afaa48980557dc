{
  const table = document.currentScript.closest("section").querySelector("table");
  const rows = [...table.tBodies[0].rows], headings = table.querySelectorAll("th[data-column]");
  const value = (row, column) => {
    const cell = row.cells[column], text = cell.dataset.value ?? cell.textContent;
    const number = parseFloat(text.replace("\u2212", "-").replaceAll(",", ""));
    return cell.className || isNaN(number) ? text : number;
  };
  const compare = (a, b, sign) => {  // numbers come before text, an empty cell comes last, in either order
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    if (typeof a === "number") return sign * (a - b);
    return (a === "") - (b === "") || sign * a.localeCompare(b, "en", { numeric: true });
  };
  for (const heading of headings) heading.querySelector("button").onclick = () => {
    const column = heading.dataset.column, sorted = [...rows], last = heading.getAttribute("aria-sort");
    const [next, sign] = { null: ["ascending", 1], ascending: ["descending", -1] }[last] ?? [];
    for (const each of headings) each.removeAttribute("aria-sort");
    if (next) {
      heading.setAttribute("aria-sort", next);
      sorted.sort((a, b) => compare(value(a, column), value(b, column), sign));
    }
    table.tBodies[0].append(...sorted);
  };
}
