// Tables sort by a click or Enter on the head of a column, upwards and then downwards: numbers by value; what is missing stays last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const isNumber = head.classList.contains("n");
    const value = (row) => {
      const text = row.cells[column].firstChild?.textContent.trim() ?? "";
      return isNumber ? Number.parseFloat(text) : text;
    };
    const isMissing = (found) => (isNumber ? Number.isNaN(found) : found === "" || found === "-");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [value(row), row]);
      rows.sort(([a], [b]) => {
        if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
        const order = isNumber ? a - b : a < b ? -1 : a > b ? 1 : 0;
        return down ? -order : order;
      });
      body.append(...rows.map(([, row]) => row));
      document.querySelector(".status").textContent = `Sorted by ${button.textContent}, ${down ? "downwards" : "upwards"}`;
      setTimeout(() => { document.querySelector(".status").textContent = ""; }, 4000);
    });
  });
}
