"use strict";
// The page works without this file; with it sorting and finding need no new page, tables can be
// copied, polygons drawn, and areas of the map ticked.
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
      field.querySelector("details").open = true;
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
  const polygon = document.getElementById("polygon");
  if (polygon) choosePolygon(polygon);
  const map = document.querySelector(".map svg[role=img]");
  const areas = document.querySelector("fieldset[data-areas]");
  if (map && areas) tickOnMap(map, areas);

  // The polygon of a GeoJSON, without what else is in the file, in few digits; null for none.
  function polygonOf(text) {
    let found;
    try {
      found = JSON.parse(text);
    } catch {
      return null;
    }
    if (found?.type === "FeatureCollection") {
      if (found.features?.length !== 1) return null;
      found = found.features[0];
    }
    if (found?.type === "Feature") found = found.geometry;
    if (!["Polygon", "MultiPolygon"].includes(found?.type)) return null;
    const places = found.coordinates?.flat(found.type === "Polygon" ? 1 : 2);
    if (!places?.every((one) => Array.isArray(one) && one.slice(0, 2).every(Number.isFinite))) return null;
    const isDegrees = places.every(([x, y]) => Math.abs(x) <= 180 && Math.abs(y) <= 90);
    const digits = isDegrees ? 5 : 2; // a metre, or better
    const short = (one) =>
      typeof one[0] === "number" ? one.slice(0, 2).map((n) => +n.toFixed(digits)) : one.map(short);
    return { count: places.length, text: JSON.stringify({ type: found.type, coordinates: short(found.coordinates) }) };
  }

  function choosePolygon(field) {
    const told = document.getElementById("polygon-said");
    const look = document.getElementById("look");
    const complain = (words) => {
      told.hidden = !words;
      told.textContent = words;
      return !words;
    };
    // Whether the text of the field can be sent.
    const settle = () => {
      const found = polygonOf(field.value);
      if (!found) return complain(field.dataset.wrong);
      // The last corner of a ring is its first one.
      if (found.count > Number(field.dataset.most)) return complain(field.dataset.many);
      field.value = found.text;
      return complain("");
    };
    look.addEventListener("click", (event) => {
      if (!settle()) event.preventDefault();
    });
    // A polygon that was not looked at is shown before anything is counted.
    field.form.addEventListener("submit", (event) => {
      if (event.submitter === look || field.value.trim() === "") return;
      event.preventDefault();
      setTimeout(() => look.click()); // a form that is being sent takes no second sending
    });
    const choice = document.getElementById("polygon-choice");
    document.getElementById("polygon-file").hidden = false;
    choice.addEventListener("change", async () => {
      const [file] = choice.files;
      if (!file) return;
      field.value = await file.text();
      settle();
    });
    const board = document.getElementById("board");
    if (board) drawPolygon(board, field);
  }

  function drawPolygon(board, field) {
    document.getElementById("board-box").hidden = false;
    const [, , wide, high] = board.getAttribute("viewBox").split(" ").map(Number);
    const { left, top, step, said: words } = board.dataset;
    const corners = [];
    let cross = [wide / 2, high / 2];
    const show = () => {
      const [x, y] = cross;
      const arm = wide / 40;
      board.querySelector(".board-cross").setAttribute(
        "d", `M${x - arm} ${y}h${2 * arm}M${x} ${y - arm}v${2 * arm}`,
      );
      const line = corners.map((corner) => corner.join(" ")).join("L");
      board.querySelector(".board-polygon").setAttribute("d", corners.length ? `M${line}z` : "");
      document.getElementById("board-said").textContent = words.replace("{n}", corners.length);
      const places = corners.map(([column, row]) => [+left + column * step, +top - row * step]);
      field.value =
        places.length > 2 ? JSON.stringify({ type: "Polygon", coordinates: [[...places, places[0]]] }) : "";
    };
    const add = (corner) => {
      const last = corners[corners.length - 1];
      if (!last || last[0] !== corner[0] || last[1] !== corner[1]) corners.push(corner);
      show();
    };
    const back = () => {
      corners.pop();
      show();
    };
    const within = (number, most) => Math.min(most, Math.max(0, number));
    board.addEventListener("click", (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        board.getScreenCTM().inverse(),
      );
      cross = [within(place.x, wide), within(place.y, high)];
      add(cross);
    });
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    board.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      const by = (event.shiftKey ? 4 : 1) * wide / 40;
      if (move) {
        cross = [within(cross[0] + by * move[0], wide), within(cross[1] + by * move[1], high)];
        show();
      } else if (event.key === "Enter" || event.key === " ") add(cross);
      else if (event.key === "Backspace") back();
      else return;
      event.preventDefault();
    });
    document.getElementById("board-back").addEventListener("click", back);
  }

  // Areas of the map are ticked in the form: a list box, of which one area is looked at.
  function tickOnMap(map, areas) {
    const shapes = [...map.querySelectorAll("[data-code]")];
    if (!shapes.length) return;
    const told = document.getElementById("map-said");
    const hint = document.getElementById("map-hint");
    hint.hidden = false;
    const nameOf = (shape) => shape.querySelector("title").textContent;
    const boxOf = (code) => [...areas.querySelectorAll("input[type=checkbox]")].find((box) => box.value === code);
    const middles = shapes.map((shape) => {
      const box = shape.getBBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    });
    let current = 0;
    // Outlines above all areas, so that neighbours hide none of them.
    const marks = document.createElementNS("http://www.w3.org/2000/svg", "g");
    marks.setAttribute("aria-hidden", "true");
    map.append(marks);
    const markOf = (shape, look) => {
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "path");
      mark.setAttribute("d", shape.getAttribute("d"));
      mark.setAttribute("class", look);
      return mark;
    };
    map.setAttribute("role", "listbox");
    map.setAttribute("aria-multiselectable", "true");
    map.setAttribute("aria-describedby", "map-hint");
    map.setAttribute("tabindex", "0");
    for (const child of map.querySelectorAll(":scope > text, :scope > rect, :scope > path:not([data-code])")) {
      child.setAttribute("aria-hidden", "true");
    }
    shapes.forEach((shape, place) => {
      shape.id = `map-area-${place}`;
      shape.setAttribute("role", "option");
      shape.setAttribute("aria-label", nameOf(shape));
    });
    const show = () => {
      const ticked = shapes.filter((shape) => boxOf(shape.dataset.code)?.checked);
      for (const shape of shapes) shape.setAttribute("aria-selected", String(ticked.includes(shape)));
      marks.replaceChildren(
        ...ticked.map((shape) => markOf(shape, "map-ticked")),
        markOf(shapes[current], "map-current"),
      );
      map.setAttribute("aria-activedescendant", shapes[current].id);
    };
    const toggle = (place) => {
      current = place;
      const { code } = shapes[place].dataset;
      let box = boxOf(code);
      if (!box) {
        const label = document.createElement("label");
        label.className = "tick";
        box = document.createElement("input");
        box.type = "checkbox";
        box.name = areas.querySelector("input[type=checkbox]").name;
        box.value = code;
        label.append(box, ` ${nameOf(shapes[place]).split(" – ")[0]}`);
        areas.querySelector(".ticks").prepend(label);
      }
      box.checked = !box.checked;
      areas.querySelector("details").open = true;
      show();
      const words = box.checked ? told.dataset.ticked : told.dataset.unticked;
      const n = areas.querySelectorAll("input[type=checkbox]:checked").length;
      told.textContent = words.replace("{name}", () => nameOf(shapes[place]).split(" – ")[0]).replace("{n}", n);
    };
    // The nearest area in a direction, sideways counting twice.
    const next = ([right, down]) => {
      const [x, y] = middles[current];
      let best = current;
      let least = Infinity;
      middles.forEach(([otherX, otherY], place) => {
        const along = (otherX - x) * right + (otherY - y) * down;
        const aside = Math.abs((otherX - x) * down) + Math.abs((otherY - y) * right);
        if (along > 0 && along + 2 * aside < least) [best, least] = [place, along + 2 * aside];
      });
      return best;
    };
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    map.addEventListener("keydown", (event) => {
      if (moves[event.key]) {
        current = next(moves[event.key]);
        told.textContent = nameOf(shapes[current]);
        show();
      } else if (event.key === "Enter" || event.key === " ") toggle(current);
      else return;
      event.preventDefault();
    });
    map.addEventListener("click", (event) => {
      const place = shapes.indexOf(event.target.closest("[data-code]"));
      if (place >= 0) toggle(place);
    });
    areas.addEventListener("change", show);
    show();
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
