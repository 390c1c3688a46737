// Scene 7: members of a folder of results as linked pictures; brush an axis to filter.

import { View, download, sentence, short } from "./draw.js";
import { Facts, element } from "./facts.js";

const numeric = (column) => column.some((v) => typeof v === "number") && column.every((v) => v === null || typeof v === "number");
const range = (values) => { let low = Infinity, high = -Infinity; for (const v of values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } return low < high ? [low, high] : [low - 0.5, high + 0.5]; };

class Scatter extends View {
  draw(ctx, w, h, t) {
    const { columns, chosen } = this.store;
    if (!columns) return;
    const x = columns[this.xname], y = columns[this.yname], [x0, x1] = range(x), [y0, y1] = range(y), pad = (a, b) => [a - 0.04 * (b - a), b + 0.04 * (b - a)];
    const s = this.axes(ctx, w, h, t, { x: pad(x0, x1), y: pad(y0, y1), xlabel: this.xname, ylabel: this.yname });
    const size = x.length > 5000 ? 2 : 4;
    for (const pass of [false, true]) {
      ctx.fillStyle = pass ? t.accent : t.soft;
      ctx.globalAlpha = pass ? 0.55 : 0.12;
      ctx.beginPath();
      for (let i = 0; i < x.length; i++) if (chosen[i] === pass && x[i] !== null && y[i] !== null) ctx.rect(s.x(x[i]) - size / 2, s.y(y[i]) - size / 2, size, size);
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
    const left = 50, right = 50, top = 30, bottom = 24, gap = (w - left - right) / Math.max(1, names.length - 1);
    this.at = names.map((name, i) => ({ name, x: left + i * gap, ends: range(columns[name]) }));
    const y = (a, v) => top + (1 - (v - a.ends[0]) / (a.ends[1] - a.ends[0])) * (h - top - bottom);
    this.invert = (a, p) => a.ends[0] + (1 - (p - top) / (h - top - bottom)) * (a.ends[1] - a.ends[0]);
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
      ctx.textAlign = "center"; ctx.fillStyle = t.ink; ctx.textBaseline = "alphabetic"; ctx.fillText(a.name.split(".").at(-1), a.x, i % 2 && gap < 90 ? 24 : 12);
      ctx.fillStyle = t.soft; ctx.textBaseline = "top"; ctx.fillText(short(a.ends[0]), a.x, h - bottom + 4);
      ctx.textAlign = "left"; ctx.fillText(short(a.ends[1]), a.x + 4, top);
      const f = filters[a.name];
      if (f) { ctx.fillStyle = t.accent; ctx.globalAlpha = 0.25; const [p, q] = [y(a, Math.min(f[1], a.ends[1])), y(a, Math.max(f[0], a.ends[0]))]; ctx.fillRect(a.x - 7, p, 14, Math.max(q - p, 2)); ctx.globalAlpha = 1; }
    });
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
  const parallel = new Parallel(parent, { title: "Members", area: "plane", name: "members", hint: "drag along an axis to filter, click it to stop" });
  const scatter = new Scatter(parent, { title: "Two measures", area: "loss", name: "scatter", hint: "drag a box to filter, click a point for its story" });
  const panel = new Facts(parent, "Selection", "story");
  const story = element("section", "", "card story");
  story.style.gridArea = "angles";
  story.innerHTML = `<header><h2>Story of a student</h2></header><div class="words"><p class="quiet">Click a point.</p></div>`;
  parent.append(story);
  parallel.store = scatter.store = store;
  const pick = ["xname", "yname"].map((axis) => {
    const label = element("label", axis === "xname" ? "across " : "up "), select = element("select");
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
      for (const line of found.sentences) words.append(element("p", line));
    } catch (error) { words.textContent = ""; words.append(element("p", error.message)); }
  };
  function update() {
    const limits = Object.entries(store.filters);
    store.chosen = Array.from({ length: store.rows }, (_, i) => limits.every(([n, [a, b]]) => { const v = store.columns[n][i]; return v !== null && v >= a && v <= b; }));
    panel.show([["members", store.total.toLocaleString("en")], ["shown", store.rows.toLocaleString("en")], ["selected", rows().length.toLocaleString("en")], ["experiments", new Set(rows().map((i) => store.columns.experiment?.[i])).size]], limits.length ? "Filtered:" : "All members at their last step.");
    shown.textContent = sql();
    parallel.redraw();
    scatter.redraw();
    scatter.describe(`${rows().length} of ${store.rows} members selected, ${scatter.xname} against ${scatter.yname}.`);
  }
  (async () => {
    try {
      Object.assign(store, await (await context.post("/ask", { about: "results" })).json());
      const all = Object.keys(store.columns).filter((n) => numeric(store.columns[n]));
      const varies = all.filter((n) => new Set(store.columns[n]).size > 1);
      const skipped = ["step", "steps", "member", "members", "seed"];
      const useful = varies.filter((n) => !skipped.includes(n));
      store.names = useful.length > 8 ? [...useful.slice(0, 4), ...useful.slice(-4)] : useful;
      if (!store.names.length) { context.message("These results have no members with numbers to show: run tutelage run FILE.yaml first.", "note-kept"); return; }
      for (const select of pick) for (const n of useful) select.add(new Option(n, n));
      scatter.xname = useful.find((n) => /rho_mean|width|polarity/.test(n)) || useful[0];
      scatter.yname = useful.includes("evaluate_loss") ? "evaluate_loss" : useful.at(-1);
      pick[0].value = scatter.xname;
      pick[1].value = scatter.yname;
      window.studio.results = store;
      update();
    } catch (error) { context.message(sentence(error.message)); }
  })();
  return { views: [parallel, scatter], remove() { for (const v of this.views) v.remove(); } };
}
