// Scene 3: points that one can drag, and the network that training picks for them.

import { View, diverging, pixels, rgb, short, table, theme } from "./draw.js";
import { CurveView } from "./curves.js";
import { Facts, element } from "./facts.js";

class PointPlane extends View {
  build() {
    super.build();
    this.canvas.style.touchAction = "none";
    this.canvas.addEventListener("pointerdown", (e) => {
      const i = this.near(...this.place(e));
      if (i === null) return;
      this.held = i;
      this.canvas.setPointerCapture(e.pointerId);
      e.preventDefault();
    });
    this.canvas.addEventListener("pointermove", (e) => {
      if (this.held === undefined || this.held === null) return;
      const r = this.reach * 0.98, c = (v) => Math.max(-r, Math.min(r, v)), [px, py] = this.place(e);
      this.at = [c(this.scale.ix(px)), c(this.scale.iy(py))];
      this.redraw();
      this.tell();
    });
    const drop = () => { if (this.held !== null && this.at) this.tell(true); this.held = this.at = null; };
    this.canvas.addEventListener("pointerup", drop);
    this.canvas.addEventListener("pointercancel", drop);
  }
  tell(now = false) {
    if (!now && performance.now() - (this.told || 0) < 60) return;
    this.told = performance.now();
    const { x, y } = this.data.arrays;
    const points = Array.from(y.values, (label, i) => { const at = i === this.held ? this.at : [x.values[2 * i], x.values[2 * i + 1]]; return [+at[0].toFixed(4), +at[1].toFixed(4), label]; });
    this.context.set({ points });
  }
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const a = f.arrays;
    this.reach = a.reach.values[0];
    const s = this.axes(ctx, w, h, t, { x: [-this.reach, this.reach], y: [-this.reach, this.reach], xlabel: "x₁", ylabel: "x₂", square: true, xticks: [-2, 0, 2], yticks: [-2, 0, 2] });
    const { values, shape: [side] } = a.field;
    const high = Math.max(...Array.from(values, Math.abs), 1e-12), flipped = new Float32Array(values.length);
    for (let r = 0; r < side; r++) flipped.set(values.subarray(r * side, (r + 1) * side), (side - 1 - r) * side);
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(pixels(flipped, side, side, ((shade) => (v) => shade(Math.sign(v) * Math.sqrt(Math.abs(v) / high)))(table((v) => rgb(diverging(0.42 * v, t))))), s.left, s.top, s.right - s.left, s.bottom - s.top);
    ctx.save();
    ctx.beginPath(); ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top); ctx.clip();
    const [plus, minus] = t.dark ? ["#58a6ff", "#f0883e"] : ["#0a5c9c", "#b3500a"];
    for (const [i, colour] of [[0, plus], [1, minus]]) {
      const [vx, vy] = [a.vectors.values[2 * i], a.vectors.values[2 * i + 1]], size = Math.hypot(vx, vy);
      if (!(size > 0)) continue;
      ctx.setLineDash([7, 5]); ctx.strokeStyle = colour; ctx.lineWidth = 2;
      ctx.beginPath(); ctx.moveTo(s.x(0), s.y(0)); ctx.lineTo(s.x((vx / size) * 3 * this.reach), s.y((vy / size) * 3 * this.reach)); ctx.stroke();
      ctx.setLineDash([]);
    }
    let longest = 0;
    for (let k = 0; k < a.a.values.length; k++) longest = Math.max(longest, Math.hypot(a.w.values[2 * k], a.w.values[2 * k + 1]));
    for (let k = 0; k < a.a.values.length; k++) {
      const [wx, wy] = [a.w.values[2 * k], a.w.values[2 * k + 1]], size = Math.hypot(wx, wy), r = this.reach * (0.12 + 0.62 * Math.sqrt(size / (longest || 1)));
      const [x, y] = [s.x((wx / (size || 1)) * r), s.y((wy / (size || 1)) * r)], colour = a.a.values[k] > 0 ? plus : minus;
      ctx.globalAlpha = 0.6; ctx.strokeStyle = colour; ctx.lineWidth = 1; ctx.beginPath(); ctx.moveTo(s.x(0), s.y(0)); ctx.lineTo(x, y); ctx.stroke();
      ctx.globalAlpha = 1; ctx.fillStyle = colour; ctx.strokeStyle = t.card; ctx.beginPath(); ctx.arc(x, y, 4, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
    }
    for (let i = 0; i < a.y.values.length; i++) {
      const at = i === this.held && this.at ? this.at : [a.x.values[2 * i], a.x.values[2 * i + 1]], [x, y] = [s.x(at[0]), s.y(at[1])], up = a.y.values[i] > 0;
      ctx.strokeStyle = up ? plus : minus; ctx.lineWidth = 2.6;
      ctx.beginPath(); ctx.moveTo(x - 5, y); ctx.lineTo(x + 5, y); if (up) { ctx.moveTo(x, y - 5); ctx.lineTo(x, y + 5); } ctx.stroke();
      if (a.support.values[i]) { ctx.lineWidth = 1.6; ctx.strokeStyle = t.ink; ctx.beginPath(); ctx.arc(x, y, 9, 0, 2 * Math.PI); ctx.stroke(); }
    }
    ctx.restore();
  }
  near(px, py) {
    const s = this.scale;
    if (!s || !this.data) return null;
    const { values } = this.data.arrays.x;
    let best = 14 ** 2, found = null;
    for (let i = 0; i < values.length / 2; i++) { const d = (s.x(values[2 * i]) - px) ** 2 + (s.y(values[2 * i + 1]) - py) ** 2; if (d < best) { best = d; found = i; } }
    return found;
  }
  hover(px, py) {
    const i = this.near(px, py), a = this.data?.arrays;
    this.canvas.style.cursor = this.held != null ? "grabbing" : i === null ? "default" : "grab";
    if (i === null || this.held != null) return "";
    return `point ${i}, class ${a.y.values[i] > 0 ? "+1" : "-1"}${a.support.values[i] ? ", on the margin" : ""}\ny h(x) = ${short(a.margins.values[i])}`;
  }
}

/** Points of a text with two numbers and a label (1 or -1, or 1 and 0) per line; a first line of names is left out. */
export function pointsOf(text) {
  const rows = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean).map((line) => line.split(/[,;\s]+/));
  if (rows.length && rows[0].some((v) => !Number.isFinite(Number(v)))) rows.shift();
  const points = rows.map((row) => row.map(Number));
  const wrong = points.findIndex((row) => row.length !== 3 || !row.every(Number.isFinite) || ![1, 0, -1].includes(row[2]));
  if (!points.length || wrong >= 0) throw new Error(points.length ? `line ${wrong + 1} of the points must be two numbers and a label, 1 or -1, got '${rows[wrong].join(",").slice(0, 40)}'` : "the file has no points: write two numbers and a label, 1 or -1, per line");
  if (points.length < 2 || points.length > 60) throw new Error(`there must be 2 to 60 points, got ${points.length}`);
  return points.map(([x, y, label]) => [x, y, label > 0 ? 1 : -1]);
}

/** A control that takes points from a CSV file. */
function pointsFromFile(context) {
  const label = element("label", "Points from a CSV file ", "pick-points"), input = element("input");
  Object.assign(input, { type: "file", accept: ".csv,.txt,text/csv" });
  input.addEventListener("change", async () => {
    try {
      const [file] = input.files;
      if (!file) return;
      if (file.size > 20_000) throw new Error("a file of at most 60 points is needed, and this one has more than 20 kB");
      const points = pointsOf(await file.text());
      context.set({ points, count: points.length });
    } catch (error) { context.message(error.message); }
    input.value = "";
  });
  label.append(input);
  return label;
}

export function margins(parent, context) {
  const plane = new PointPlane(parent, { title: "Points and units", area: "plane", name: "points", hint: "drag the points" });
  plane.context = context;
  const loss = new CurveView(parent, { title: "Loss", area: "loss", name: "loss", xlabel: "log t", ylabel: "loss", log: true });
  const cosine = new CurveView(parent, { title: "Cosine with the max-margin direction", area: "angles", name: "cosines", xlabel: "log t", ylabel: "cosine", yrange: () => [-1.02, 1.02] });
  const panel = new Facts(parent, "This network", "story");
  panel.tools.append(pointsFromFile(context));
  let history;
  const curves = () => {
    if (!history?.arrays.loss) return;
    const t = theme(), { values, shape: [count, p] } = history.arrays.cosine;
    loss.show(history.times, [{ values: history.arrays.loss.values, colour: t.accent, width: 2, label: "loss" }]);
    cosine.show(history.times, Array.from({ length: p }, (_, k) => ({ values: Array.from({ length: count }, (_, i) => values[i * p + k]), colour: t.cycle[k % 6], width: 1.2 })));
  };
  return {
    views: [plane, loss, cosine],
    history(h) { history = h; curves(); },
    frame(f) {
      plane.data = f;
      plane.redraw();
      const a = f.arrays, groups = (g) => a.groups.values.filter((v) => v === g).length, near = a.cosine.values.filter((v) => v > 0.99).length;
      const wrong = a.margins.values.filter((v) => v <= 0).length;
      const sentence = f.words.separable ? "The data are orthogonally separable, so the theorem applies." : `The data are not orthogonally separable: ${f.words.violations} pairs of points have an inner product of the wrong sign.`;
      panel.show([["points on the wrong side", wrong], ["smallest margin y h(x)", short(Math.min(...a.margins.values))], ["units of class +1", groups(1)], ["units of class -1", groups(-1)], ["units that see no point", groups(0)], ["units elsewhere", groups(2)], ["cosine above 0.99", `${near} of ${a.a.values.length}`]], sentence);
      if (!context.playing) plane.describe(`Points and units: ${a.y.values.length} points, ${near} of ${a.a.values.length} units point along their max-margin direction. ${sentence}`);
    },
    retheme: curves,
    remove() { for (const v of this.views) v.remove(); },
  };
}
