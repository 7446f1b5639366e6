"use strict";
// The page works without this file; with it sorting and finding need no new page, and tables
// can be copied.
(() => {
  const table = document.getElementById("table");
  const problems = document.getElementById("problems");
  const said = document.getElementById("said");
  if (problems) problems.focus();

  const isOf = (name, word) => new RegExp(`^${word}\\[([^]*)\\]$`).exec(name);
  const form = document.getElementById("form");
  if (form) {
    form.addEventListener("formdata", (event) => {
      const data = event.formData;
      const chosen = new Set();
      for (const [name, text] of [...data.entries()]) {
        const variable = isOf(name, "valuecodes");
        if (variable && text !== "") chosen.add(variable[1]);
      }
      for (const name of new Set(data.keys())) {
        const kept = data.getAll(name).filter((text) => text !== "");
        const variable = isOf(name, "codelist");
        // "Not in the table" has to be said where categories are ticked.
        if (variable && kept.length === 0 && chosen.has(variable[1])) continue;
        data.delete(name);
        for (const text of kept) data.append(name, text);
      }
    });
    for (const field of form.querySelectorAll("fieldset")) {
      const input = field.querySelector("input[type=search]");
      if (input) findWhileTyping(field, input);
    }
  }

  // Ask for the form as it is with this search, and take the list of categories from it.
  function findWhileTyping(field, input) {
    let latest = 0;
    let timer = 0;
    const show = async () => {
      const mine = ++latest;
      const asked = new URLSearchParams({ [input.name]: input.value.trim() });
      asked.set("lang", document.documentElement.lang);
      let page;
      try {
        const answer = await fetch(`./?${asked}`);
        if (!answer.ok) return;
        page = new DOMParser().parseFromString(await answer.text(), "text/html");
      } catch {
        return; // the button still works
      }
      const fresh = page.getElementById(field.id);
      if (mine !== latest || !fresh) return;
      const ticks = field.querySelector(".ticks");
      const found = fresh.querySelector(".ticks");
      const ticked = [...ticks.querySelectorAll("input:checked")].reverse();
      for (const old of ticked) {
        const same = [...found.querySelectorAll("input")].find((box) => box.value === old.value);
        if (same) same.checked = true;
        else found.prepend(old.closest("label"));
      }
      ticks.replaceWith(found);
      field.querySelector(".found").textContent = fresh.querySelector(".found").textContent;
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(show, 250);
    };
    input.addEventListener("input", soon);
    const now = (event) => {
      event.preventDefault();
      clearTimeout(timer);
      show();
    };
    input.addEventListener("keydown", (event) => event.key === "Enter" && now(event));
    input.parentElement.querySelector("button").addEventListener("click", now);
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
    for (const cell of body.querySelectorAll(".again")) cell.classList.remove("again");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const words = down ? table.dataset.down : table.dataset.up;
    said.textContent = words.replace("{name}", () => head.textContent.trim());
  };
  if (table.hasAttribute("data-whole")) {
    table.tHead.addEventListener("click", (event) => {
      const link = event.target.closest("a.sort");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      sort(link.closest("th"));
    });
  }

  const permalink = document.getElementById("permalink");
  permalink.dataset.whole = permalink.href;
  const line = (row) =>
    [...row.cells]
      .map((cell) => (cell.dataset.n ?? cell.textContent).trim().replace(/\s+/g, " "))
      .join("\t");
  const byHand = (text, button) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    return done;
  };
  const copies = (button, text) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      let done = true;
      try {
        await navigator.clipboard.writeText(text());
      } catch {
        done = byHand(text(), button);
      }
      said.textContent = done ? button.dataset.done : button.dataset.failed;
    });
  };
  const lines = () => [...table.tHead.rows, ...table.tBodies[0].rows].map(line);
  copies(document.getElementById("copy"), () => lines().join("\n") + "\n");
  copies(document.getElementById("link"), () => permalink.href);
})();
