// The page: controls, sentences, pictures and tables; all is computed here, nothing is sent.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { words, priors, designs, start, language } = data;
  const by = (id) => document.getElementById(id);
  const controls = ["noise", "variance", "small", "stay", "sensitive", "posterior", "floor"];
  const MOST_POINTS = 12, APART = 1e-3;

  const number = (value, digits = 3) => new Intl.NumberFormat(language, { maximumFractionDigits: digits, minimumFractionDigits: 0 }).format(value);
  const percent = (value) => new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(value);
  const say = (key, values = {}) => words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

  function read() {
    const state = Object.fromEntries(controls.map((name) => [name, Number(by(name).value)]));
    state.stay ||= null; // 0 leaves it free
    return { ...state, prior: by("prior").value, count: Number(by("count").value) };
  }

  // What lies outside of a slider follows the others.
  function fit(changed) {
    const state = read();
    by("small").max = Math.min(9, state.noise);
    by("variance").max = Math.min(40, Math.max(1, Math.round(state.noise * state.noise / 2 * 10) / 10));
    by("floor").max = by("variance").value;
    if (changed === "variance" && state.floor > Number(by("variance").value)) by("floor").value = by("variance").value;
    by("count").max = Designs.lastCount({ noise: state.noise, small: Number(by("small").value) });
    const now = read();
    const texts = {
      noise: number(now.noise), variance: number(now.variance, 1), small: now.small ? number(now.small) : words.none,
      stay: now.stay ? percent(now.stay) : words.free, sensitive: now.sensitive === 1 ? "1" : say("up_to", { count: number(now.sensitive) }),
      posterior: percent(now.posterior), floor: number(now.floor, 1), count: number(now.count),
    };
    for (const [name, text] of Object.entries(texts)) {
      by(`${name}-value`).textContent = text;
      by(name).setAttribute("aria-valuetext", text);
    }
    return now;
  }

  // --- pictures

  const NS = "http://www.w3.org/2000/svg";
  function drawing(id, width, height) {
    const svg = by(id);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    const add = (name, attributes, text) => {
      const one = document.createElementNS(NS, name);
      for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
      if (text !== undefined) one.textContent = text;
      svg.append(one);
      return one;
    };
    const title = add("title", {}, svg.dataset.title);
    title.id = `${id}-title`;
    return { add, svg, text: (x, y, text, anchor = "start", css = "t") => add("text", { x, y, "text-anchor": anchor, class: css }, text) };
  }

  function bars(id, entries, { across, upwards, limit = null, strong = null }) {
    const width = 560, height = 250, left = 52, right = width - 8, top = 26, low = height - 42;
    const { add, text } = drawing(id, width, height);
    const highest = Math.max(0.05, ...entries.map(([, p]) => p), limit || 0);
    const step = highest > 0.5 ? 0.25 : highest > 0.2 ? 0.1 : highest > 0.1 ? 0.05 : 0.02;
    const most = step * Math.ceil(highest / step - 1e-9); // the axis ends at a line
    const y = (p) => low - (p / most) * (low - top);
    for (let p = 0; p <= most + 1e-9; p += step) {
      add("line", { x1: left, x2: right, y1: y(p), y2: y(p), class: "grid" });
      text(left - 6, y(p) + 4, percent(p), "end");
    }
    const slot = (right - left) / entries.length, every = Math.ceil(34 / slot);
    entries.forEach(([label, p, hint], place) => {
      const x = left + place * slot;
      const bar = add("rect", { x: x + slot * 0.12, y: y(p), width: slot * 0.76, height: Math.max(0, low - y(p)), class: label === strong ? "m1" : "m0" });
      const title = document.createElementNS(NS, "title");
      title.textContent = hint;
      bar.append(title);
      if (place % every === 0) text(x + slot / 2, low + 15, label, "middle");
    });
    if (limit !== null) add("line", { x1: left, x2: right, y1: y(limit), y2: y(limit), class: "limit" });
    text(4, 14, upwards);
    text((left + right) / 2, height - 8, across, "middle");
  }

  function heat(rows, noise) {
    const n = rows.length - 1, size = Math.min(30, 480 / (2 * noise + 1)), left = 60, top = 26;
    const { add, text } = drawing("matrix", left + size * (2 * noise + 1) + 12, top + size * n + 46);
    const every = Math.ceil(26 / size), down = Math.ceil(14 / size);
    for (let count = 1; count <= n; count += 1) {
      for (let v = -noise; v <= noise; v += 1) {
        const p = rows[count].get(v) || 0, x = left + (v + noise) * size, y = top + (count - 1) * size;
        const shade = p ? Math.min(1, 0.08 + 0.92 * Math.sqrt(p)) : 0;
        const cell = add("rect", { x, y, width: size, height: size, class: "s5", "fill-opacity": shade });
        cell.style.fillOpacity = shade;
        const title = document.createElementNS(NS, "title");
        title.textContent = say("cell", { count: number(count), published: number(count + v), probability: percent(p) });
        cell.append(title);
        if (count === n && (v + noise) % every === 0) text(x + size / 2, top + n * size + 15, v > 0 ? `+${v}` : String(v).replace("-", "−"), "middle");
      }
      if ((count - 1) % down === 0) text(left - 6, top + (count - 0.5) * size + 4, count === n ? `${count}+` : String(count), "end");
    }
    text(4, 14, words.count);
    text(left + size * (noise + 0.5), top + n * size + 34, words.noise, "middle");
  }

  function frontier(points, own, others, limit) {
    const width = 560, height = 330, left = 56, right = width - 14, top = 26, low = height - 42;
    const { add, text } = drawing("frontier", width, height);
    const shown = [...points, own, ...others];
    const most = Math.min(2.2 * Math.max(own.loss, ...points.map((one) => one.loss)), Math.max(...shown.map((one) => one.loss))) * 1.08;
    const floor = Math.max(0, Math.floor((Math.min(limit, ...shown.map((one) => one.posterior)) - 0.02) * 10) / 10);
    const x = (loss) => left + (loss / most) * (right - left), y = (p) => low - ((p - floor) / (1 - floor)) * (low - top);
    for (let p = floor; p <= 1 + 1e-9; p += (1 - floor) > 0.5 ? 0.2 : 0.1) {
      add("line", { x1: left, x2: right, y1: y(p), y2: y(p), class: "grid" });
      text(left - 6, y(p) + 4, percent(p), "end");
    }
    const step = [0.2, 0.5, 1, 2, 5, 10, 20, 50].find((one) => most / one <= 8) || 100;
    for (let loss = 0; loss <= most; loss += step) {
      add("line", { x1: x(loss), x2: x(loss), y1: top, y2: low, class: "grid" });
      text(x(loss), low + 15, number(loss, 1), "middle");
    }
    if (points.length) add("polyline", { points: points.map((one) => `${x(one.loss)},${y(one.posterior)}`).join(" "), class: "curve c0" });
    add("line", { x1: left, x2: right, y1: y(limit), y2: y(limit), class: "limit" });
    const taken = [];
    for (const one of [own, ...others]) {
      if (one.loss > most) continue;
      const isOwn = one === own, px = x(one.loss), py = y(one.posterior);
      add("circle", { cx: px, cy: py, r: isOwn ? 6 : 4.5, class: isOwn ? "mark m1" : "mark m5" });
      const near = px > width - 150;
      let at = py + 4;
      while (taken.some(([tx, ty]) => Math.abs(tx - px) < 130 && Math.abs(ty - at) < 13)) at += 13;
      taken.push([px, at]);
      text(px + (near ? -9 : 9), at, one.name, near ? "end" : "start", isOwn ? "t strong" : "t");
    }
    text(4, 14, words.posterior_axis);
    text((left + right) / 2, height - 8, words.loss_axis, "middle");
  }

  // --- what is said

  function rowsTable(rows, figures, state) {
    const body = by("rows").tBodies[0];
    body.replaceChildren();
    rows.slice(1).forEach((one, place) => {
      const line = body.insertRow(), count = place + 1;
      const head = document.createElement("th");
      head.scope = "row"; head.className = "n"; head.textContent = count === rows.length - 1 ? `${count}+` : count;
      line.append(head);
      const spread = Designs.variance(one);
      for (const [text, label] of [
        [number(spread, 3) + (Math.abs(spread - state.variance) > 1e-6 ? " *" : ""), words.variance],
        [percent(one.get(0) || 0), words.unchanged], [percent(one.get(-count) || 0), words.zero],
        [percent(Math.max(...one.values())), words.likeliest],
      ]) {
        const cell = line.insertCell();
        cell.className = "n"; cell.dataset.label = label; cell.textContent = text;
      }
    });
    by("rows-note").hidden = !rows.slice(1).some((one) => Math.abs(Designs.variance(one) - state.variance) > 1e-6);
  }

  function commands(state) {
    const stay = state.stay ? ` --p-stay ${state.stay}` : "", nearest = by("rows-note").hidden ? "" : " --variance-rule nearest";
    by("command").textContent = `ckm ptable build --max-noise ${state.noise} --variance ${state.variance} --small ${state.small}${stay}${nearest} -o ptable.parquet`;
    by("section").textContent = ["[ptable]", `max_noise = ${state.noise}`, `variance = ${state.variance}`, `small = ${state.small}`,
      ...(state.stay ? [`p_stay = ${state.stay}`] : []), ...(nearest ? ['variance_rule = "nearest"'] : [])].join("\n");
  }

  function download(rows) {
    const lines = ["count,noise,probability"];
    rows.forEach((one, count) => { for (const [v, p] of one) lines.push(`${count},${v},${p.toPrecision(12)}`); });
    by("download").href = `data:text/csv;charset=utf-8,${encodeURIComponent(`${lines.join("\r\n")}\r\n`)}`;
  }

  let run = 0;
  function show(changed) {
    const state = fit(changed);
    run += 1;
    const mine = run, { count } = state, prior = priors[state.prior], rows = Designs.table(state);
    const shared = { ...state, stay: state.stay || 0 };
    delete shared.count;
    history.replaceState(null, "", `#${new URLSearchParams(shared)}`);
    for (const part of document.querySelectorAll(".needs-rows")) part.hidden = rows === null;
    if (rows === null) {
      by("verdict").textContent = say("impossible", { noise: number(state.noise), small: number(state.small) });
      by("said").replaceChildren();
      return;
    }
    const own = Designs.figures(rows, prior, state.sensitive);
    by("verdict").textContent = own.at === null ? words.nothing : say("worst", {
      published: number(own.at[0]), count: number(own.at[1]), probability: percent(own.posterior),
    });
    const sentences = [
      say("change", { change: number(own.change, 2) }),
      say(own.posterior <= state.posterior + 1e-9 ? "kept" : "exceeded", { limit: percent(state.posterior) }),
      say("set", { probability: percent(own.set) }),
    ];
    by("said").replaceChildren(...sentences.map((text) => {
      const one = document.createElement("li");
      one.textContent = text;
      return one;
    }));
    const chosen = Designs.row(count, state) || new Map();
    bars("row", [...Array(2 * state.noise + 1)].map((_, place) => {
      const v = place - state.noise, p = chosen.get(v) || 0, label = v > 0 ? `+${v}` : String(v).replace("-", "−");
      return [label, p, say("cell", { count: number(count), published: number(count + v), probability: percent(p) })];
    }).filter(([label]) => count + Number(label.replace("−", "-")) >= 0), { across: words.noise, upwards: words.probability, strong: "0" });
    bars("told", own.posteriors.slice(0, state.sensitive + state.noise + 1).map((one, published) => {
      const best = Object.entries(one).sort((a, b) => b[1] - a[1])[0] || ["–", 0];
      return [String(published), best[1], say("told_hint", { published: number(published), count: best[0], probability: percent(best[1]) })];
    }), { across: words.published, upwards: words.posterior_axis, limit: state.posterior, strong: own.at && String(own.at[0]) });
    heat(rows, state.noise);
    rowsTable(rows, own, state);
    commands(state);
    download(rows);
    by("least").textContent = words.computing;
    drawFrontier(mine, state, prior, own);
  }

  // Point by point, so that the page answers while it is drawn.
  function drawFrontier(mine, state, prior, own) {
    const limits = { noise: state.noise, small: state.small, sensitive: state.sensitive, floor: Math.min(state.floor, state.variance), ceiling: Math.max(state.variance, own.largest), stay: Math.max(own.stay, 1e-4), prior };
    const others = designs.map((one) => {
      const { posterior, loss } = Designs.figures(one.rows.map((row) => new Map(row)), prior, state.sensitive, { cycle: one.cycle });
      return { name: one.name, posterior, loss };
    });
    const self = { name: words.own, posterior: own.posterior, loss: own.loss };
    const points = [];
    const solve = (posterior) => {
      const loss = Designs.leastLoss({ ...limits, posterior });
      if (loss !== null) points.push({ posterior, loss });
      points.sort((a, b) => a.posterior - b.posterior);
      return loss;
    };
    let low = 0, high = 1;
    function* steps() {
      if (solve(1) === null) return;
      yield;
      while (high - low > 0.01) { // the strictest limit that any table keeps
        const middle = (low + high) / 2;
        if (solve(middle) === null) low = middle; else high = middle;
        yield;
      }
      const asked = [state.posterior, own.posterior].filter((one) => one > high);
      for (const one of asked) { solve(one); yield; }
      while (points.length < MOST_POINTS) {
        let widest = -1, at = null;
        for (let place = 1; place < points.length; place += 1) {
          const gap = points[place - 1].loss - points[place].loss;
          if (gap > widest && points[place].posterior - points[place - 1].posterior > 10 * APART) { widest = gap; at = place; }
        }
        if (at === null || widest < 1e-3 * points[0].loss) break;
        solve((points[at - 1].posterior + points[at].posterior) / 2);
        yield;
      }
    }
    const work = steps();
    const draw = () => {
      if (mine !== run) return;
      const until = performance.now() + 30;
      let ended = false;
      while (!ended && performance.now() < until) ended = work.next().done;
      frontier(points, self, others, state.posterior);
      if (!ended) { setTimeout(draw, 0); return; }
      const at = points.find((one) => Math.abs(one.posterior - state.posterior) < 1e-12);
      const same = points.find((one) => Math.abs(one.posterior - own.posterior) < 1e-12);
      const parts = [at ? say("least", { loss: number(at.loss, 2), limit: percent(state.posterior) }) : say("no_table", { limit: percent(state.posterior), least: percent(high) })];
      if (same) parts.push(say("beside", { loss: number(own.loss, 2), least: number(same.loss, 2) }));
      by("least").textContent = parts.join(" ");
    };
    setTimeout(draw, 0);
  }

  function begin() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const name of [...controls, "prior"]) {
      const value = wanted.get(name) ?? start[name];
      if (name === "noise" && value !== undefined) by("variance").max = Math.max(1, value * value / 2);
      if (value !== undefined && value !== null) by(name).value = value;
      if (name === "noise") by("small").max = Math.min(9, Number(by("noise").value));
      if (name === "variance") by("floor").max = by("variance").value;
    }
    if (!by("prior").value) by("prior").selectedIndex = 0;
    by("count").value = 1;
    by("explorer").hidden = false;
    for (const name of [...controls, "count", "prior"]) by(name).addEventListener("input", () => show(name));
    show("");
  }
  begin();
})();
