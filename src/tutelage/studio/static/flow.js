// Scene 2: units in the plane under the exact population gradient; drag one and let go.

import { View, pixels, rgb, short, table, theme, unitColours } from "./draw.js";
import { CurveView } from "./curves.js";
import { Facts, element } from "./facts.js";

class FlowPlane extends View {
  build() {
    super.build();
    this.canvas.addEventListener("pointerdown", (e) => {
      const found = this.near(...this.place(e));
      if (!found) return;
      this.held = found;
      this.canvas.setPointerCapture(e.pointerId);
      if (found.kind === "student") this.context.looked({ unit: found.unit });
      e.preventDefault();
    });
    this.canvas.addEventListener("pointermove", (e) => { if (this.held) { this.at = this.clamped(...this.place(e)); this.redraw(); } });
    const drop = () => {
      if (this.held && this.at) this.context.change({ [this.held.kind]: this.held.unit, to: this.at.map((v) => +v.toFixed(4)) });
      this.held = this.at = null;
    };
    this.canvas.addEventListener("pointerup", drop);
    this.canvas.addEventListener("pointercancel", () => { this.held = this.at = null; });
    this.canvas.style.touchAction = "none";
  }
  clamped(px, py) { const r = this.reach * 0.98, c = (v) => Math.max(-r, Math.min(r, v)); return [c(this.scale.ix(px)), c(this.scale.iy(py))]; }
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    this.reach = f.arrays.reach.values[0];
    const s = this.axes(ctx, w, h, t, { x: [-this.reach, this.reach], y: [-this.reach, this.reach], xlabel: "w₁", ylabel: "w₂", square: true, xticks: [-2, -1, 0, 1, 2], yticks: [-2, -1, 0, 1, 2] });
    const m = f.arrays.teacher.shape[0], n = f.arrays.student.shape[0], colours = unitColours(m, t);
    this.ground(ctx, s, t, colours);
    ctx.save();
    ctx.beginPath(); ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top); ctx.clip();
    const moved = (kind, i) => (this.held && this.at && this.held.kind === kind && this.held.unit === i ? this.at : [f.arrays[kind].values[2 * i], f.arrays[kind].values[2 * i + 1]]);
    for (let j = 0; j < m; j++) this.arrow(ctx, s, [0, 0], moved("teacher", j), colours[j], 5, 0.75);
    if (this.trail) {
      const { values, shape: [count, units] } = this.trail;
      ctx.lineWidth = 1; ctx.strokeStyle = t.soft; ctx.globalAlpha = 0.55;
      for (let k = 0; k < units; k++) {
        ctx.beginPath();
        for (let i = 0; i < count; i++) { const [x, y] = [s.x(values[2 * (i * units + k)]), s.y(values[2 * (i * units + k) + 1])]; if (i) ctx.lineTo(x, y); else ctx.moveTo(x, y); }
        ctx.stroke();
      }
      ctx.globalAlpha = 1;
    }
    for (let k = 0; k < n; k++) {
      const [x, y] = moved("student", k), [vx, vy] = [f.arrays.velocity.values[2 * k], f.arrays.velocity.values[2 * k + 1]];
      const size = Math.hypot(vx, vy);
      if (size > 1e-3 && !(this.held && this.held.unit === k)) this.arrow(ctx, s, [x, y], [x + (vx / size) * Math.min(size, 0.35), y + (vy / size) * Math.min(size, 0.35)], t.soft, 1.5, 0.9);
      const chosen = k === f.words.unit;
      ctx.fillStyle = t.ink; ctx.strokeStyle = t.card; ctx.lineWidth = 1.5;
      ctx.beginPath(); ctx.arc(s.x(x), s.y(y), 6, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
      if (chosen) { ctx.strokeStyle = t.warm; ctx.lineWidth = 2.5; ctx.beginPath(); ctx.arc(s.x(x), s.y(y), 9, 0, 2 * Math.PI); ctx.stroke(); }
    }
    ctx.restore();
  }
  ground(ctx, s, t, colours) {
    const f = this.data, box = [s.left, s.top, s.right - s.left, s.bottom - s.top], paper = rgb(t.card);
    const flip = (values, side) => { const out = new Float32Array(values.length); for (let r = 0; r < side; r++) for (let c = 0; c < side; c++) out[(side - 1 - r) * side + c] = values[r * side + c]; return out; };
    if (this.basins) {
      const side = this.basins.side, ends = flip(this.basins.ends, side);
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(pixels(ends, side, side, (j) => (j < 0 ? paper.map((p, i) => p + (rgb(t.dark ? "#8b949e" : "#6b7785")[i] - p) * 0.35) : paper.map((p, i) => p + (rgb(colours[j])[i] - p) * 0.38))), ...box);
      return;
    }
    const { values, shape: [side] } = f.arrays.landscape;
    let low = Infinity, high = -Infinity;
    for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
    ctx.imageSmoothingEnabled = true;
    const tint = rgb(t.dark ? "#3b6ea5" : "#8fb7dc");
    ctx.drawImage(pixels(flip(values, side), side, side, ((shade) => (v) => shade(((v - low) / (high - low || 1)) ** 0.4))(table((q) => paper.map((p, i) => p + (tint[i] - p) * (1 - Math.max(q, 0)) * 0.8)))), ...box);
  }
  arrow(ctx, s, from, to, colour, width, alpha) {
    const [x0, y0, x1, y1] = [s.x(from[0]), s.y(from[1]), s.x(to[0]), s.y(to[1])], length = Math.hypot(x1 - x0, y1 - y0), head = Math.min(3 * width, length);
    if (length < 1) return;
    const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
    ctx.globalAlpha = alpha; ctx.strokeStyle = ctx.fillStyle = colour; ctx.lineWidth = width;
    ctx.beginPath(); ctx.moveTo(x0, y0); ctx.lineTo(x1 - ux * head * 0.8, y1 - uy * head * 0.8); ctx.stroke();
    ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x1 - ux * head - uy * head * 0.5, y1 - uy * head + ux * head * 0.5); ctx.lineTo(x1 - ux * head + uy * head * 0.5, y1 - uy * head - ux * head * 0.5); ctx.fill();
    ctx.globalAlpha = 1;
  }
  near(px, py) {
    const s = this.scale;
    if (!s || !this.data) return null;
    for (const kind of ["student", "teacher"]) {
      const { values, shape: [count] } = this.data.arrays[kind];
      let best = 14 ** 2, unit = -1;
      for (let i = 0; i < count; i++) { const d = (s.x(values[2 * i]) - px) ** 2 + (s.y(values[2 * i + 1]) - py) ** 2; if (d < best) { best = d; unit = i; } }
      if (unit >= 0) return { kind, unit };
    }
    return null;
  }
  hover(px, py) {
    const found = this.near(px, py);
    this.canvas.style.cursor = this.held ? "grabbing" : found ? "grab" : "default";
    if (!found || this.held) return "";
    const { values } = this.data.arrays[found.kind], [x, y] = [values[2 * found.unit], values[2 * found.unit + 1]];
    return `${found.kind} unit ${found.unit}\nlength ${short(Math.hypot(x, y))}, angle ${Math.round((Math.atan2(y, x) * 180) / Math.PI)}°`;
  }
}

export function flow(parent, context) {
  const plane = new FlowPlane(parent, { title: "Weights in the plane", area: "plane", name: "weights", hint: "drag a dot or an arrow" });
  plane.context = context;
  const loss = new CurveView(parent, { title: "Loss", area: "loss", name: "loss", xlabel: "time", ylabel: "loss", log: true });
  const aligned = new CurveView(parent, { title: "Angle with the nearest teacher", area: "angles", name: "angles", xlabel: "time", ylabel: "degrees", yrange: () => [0, 180] });
  const panel = new Facts(parent, "This point", "story");
  const button = element("button", "Show basins of the ringed unit");
  button.type = "button";
  button.id = "basins";
  panel.tools.append(button);
  let history, frame;
  button.onclick = async () => {
    if (plane.basins) { plane.basins = null; button.textContent = "Show basins of the ringed unit"; plane.redraw(); return; }
    button.disabled = true;
    button.textContent = "following 441 starts";
    const found = await context.ask({ about: "basins", unit: frame.words.unit });
    button.disabled = false;
    if (found.error) { context.message(found.error); button.textContent = "Show basins of the ringed unit"; return; }
    plane.basins = found;
    button.textContent = "Show the loss again";
    plane.redraw();
  };
  const forget = () => { plane.basins = null; button.textContent = "Show basins of the ringed unit"; };
  const curves = () => {
    if (!history) return;
    const t = theme();
    loss.show(history.times, [{ values: history.arrays.loss.values, colour: t.accent, width: 2, label: "loss" }]);
    const { values, shape: [count, n] } = history.arrays.student, teacher = frame?.arrays.teacher;
    if (!teacher) return;
    const turn = (x, y) => Math.atan2(y, x), ways = Array.from({ length: teacher.shape[0] }, (_, j) => turn(teacher.values[2 * j], teacher.values[2 * j + 1]));
    const gap = (i, k) => { const a = turn(values[2 * (i * n + k)], values[2 * (i * n + k) + 1]); return Math.min(...ways.map((b) => Math.abs(Math.atan2(Math.sin(a - b), Math.cos(a - b))))) * (180 / Math.PI); };
    aligned.show(history.times, Array.from({ length: n }, (_, k) => ({ values: Array.from({ length: count }, (_, i) => gap(i, k)), colour: k === frame.words.unit ? t.warm : t.soft, width: k === frame.words.unit ? 2.5 : 1, label: k === frame.words.unit ? `unit ${k}` : undefined })));
  };
  return {
    views: [plane, loss, aligned],
    opened: forget,
    changed: forget,
    history(h) { history = h; plane.trail = h.arrays.student; curves(); },
    frame(f) {
      if (frame && frame.words.unit !== f.words.unit) forget();
      const first = !frame;
      frame = plane.data = f;
      plane.redraw();
      if (first) curves();
      const { kind, gradient, least } = f.words;
      const sentence = { minimum: "A minimum: no direction leads down.", saddle: "A saddle: some direction leads down, but the gradient does not point there. Drag a unit a little.", "not stationary": "Moving: the gradient is not zero." }[kind];
      panel.show([["state", kind], ["loss", short(f.arrays.loss.values[0])], ["gradient norm", short(gradient)], ["least curvature", short(least)], ["largest curvature", short(f.words.largest)]], sentence);
      if (!context.playing) plane.describe(`Weights in the plane: ${f.arrays.student.shape[0]} student and ${f.arrays.teacher.shape[0]} teacher units; ${sentence}`);
    },
    state(state) { if (!state.playing) curves(); },
    retheme: curves,
    key(event) {
      if (!/^u$/i.test(event.key) || !frame) return;
      const n = frame.arrays.student.shape[0];
      context.looked({ unit: (frame.words.unit + (event.shiftKey ? n - 1 : 1)) % n });
    },
    remove() { for (const v of this.views) v.remove(); },
  };
}
