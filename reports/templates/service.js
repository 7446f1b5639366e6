"use strict";
// The page works without this file; with it sorting needs no request and tables can be copied.
(() => {
  const table = document.getElementById("table");
  const problems = document.getElementById("problems");
  if (problems) problems.focus();

  const form = document.getElementById("form");
  if (form) {
    form.addEventListener("formdata", (event) => {
      const data = event.formData;
      const chosen = new Set();
      for (const [name, text] of [...data.entries()]) {
        const variable = /^valuecodes\[([^]*)\]$/.exec(name);
        if (variable && text !== "") chosen.add(variable[1]);
      }
      for (const name of new Set(data.keys())) {
        const kept = data.getAll(name).filter((text) => text !== "");
        const variable = /^codelist\[([^]*)\]$/.exec(name);
        // "Not in the table" has to be said where categories are ticked.
        if (variable && kept.length === 0 && chosen.has(variable[1])) continue;
        data.delete(name);
        for (const text of kept) data.append(name, text);
      }
    });
  }
  if (!table) return;

  const key = (row, place) => {
    const cell = row.cells[place];
    return cell.dataset.n === undefined ? cell.textContent.trim() : Number(cell.dataset.n);
  };
  const compare = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const sort = (head) => {
    const body = table.tBodies[0];
    const place = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    const rows = [...body.rows].map((row) => [key(row, place), row]);
    rows.sort(([a], [b]) => {
      const order = typeof a === "number" ? a - b : compare.compare(a, b);
      return down ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  if (table.hasAttribute("data-whole")) {
    table.tHead.addEventListener("click", (event) => {
      const link = event.target.closest("a.sort");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      sort(link.closest("th"));
    });
  }

  const copy = document.getElementById("copy");
  const said = document.getElementById("said");
  const line = (row) =>
    [...row.cells]
      .map((cell) => (cell.dataset.n ?? cell.textContent).trim().replace(/\s+/g, " "))
      .join("\t");
  const byHand = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    copy.focus();
    return done;
  };
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const text = [...table.rows].map(line).join("\n") + "\n";
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = byHand(text);
    }
    said.textContent = done ? copy.dataset.done : copy.dataset.failed;
  });
})();
