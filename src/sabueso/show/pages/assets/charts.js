/* Charts of the report and of the live page: curves by uPlot, layer x step maps on a canvas of our own. Numbers come packed (curves.py). */
(function () {
  "use strict";
  const inlined = document.getElementById("inlined");
  const held = inlined ? JSON.parse(inlined.textContent) : null;
  const base = document.body.dataset.run;
  const at = new URLSearchParams(location.search), ends = [at.get("from"), at.get("to")].map((v) => /^\d+$/.test(v || "") ? v : null);
  const asked = ends[0] !== null && ends[1] !== null ? "?from=" + ends[0] + "&to=" + ends[1] : "";
  const memory = (v) => v >= 1e9 ? short(v / 1e9) + " GB" : short(v / 1e6) + " MB";
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const short = (v) => v === null || v === undefined ? "" : Number.isInteger(v) && Math.abs(v) < 1e6 ? String(v) : Number(v).toPrecision(4).replace(/\.?0+(e|$)/, "$1");

  async function bytes(kind, key, query) {
    if (held) {
      const text = held[kind][key];
      return text === undefined ? null : Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
    }
    const answer = await fetch(base + "/" + kind + "/" + encodeURIComponent(key) + (query || ""));
    return answer.ok ? answer.arrayBuffer() : null;
  }

  function unpack(buffer) {
    const a = new Float64Array(buffer), raw = a[0] === 1, n = a[1], m = a[2];
    const at = (i) => Array.from(a.subarray(4 + i * n, 4 + (i + 1) * n), (v) => Number.isFinite(v) ? v : null);
    const mean = raw ? at(1) : at(3), broken = [];
    for (let i = 0, p = 4 + (raw ? 2 : 4) * n; i < m; i++, p += 4) broken.push([a[p], a[p + 1], a[p + 2], a[p + 3]]);
    return { raw, steps: at(0), low: raw ? mean : at(1), high: raw ? mean : at(2), mean, broken, count: a[3] };
  }

  function smoothed(values, weight) {  // debiased, and begun anew behind every gap
    let sum = 0, of = 0;
    return values.map((v) => {
      if (v === null) { sum = 0; of = 0; return null; }
      sum = sum * weight + v * (1 - weight); of = of * weight + (1 - weight);
      return sum / of;
    });
  }

  const words = (b) => [[b[1], "NaN"], [b[2], "+inf"], [b[3], "-inf"]].filter((p) => p[0]).map((p) => p[0] + " " + p[1]).join(", ");

  function runsOf(places, gap) {  // neighbours that stand too close to be told apart, together
    const runs = [];
    for (const x of places.sort((a, b) => a - b)) {
      const last = runs[runs.length - 1];
      if (last && x - last[last.length - 1] <= gap) last.push(x); else runs.push([x]);
    }
    return runs;
  }

  function marksOf(figure, state) {
    return (u) => {
      const { left, top, width, height } = u.bbox, c = u.ctx;
      c.save();
      const stroke = (x, style, wide, dash) => {
        if (x < left - 1 || x > left + width + 1) return;
        c.strokeStyle = style; c.lineWidth = wide; c.setLineDash(dash);
        c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + height); c.stroke();
      };
      const ratio = window.devicePixelRatio || 1;
      if (figure.dataset.onset) stroke(Math.round(u.valToPos(Number(figure.dataset.onset), "x", true)), colour("soft"), ratio, [4, 3]);
      for (const run of runsOf(state.broken.map((b) => u.valToPos(b[0], "x", true)), 12 * ratio)) {
        const from = Math.max(left, run[0] - ratio), to = Math.min(left + width, run[run.length - 1] + ratio);
        if (run.length < 4) run.forEach((x) => stroke(Math.round(x), colour("bad"), 2 * ratio, []));
        else if (to > from) {  // a stretch: its edges in red, what lies under it still to be seen
          c.fillStyle = colour("bad"); c.globalAlpha = 0.16; c.fillRect(from, top, to - from, height); c.globalAlpha = 1;
          stroke(Math.round(run[0]), colour("bad"), 2 * ratio, []); stroke(Math.round(run[run.length - 1]), colour("bad"), 2 * ratio, []);
        }
      }
      c.restore();
    };
  }

  function lonely(u, index) {  // points between two gaps would not be drawn
    const y = u.data[index], found = [];
    for (let i = 0; i < y.length; i++) if (y[i] !== null && (i === 0 || y[i - 1] === null) && (i === y.length - 1 || y[i + 1] === null)) found.push(i);
    return found;
  }

  function drawCurve(figure, parts, look) {
    const box = figure.querySelector(".plot"), state = { broken: parts.flatMap((p) => p.broken) };
    const wide = Math.max(200, box.clientWidth), high = figure.closest(".strip") ? 130 : 170;
    const series = [{ label: "step", value: (u, v) => v === null ? "" : short(v) }], data = [parts[0].steps], bands = [];
    const said = figure.dataset.unit === "bytes" ? memory : short, inks = [colour("blue"), colour("warn")];
    if (parts.length > 1) data[0] = Array.from(new Set(parts.flatMap((p) => p.steps))).sort((a, b) => a - b);
    parts.forEach((p, i) => {
      const onto = (column) => {
        if (parts.length === 1) return column;
        const by = new Map(p.steps.map((s, k) => [s, column[k]]));
        return data[0].map((s) => by.has(s) ? by.get(s) : undefined);
      };
      const name = parts.length > 1 ? "ab"[i] : "", ink = inks[i % 2];
      const value = (u, v) => v === null || v === undefined ? "" : said(v);
      if (!p.raw) {
        const edge = { stroke: i ? colour("warn") : colour("edge"), width: 1, points: { show: false }, value };
        series.push({ label: name + " most", ...edge }, { label: name + " least", ...edge });
        data.push(onto(p.high), onto(p.low));
        bands.push({ series: [data.length - 2, data.length - 1], fill: i ? "transparent" : colour("band") });
      }
      series.push({ label: name + (p.raw ? " value" : " mean"), stroke: ink, width: 1.5, value, points: { show: p.steps.length < 40, filter: lonely, size: 5, fill: ink } });
      if (p.steps.length < 40) delete series[series.length - 1].points.filter;
      else series[series.length - 1].points.show = true;
      data.push(onto(look.smooth ? smoothed(p.mean, 0.9) : p.mean));
    });
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: "11px system-ui, sans-serif" };
    const options = {
      width: wide, height: high, series, bands, legend: { live: true }, cursor: { drag: { x: true, y: false } }, focus: { alpha: 1 },
      scales: { x: { time: false }, y: { distr: look.log ? 3 : 1, log: 10 } },
      axes: [{ ...axis, size: 24, values: (u, s) => s.map(short) }, { ...axis, size: 58, values: (u, s) => s.map((v) => v === null ? "" : said(v)) }],
      hooks: { draw: [marksOf(figure, state)], setSelect: [(u) => look.zoomed && u.select.width > 2 && look.zoomed(Math.floor(u.posToVal(u.select.left, "x")), Math.ceil(u.posToVal(u.select.left + u.select.width, "x")))] },
    };
    if (figure._plot) figure._plot.destroy();
    box.replaceChildren();
    figure._plot = new uPlot(options, data, box);
    figure._plot.over.addEventListener("dblclick", () => look.zoomed && look.zoomed(null, null));
    if (state.broken.length) figure.dataset.broken = state.broken.map((b) => b[0] + ": " + words(b)).slice(0, 20).join("; ");
    figure.dataset.drawn = "yes";
    performance.mark("drawn-" + figure.id);
  }

  async function curve(figure) {
    const look = figure._look || (figure._look = { log: null, smooth: false, range: asked || figure.dataset.part || "" });
    const query = look.range + (look.range ? "&" : "?") + "buckets=" + Math.min(1000, Math.max(100, Math.round(figure.clientWidth || 500)));
    let parts;
    if (figure.dataset.urls) {
      const answers = await Promise.all(JSON.parse(figure.dataset.urls).map((u) => fetch(u)));
      parts = (await Promise.all(answers.map((a) => a.arrayBuffer()))).map(unpack);
    } else {
      const buffer = await bytes("curves", held ? figure.id : figure.dataset.curve, query);
      if (!buffer) return;
      parts = [unpack(buffer)];
    }
    const low = Math.min(...parts.flatMap((p) => p.low).filter((v) => v !== null)), most = Math.max(...parts.flatMap((p) => p.high).filter((v) => v !== null));
    const positive = low > 0 && Number.isFinite(most);
    if (look.log === null) look.log = positive && most > 1e3 * low;
    if (!positive) look.log = false;
    if (!held && !figure.dataset.urls) look.zoomed = (from, to) => { look.range = from === null ? "" : "?from=" + from + "&to=" + to; curve(figure); };
    buttons(figure, look, positive);
    drawCurve(figure, parts, look);
  }

  function buttons(figure, look, positive) {
    let row = figure.querySelector("figcaption .buttons");
    if (!row) { row = document.createElement("span"); row.className = "buttons"; figure.querySelector("figcaption").append(row); }
    const make = (word, wanted, on, act) => {
      let b = row.querySelector("[data-word=" + word + "]");
      if (!b) { b = document.createElement("button"); b.type = "button"; b.textContent = word; b.dataset.word = word; row.append(b); }
      b.hidden = !wanted; b.setAttribute("aria-pressed", String(on)); b.onclick = act;
    };
    make("log", positive, look.log, () => { look.log = !look.log; curve(figure); });
    make("smooth", true, look.smooth, () => { look.smooth = !look.smooth; curve(figure); });
  }

  /* ---- layer x step maps */
  const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  function ramp(level) {
    const at = Math.min(0.9999, Math.max(0, level)) * (RAMP.length - 1), i = Math.floor(at), f = at - i;
    return RAMP[i].map((v, k) => Math.round(v + (RAMP[i + 1][k] - v) * f));
  }

  async function heat(figure) {
    const buffer = await bytes("heats", figure.dataset.heat, "");
    if (!buffer) return;
    const head = new Float64Array(buffer.slice(0, 40)), rows = head[0], columns = head[1], low = head[2], high = head[3], log = head[4] === 1;
    const steps = new Float64Array(buffer.slice(40, 40 + 8 * columns)), cells = new Uint8Array(buffer, 40 + 8 * columns);
    const labels = JSON.parse(figure.dataset.labels), mark = figure.dataset.mark, canvas = figure.querySelector("canvas");
    const ratio = window.devicePixelRatio || 1, wide = Math.max(260, figure.querySelector(".plot").clientWidth), each = Math.max(4, Math.min(18, Math.floor(420 / rows))), above = 6;
    const left = Math.min(240, Math.max(60, Math.max(...labels.map((l) => l.length)) * 6.4 + 18)), tall = rows * each, c = canvas.getContext("2d");
    canvas.width = wide * ratio; canvas.height = (tall + above + 34) * ratio; canvas.style.height = tall + above + 34 + "px";
    c.scale(ratio, ratio); c.translate(0, above); c.font = "11px system-ui, sans-serif"; c.textBaseline = "middle";
    const cellWide = (wide - left) / columns, x = (i) => left + i * cellWide;
    const picture = new ImageData(columns, rows);
    for (let i = 0; i < rows * columns; i++) {
      const v = cells[i], [r, g, b] = v > 250 ? [0, 0, 0] : ramp(v / 250);
      picture.data.set([r, g, b, v > 250 ? 0 : 255], 4 * i);
    }
    const small = document.createElement("canvas");
    small.width = columns; small.height = rows; small.getContext("2d").putImageData(picture, 0, 0);
    c.fillStyle = colour("hatch");
    for (let y = 0; y < tall; y += 4) c.fillRect(left, y, wide - left, 1);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, left, 0, wide - left, tall);
    c.fillStyle = "#ff2a1a";  // not finite: never thinner than three pixels
    for (let i = 0; i < rows * columns; i++) {
      if (cells[i] !== 255) continue;
      const size = Math.max(3, cellWide), row = Math.floor(i / columns);
      c.fillRect(Math.min(x(i % columns) - (size - cellWide) / 2, wide - size), row * each, size, Math.max(3, each));
    }
    c.textAlign = "right";
    const every = Math.ceil(11 / each);
    labels.forEach((text, i) => {
      const guilty = text === mark, bad = cells.subarray(i * columns, (i + 1) * columns).includes(255);
      if (i % every && !guilty && !bad) return;
      c.fillStyle = guilty || bad ? colour("bad") : colour("soft");
      let shown = text;
      while (shown.length > 4 && c.measureText(shown).width > left - 16) shown = "…" + shown.slice(2);
      c.fillText((guilty ? "▶ " : "") + shown, left - 5, i * each + each / 2);
    });
    c.fillStyle = colour("soft");
    const ticks = Math.max(1, Math.min(8, Math.floor((wide - left) / 90), columns));
    for (let t = 0; t < ticks; t++) {
      const i = Math.round(t * (columns - 1) / Math.max(1, ticks - 1));
      c.textAlign = t === ticks - 1 && ticks > 1 ? "right" : "left";
      c.fillText((t ? "" : "step ") + short(steps[i]), t === ticks - 1 && ticks > 1 ? wide : x(i), tall + 8);
    }
    legend(c, left, tall + 24, log ? Math.pow(10, low) : low, log ? Math.pow(10, high) : high, log, cells);
    hover(figure, canvas, (px, py) => {
      const i = Math.floor((px - left) / cellWide), row = Math.floor((py - above) / each);
      if (i < 0 || i >= columns || row < 0 || row >= rows) return null;
      const v = cells[row * columns + i], value = low + (high - low) * v / 250;
      return labels[row] + " · step " + short(steps[i]) + " · " + (v === 255 ? "not finite" : v === 254 ? "not measured" : "about " + short(log ? Math.pow(10, value) : value));
    });
    canvas.onclick = held ? null : (e) => {
      const row = Math.floor((e.offsetY - above) / each);
      if (row >= 0 && row < rows) location.href = base + "/signals?layer=" + encodeURIComponent(labels[row]);
    };
    figure.dataset.drawn = "yes";
    performance.mark("drawn-" + figure.id);
  }

  function legend(c, left, y, low, high, log, cells) {
    let x = left;
    c.textAlign = "left";
    const say = (text) => { c.fillStyle = colour("soft"); c.fillText(text, x, y); x += c.measureText(text).width + 6; };
    say(short(low));
    for (let i = 0; i < 60; i++) { c.fillStyle = "rgb(" + ramp(i / 60) + ")"; c.fillRect(x + i, y - 5, 1, 10); }
    x += 66;
    say(short(high) + (log ? " (log)" : ""));
    if (cells.includes(255)) { x += 8; c.fillStyle = "#ff2a1a"; c.fillRect(x, y - 5, 10, 10); x += 14; say("not finite"); }
    if (cells.includes(254)) { x += 8; c.fillStyle = colour("hatch"); for (let k = -5; k < 5; k += 4) c.fillRect(x, y + k, 10, 1); x += 14; say("not measured"); }
  }

  function hover(figure, canvas, told) {
    const tip = figure.querySelector(".tip") || document.createElement("div");
    tip.className = "tip"; tip.hidden = true;
    canvas.parentElement.append(tip);
    canvas.onmousemove = (e) => {
      const text = told(e.offsetX, e.offsetY);
      tip.hidden = text === null;
      if (text === null) return;
      tip.textContent = text;
      tip.style.left = Math.min(e.offsetX + 12, canvas.clientWidth - 200) + "px"; tip.style.top = e.offsetY + 14 + "px";
    };
    canvas.onmouseleave = () => { tip.hidden = true; };
  }

  /* ---- drawn when it comes into sight, and again when the page changes */
  const draw = (figure) => figure.dataset.heat !== undefined ? heat(figure) : curve(figure);
  const seen = new IntersectionObserver((entries) => entries.forEach((e) => { if (e.isIntersecting) { seen.unobserve(e.target); e.target.dataset.near = "yes"; draw(e.target); } }), { rootMargin: "200px" });
  const begin = () => document.querySelectorAll("figure[data-curve],figure[data-heat],figure[data-urls]").forEach((f) => seen.observe(f));
  const again = () => document.querySelectorAll("figure[data-near]").forEach(draw);
  const copies = () => document.querySelectorAll("details.markdown").forEach((d) => {
    if (!navigator.clipboard || d.querySelector("button")) return;
    const b = document.createElement("button");
    b.type = "button"; b.textContent = "copy";
    b.onclick = () => navigator.clipboard.writeText(d.querySelector("pre").textContent).then(() => { b.textContent = "copied"; });
    d.querySelector("summary").after(b);
  });
  let later = 0;
  window.addEventListener("resize", () => { clearTimeout(later); later = setTimeout(again, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  begin(); copies();

  /* ---- a run that goes on: asked twice a second while the page is in sight */
  if (base && document.body.dataset.live === "yes") {
    let version = document.body.dataset.seen, changes = "";
    const ask = async () => {
      if (document.hidden) return setTimeout(ask, 1000);
      try {
        const pulse = await (await fetch(base + "/pulse")).json(), age = document.getElementById("age"), badge = document.getElementById("badge");
        age.textContent = pulse.age; badge.textContent = pulse.badge[1]; badge.className = "flag " + pulse.badge[0];
        if (pulse.version !== version) {
          version = pulse.version;
          const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html"), main = document.getElementById("main");
          const open = window.scrollY;
          main.replaceChildren(...fresh.getElementById("main").childNodes);
          window.scrollTo(0, open); begin(); copies();
        } else if (pulse.changes !== changes) again();
        changes = pulse.changes;
        if (pulse.over) return;
      } catch (error) {
        document.getElementById("badge").textContent = "page server gone"; document.getElementById("badge").className = "flag bad";
      }
      setTimeout(ask, 500);
    };
    setTimeout(ask, 300);
  }
})();
