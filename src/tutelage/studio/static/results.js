// Scene 7: members of a folder of results as linked pictures; dragging along an axis filters them.

import { View, decades, download, sentence, short } from "./draw.js";
import { Facts, element } from "./facts.js";

const numeric = (column) => column.some((v) => typeof v === "number") && column.every((v) => v === null || typeof v === "number");
const range = (values) => { let low = Infinity, high = -Infinity; for (const v of values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } return low < high ? [low, high] : [low - 0.5, high + 0.5]; };
const FEW = 8;  // values of a setting that are all marked on its axis
const WIDE = 50;  // the largest over the smallest value above which an axis is logarithmic

/** How a column is drawn: its ends, whether on a logarithmic axis, and the values marked on it. */
function axisOf(values) {
  const [low, high] = range(values), met = [...new Set(values)].filter((v) => v !== null).sort((a, b) => a - b);
  const log = met[0] > 0 && high > WIDE * low, f = log ? Math.log10 : (v) => v, g = log ? (v) => 10 ** v : (v) => v;
  const space = 0.04 * (f(high) - f(low));
  return { ends: [low, high], padded: [g(f(low) - space), g(f(high) + space)], log, marks: met.length <= FEW ? met : undefined, f, g };
}
/** The values written beside an axis: all of a setting with few, else both ends and the decades well between them. */
function marked({ ends, log, marks, f }) {
  if (marks) return marks;
  const inside = (v) => { const share = (f(v) - f(ends[0])) / (f(ends[1]) - f(ends[0])); return share > 0.1 && share < 0.9; };
  return [...ends, ...(log ? decades(...ends).filter(inside) : [])];
}
/** A number in at most five characters or so, the room left of a picture. */
const narrow = (v) => (v !== 0 && Math.abs(v) < 0.01 ? Number(v.toPrecision(2)).toExponential() : short(v));
const label = (name, axis) => `${name}${axis.log ? ", log scale" : ""}`;

class Scatter extends View {
  draw(ctx, w, h, t) {
    const { columns, chosen } = this.store;
    if (!columns) return;
    const x = columns[this.xname], y = columns[this.yname], across = axisOf(x), up = axisOf(y);
    const s = this.axes(ctx, w, h, t, { x: across.padded, y: up.padded, xlog: across.log, log: up.log, xticks: across.marks, yticks: up.marks, yfmt: narrow, xlabel: label(this.xname, across), ylabel: label(this.yname, up) });
    const size = x.length > 5000 ? 2 : x.length > 500 ? 4 : 6;
    for (const pass of [false, true]) {
      ctx.fillStyle = pass ? t.accent : t.soft;
      ctx.globalAlpha = pass ? 0.55 : 0.2;
      ctx.beginPath();
      for (let i = 0; i < x.length; i++) if (chosen[i] === pass && x[i] !== null && y[i] !== null) {
        const [px, py] = [s.x(x[i]), s.y(y[i])];
        if (size < 6) ctx.rect(px - size / 2, py - size / 2, size, size);
        else { ctx.moveTo(px + 3, py); ctx.arc(px, py, 3, 0, 2 * Math.PI); }
      }
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    const k = this.store.selected;
    if (k !== undefined && x[k] !== null) { ctx.strokeStyle = t.warm; ctx.lineWidth = 2.5; ctx.beginPath(); ctx.arc(s.x(x[k]), s.y(y[k]), 7, 0, 2 * Math.PI); ctx.stroke(); }
    if (this.brush) { ctx.strokeStyle = t.accent; ctx.lineWidth = 1.5; const [a, b, c, d] = this.brush; ctx.strokeRect(Math.min(a, c), Math.min(b, d), Math.abs(c - a), Math.abs(d - b)); }
  }
  build() {
    super.build();
    this.canvas.style.touchAction = "none";
    this.canvas.addEventListener("pointerdown", (e) => { const [x, y] = this.place(e); this.brush = [x, y, x, y]; this.canvas.setPointerCapture(e.pointerId); });
    this.canvas.addEventListener("pointermove", (e) => { if (this.brush) { const [x, y] = this.place(e); this.brush.splice(2, 2, x, y); this.redraw(); } });
    this.canvas.addEventListener("pointerup", () => {
      const [a, b, c, d] = this.brush || [0, 0, 0, 0], s = this.scale;
      this.brush = null;
      if (Math.hypot(c - a, d - b) < 6) { const i = this.near(a, b); if (i !== null) this.store.select(i); return; }
      this.store.filter({ [this.xname]: [s.ix(Math.min(a, c)), s.ix(Math.max(a, c))], [this.yname]: [s.iy(Math.max(b, d)), s.iy(Math.min(b, d))] });
    });
  }
  near(px, py) {
    const { columns, chosen } = this.store, s = this.scale, x = columns[this.xname], y = columns[this.yname];
    let best = 100, found = null;
    for (let i = 0; i < x.length; i++) { if (!chosen[i] || x[i] === null || y[i] === null) continue; const d = (s.x(x[i]) - px) ** 2 + (s.y(y[i]) - py) ** 2; if (d < best) { best = d; found = i; } }
    return found;
  }
  hover(px, py) {
    if (!this.store.columns || this.brush) return "";
    const i = this.near(px, py);
    this.canvas.style.cursor = i === null ? "crosshair" : "pointer";
    return i === null ? "" : [`${this.store.columns.experiment?.[i] ?? ""} seed ${this.store.columns.seed?.[i] ?? ""}`, ...[this.xname, this.yname].map((n) => `${n} ${short(this.store.columns[n][i])}`)].join("\n");
  }
}

class Parallel extends View {
  draw(ctx, w, h, t) {
    const { columns, chosen, names, filters } = this.store;
    if (!columns) return;
    const left = 60, right = 60, top = 38, bottom = 12, gap = (w - left - right) / Math.max(1, names.length - 1);
    this.at = names.map((name, i) => ({ name, x: left + i * gap, ...axisOf(columns[name]) }));
    const share = (a, v) => (a.f(v) - a.f(a.ends[0])) / (a.f(a.ends[1]) - a.f(a.ends[0]));
    const y = (a, v) => top + (1 - share(a, v)) * (h - top - bottom);
    this.invert = (a, p) => a.g(a.f(a.ends[0]) + (1 - (p - top) / (h - top - bottom)) * (a.f(a.ends[1]) - a.f(a.ends[0])));
    const rows = columns[names[0]].length, skip = Math.ceil(rows / 4000);
    for (const pass of [false, true]) {
      ctx.strokeStyle = pass ? t.accent : t.soft;
      ctx.globalAlpha = pass ? Math.max(0.08, Math.min(0.6, 60 / rows)) : 0.04;
      ctx.lineWidth = 1;
      ctx.beginPath();
      for (let i = 0; i < rows; i += skip) {
        if (chosen[i] !== pass) continue;
        let pen = false;
        for (const a of this.at) { const v = columns[a.name][i]; if (v === null) { pen = false; continue; } if (pen) ctx.lineTo(a.x, y(a, v)); else ctx.moveTo(a.x, y(a, v)); pen = true; }
      }
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    ctx.font = "11px system-ui, sans-serif";
    this.at.forEach((a, i) => {
      ctx.strokeStyle = t.soft; ctx.beginPath(); ctx.moveTo(a.x, top); ctx.lineTo(a.x, h - bottom); ctx.stroke();
      ctx.textAlign = "center"; ctx.fillStyle = t.ink; ctx.textBaseline = "alphabetic"; 
      const name = label(a.name.split(".").at(-1), a), half = ctx.measureText(name).width / 2 + 4;
      ctx.fillText(name, Math.min(Math.max(a.x, half), w - half), i % 2 && gap < 130 ? 26 : 12);
      const free = [];
      for (const v of marked(a)) { const p = y(a, v); if (free.every((q) => Math.abs(p - q) > 12)) { free.push(p); this.mark(ctx, t, short(v), a.x, p); } }
      const f = filters[a.name];
      if (f) { ctx.fillStyle = t.accent; ctx.globalAlpha = 0.25; const [p, q] = [y(a, Math.min(f[1], a.ends[1])), y(a, Math.max(f[0], a.ends[0]))]; ctx.fillRect(a.x - 7, p, 14, Math.max(q - p, 2)); ctx.globalAlpha = 1; }
    });
  }
  /** A value left of an axis, on a ground of its own, since lines run behind it. */
  mark(ctx, t, text, x, y) {
    const wide = 6.2 * text.length + 4;
    ctx.fillStyle = t.card; ctx.globalAlpha = 0.85; ctx.fillRect(x - 5 - wide, y - 7, wide, 14); ctx.globalAlpha = 1;
    ctx.fillStyle = t.ink; ctx.textAlign = "right"; ctx.textBaseline = "middle"; ctx.fillText(text, x - 7, y);
  }
  build() {
    super.build();
    this.canvas.style.touchAction = "none";
    const axis = (px) => this.at?.find((a) => Math.abs(a.x - px) < 14);
    this.canvas.addEventListener("pointerdown", (e) => { const [x, y] = this.place(e), a = axis(x); if (a) { this.held = { a, from: y }; this.canvas.setPointerCapture(e.pointerId); } });
    const moved = (e) => { if (!this.held) return; const y = this.place(e)[1], { a, from } = this.held, ends = [this.invert(a, from), this.invert(a, y)].sort((p, q) => p - q); if (Math.abs(y - from) > 4) this.store.filter({ [a.name]: ends }); };
    this.canvas.addEventListener("pointermove", (e) => { this.canvas.style.cursor = axis(this.place(e)[0]) ? "ns-resize" : "default"; moved(e); });
    this.canvas.addEventListener("pointerup", (e) => { if (this.held && Math.abs(this.place(e)[1] - this.held.from) <= 4) this.store.filter({ [this.held.a.name]: null }); this.held = null; });
  }
}

export function results(parent, context) {
  const store = { filters: {}, chosen: [] };
  const parallel = new Parallel(parent, { title: "Members", area: "plane", name: "members", hint: "one line per member; drag along an axis to keep a range, click the axis to keep all" });
  const scatter = new Scatter(parent, { title: "Two measures", area: "loss", name: "scatter", hint: "drag a box to keep its members, click one for its story" });
  const panel = new Facts(parent, "Selection", "story");
  const story = element("section", "", "card story");
  story.style.gridArea = "angles";
  story.innerHTML = `<header><h2>Story of a student</h2></header><div class="words"><p class="quiet">Click a point of the picture on the left to read what that student learned and what it missed.</p></div>`;
  parent.append(story);
  parallel.store = scatter.store = store;
  const pick = ["xname", "yname"].map((axis) => {
    const label = element("label", axis === "xname" ? "x axis " : "y axis "), select = element("select");
    select.id = `pick-${axis}`;
    select.onchange = () => { scatter[axis] = select.value; scatter.redraw(); };
    label.append(select);
    panel.tools.append(label);
    return select;
  });
  const where = () => Object.entries(store.filters).map(([n, [a, b]]) => `"${n}" BETWEEN ${+a.toPrecision(6)} AND ${+b.toPrecision(6)}`).join(" AND ");
  const sql = () => `${store.sql}${where() ? ` AND ${where()}` : ""}`;
  const rows = () => store.chosen.map((c, i) => (c ? i : -1)).filter((i) => i >= 0);
  const quote = (v) => (v === null ? "" : /[",\n]/.test(String(v)) ? `"${String(v).replace(/"/g, '""')}"` : String(v));
  const csv = () => { const names = Object.keys(store.columns); return [names.map(quote).join(","), ...rows().map((i) => names.map((n) => quote(store.columns[n][i])).join(","))].join("\n") + "\n"; };
  for (const [text, act] of [["Clear filters", () => { store.filters = {}; update(); }], ["SQL", () => download(`${sql()}\n`, "selection.sql", "text/plain")], ["CSV", () => download(csv(), "selection.csv", "text/csv")]]) { const b = element("button", text); b.type = "button"; b.onclick = act; panel.tools.append(b); }
  const shown = element("code", "", "sql");
  panel.tools.append(shown);
  store.filter = (change) => { for (const [n, ends] of Object.entries(change)) if (ends) store.filters[n] = ends; else delete store.filters[n]; update(); };
  store.select = async (i) => {
    store.selected = i;
    scatter.redraw();
    const words = story.querySelector(".words");
    words.textContent = "";
    words.append(element("p", "reading the student", "quiet"));
    try {
      const found = await (await context.post("/ask", { about: "student", experiment: store.columns.experiment[i], seed: store.columns.seed[i] })).json();
      story.querySelector("h2").textContent = found.title;
      words.textContent = "";
      words.append(element("p", store.names.map((n) => `${n.split(".").at(-1)} ${short(store.columns[n][i] ?? NaN)}`).join(", "), "quiet"));
      for (const line of found.sentences) words.append(element("p", line));
    } catch (error) { words.textContent = ""; words.append(element("p", error.message)); }
  };
  function update() {
    const limits = Object.entries(store.filters);
    store.chosen = Array.from({ length: store.rows }, (_, i) => limits.every(([n, [a, b]]) => { const v = store.columns[n][i]; return v !== null && v >= a && v <= b; }));
    const kept = rows(), number = (n) => n.toLocaleString("en"), about = store.rows < store.total ? `The first ${number(store.rows)} of ${number(store.total)} members, at their last step.` : "Members at their last step.";
    const facts = [["members", `${number(kept.length)} of ${number(store.rows)}`], ["experiments", new Set(kept.map((i) => store.columns.experiment?.[i])).size]];
    panel.show([...facts, ...limits.map(([n, [a, b]]) => [n.split(".").at(-1), `${short(a)} to ${short(b)}`])], about);
    shown.textContent = sql();
    parallel.redraw();
    scatter.redraw();
    scatter.describe(`${kept.length} of ${store.rows} members selected, ${scatter.xname} against ${scatter.yname}.`);
  }
  (async () => {
    panel.show([], "Reading the folder of results.");  // the first query of a large folder takes seconds
    try {
      Object.assign(store, await (await context.post("/ask", { about: "results" })).json());
      const all = Object.keys(store.columns).filter((n) => numeric(store.columns[n]));
      const varies = all.filter((n) => new Set(store.columns[n]).size > 1);
      const skipped = ["step", "steps", "member", "members", "seed"];
      const useful = varies.filter((n) => !skipped.includes(n));
      store.names = useful.length > 8 ? [...useful.slice(0, 4), ...useful.slice(-4)] : useful;
      if (!store.names.length) { panel.show([], ""); context.message("These results have no members with numbers to show: run tutelage run FILE.yaml first.", "note-kept"); return; }
      for (const select of pick) for (const n of useful) select.add(new Option(n, n));
      scatter.xname = useful.find((n) => /rho_mean|width|polarity/.test(n)) || useful[0];
      scatter.yname = useful.includes("evaluate_loss") ? "evaluate_loss" : useful.at(-1);
      pick[0].value = scatter.xname;
      pick[1].value = scatter.yname;
      window.studio.results = store;
      update();
    } catch (error) { panel.show([], ""); context.message(sentence(error.message)); }
  })();
  return { views: [parallel, scatter], remove() { for (const v of this.views) v.remove(); } };
}
