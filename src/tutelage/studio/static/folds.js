// Scene 5: the folds and regions of a network of two inputs; drag a line, permute, rescale.

import { View, diverging, pixels, rgb, short, table, theme, unitColours } from "./draw.js";
import { CurveView } from "./curves.js";
import { Facts, element } from "./facts.js";

class FoldPlane extends View {
  build() {
    super.build();
    this.canvas.style.touchAction = "none";
    this.canvas.addEventListener("pointerdown", (e) => {
      const k = this.near(...this.place(e));
      if (k === null) return;
      this.held = { unit: k, turn: e.shiftKey };
      this.chosen(k);
      this.canvas.setPointerCapture(e.pointerId);
      e.preventDefault();
    });
    this.canvas.addEventListener("pointermove", (e) => {
      if (!this.held) return;
      const [px, py] = this.place(e), [x, y] = [this.scale.ix(px), this.scale.iy(py)], u = this.unit(this.held.unit);
      this.held.to = this.held.turn ? turned(u, x, y) : [u[0], u[1], -(u[0] * x + u[1] * y)];
      if (performance.now() - (this.told || 0) > 50) { this.told = performance.now(); this.tell(); }
    });
    const drop = () => { if (this.held?.to) this.tell(); this.held = null; };
    this.canvas.addEventListener("pointerup", drop);
    this.canvas.addEventListener("pointercancel", drop);
  }
  tell() { this.moved(this.held.unit, this.held.to.map((v) => +Math.max(-100, Math.min(100, v)).toFixed(4))); }
  unit(k) { return Array.from(this.data.arrays.units.values.subarray(3 * k, 3 * k + 3)); }
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const a = f.arrays, reach = a.reach.values[0];
    const s = this.axes(ctx, w, h, t, { x: [-reach, reach], y: [-reach, reach], xlabel: "x₁", ylabel: "x₂", square: true, xticks: [-2, 0, 2], yticks: [-2, 0, 2] });
    const { values, shape: [side] } = a.value, high = Math.max(...Array.from(values, Math.abs), 1e-12), flipped = new Float32Array(values.length);
    for (let r = 0; r < side; r++) flipped.set(values.subarray(r * side, (r + 1) * side), (side - 1 - r) * side);
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(pixels(flipped, side, side, ((shade) => (v) => shade(v / high))(table((v) => rgb(diverging(0.6 * v, t))))), s.left, s.top, s.right - s.left, s.bottom - s.top);
    const n = a.units.shape[0], all = n + f.words.second, colours = unitColours(Math.max(all, 2), t);
    ctx.lineCap = "round";
    for (let i = 0; i < a.segments.shape[0]; i++) {
      const [x0, y0, x1, y1] = a.segments.values.subarray(4 * i, 4 * i + 4), k = a.segment_unit.values[i], mine = k === this.selected;
      ctx.setLineDash(k >= n ? [6, 4] : []);
      ctx.strokeStyle = colours[k]; ctx.lineWidth = mine ? 4.5 : 2.2;
      ctx.beginPath(); ctx.moveTo(s.x(x0), s.y(y0)); ctx.lineTo(s.x(x1), s.y(y1)); ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.font = "600 11px system-ui, sans-serif"; ctx.textAlign = "center"; ctx.textBaseline = "middle";
    for (let k = 0; k < n; k++) {
      const [p, q, b] = this.unit(k), size = Math.hypot(p, q), [x, y] = [(-b * p) / size ** 2, (-b * q) / size ** 2];
      if (!(Math.abs(x) < reach && Math.abs(y) < reach)) continue;
      ctx.fillStyle = t.card; ctx.strokeStyle = colours[k]; ctx.lineWidth = 2;
      ctx.beginPath(); ctx.arc(s.x(x), s.y(y), 9, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
      ctx.fillStyle = t.ink; ctx.fillText(String(k), s.x(x), s.y(y) + 0.5);
    }
  }
  near(px, py) {
    const s = this.scale;
    if (!s || !this.data) return null;
    const [x, y] = [s.ix(px), s.iy(py)];
    let best = Math.abs(s.ix(px + 8) - x), found = null;
    for (let k = 0; k < this.data.arrays.units.shape[0]; k++) { const [p, q, b] = this.unit(k), d = Math.abs(p * x + q * y + b) / Math.hypot(p, q); if (d < best) { best = d; found = k; } }
    return found;
  }
  hover(px, py) {
    const k = this.near(px, py);
    this.canvas.style.cursor = this.held ? "grabbing" : k === null ? "default" : "grab";
    if (k === null || this.held) return "";
    const [p, q, b] = this.unit(k);
    return `unit ${k} of layer 1\nweights ${short(p)}, ${short(q)}; bias ${short(b)}\ndrag: move; shift and drag: turn`;
  }
}

/** The unit turned about its foot, the point of its line nearest to the origin, so that the line passes a place. */
function turned([p, q, b], x, y) {
  const size = Math.hypot(p, q), [fx, fy] = [(-b * p) / size ** 2, (-b * q) / size ** 2], [dx, dy] = [x - fx, y - fy], length = Math.hypot(dx, dy);
  if (length < 0.05) return [p, q, b];
  let [nx, ny] = [-dy / length, dx / length];
  if (nx * p + ny * q < 0) [nx, ny] = [-nx, -ny];
  return [nx * size, ny * size, -size * (nx * fx + ny * fy)];
}

export function folds(parent, context) {
  const plane = new FoldPlane(parent, { title: "Folds and regions", area: "plane", name: "folds", hint: "solid: layer 1; dashed: layer 2; shading: value" });
  const path = new CurveView(parent, { title: "Distance from the start of the path", area: "loss", name: "path", xlabel: "path in %", ylabel: "largest difference" });
  const panel = new Facts(parent, "This network", "story");
  const redundant = element("ul", "", "plain");
  const numbers = element("form", "", "numbers");
  const buttons = [["Permute units", { permute: true }], ["Rescale units", { scale: true }]].map(([text, change]) => { const b = element("button", text); b.type = "button"; b.onclick = () => context.change(change); return b; });
  const copy = element("button", "Copy the chosen unit onto the next");
  copy.type = "button";
  copy.onclick = () => context.change({ copy: plane.selected ?? 0 });
  panel.tools.append(...buttons, copy, numbers, redundant);
  numbers.innerHTML = `<h3></h3><label>w₁ <input type="number" step="any" name="w1"></label><label>w₂ <input type="number" step="any" name="w2"></label><label>bias <input type="number" step="any" name="b"></label>`;
  numbers.addEventListener("submit", (e) => e.preventDefault());
  numbers.addEventListener("change", () => plane.moved(plane.selected ?? 0, ["w1", "w2", "b"].map((n) => Number(numbers.elements[n].value))));
  plane.moved = (unit, to) => context.change({ unit, to });
  plane.selected = 0;
  plane.chosen = (k) => { plane.selected = k; fill(); plane.redraw(); };
  let history;
  const fill = () => {
    if (!plane.data) return;
    const k = Math.min(plane.selected, plane.data.arrays.units.shape[0] - 1), values = plane.unit(k);
    numbers.querySelector("h3").textContent = `Unit ${k} of layer 1`;
    ["w1", "w2", "b"].forEach((n, i) => { if (document.activeElement !== numbers.elements[n]) numbers.elements[n].value = +values[i].toFixed(4); });
  };
  const curves = () => { if (history?.arrays.distance) path.show(history.times, [{ values: history.arrays.distance.values, colour: theme().accent, width: 2, label: "difference" }]); };
  return {
    views: [plane, path],
    history(h) { history = h; curves(); },
    frame(f) {
      plane.data = f;
      plane.redraw();
      fill();
      const lost = f.words.redundant;
      const sentence = f.arrays.distance.values[0] < 1e-9 ? "The function is that at the start of the path." : `Here the function differs from the start by up to ${short(f.arrays.distance.values[0])}.`;
      panel.show([["regions", f.words.regions], ["fingerprint of the function", f.words.fingerprint], ["orders of the units", f.words.permutations.toLocaleString("en")], ["free scales", f.words.scalings]], sentence);
      redundant.textContent = "";
      for (const line of lost) redundant.append(element("li", line));
      if (!context.playing) plane.describe(`Folds and regions: ${f.words.regions} regions. ${lost.join(". ")}`);
    },
    retheme: curves,
    key(event) { if (/^u$/i.test(event.key) && plane.data) { const n = plane.data.arrays.units.shape[0]; plane.chosen((plane.selected + (event.shiftKey ? n - 1 : 1)) % n); } },
    remove() { for (const v of this.views) v.remove(); },
  };
}
