// Scene 1: which teacher unit does each student unit come to follow?

import { Rota, View, diverging, median, niceLimit, pixels, rgb, short, table, theme, unitColours } from "./draw.js";
import { Cloud } from "./cloud.js";
import { CurveView } from "./curves.js";

const RECOVERED = 0.95;
const MANY = 2000; // points from which on they are drawn pixel by pixel

/** The L: best correlation against fan-out, one point per unit. */
class LView extends View {
  paint(ctx, w, h) {
    if (ctx.putImageData && this.data && this.data.arrays.fan_out.values.length > MANY) this.drawPixels(ctx, w, h, theme());
    else super.paint(ctx, w, h);
  }
  drawAxes(ctx, w, h, t) {
    const s = this.axes(ctx, w, h, t, { x: [this.low - 0.05, 1.03], y: [0, this.limit], xlabel: "best correlation with a teacher unit", ylabel: "fan-out" });
    ctx.setLineDash([3, 3]);
    ctx.strokeStyle = t.soft;
    ctx.beginPath(); ctx.moveTo(s.x(RECOVERED), s.top); ctx.lineTo(s.x(RECOVERED), s.bottom); ctx.stroke();
    ctx.setLineDash([]);
    return s;
  }
  /** The limits of the axes, which move in steps. */
  fit() {
    const { specialisation: x, fan_out: y } = this.data.arrays;
    this.low = this.bottom(x.values);
    this.limit = niceLimit(Math.max(this.top(y.values), 1e-9));
  }
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const { specialisation: x, fan_out: y, best_teacher: who } = f.arrays;
    const [members, units] = x.shape, marked = this.marked;
    this.fit();
    const s = this.drawAxes(ctx, w, h, t), colours = unitColours(f.arrays.best_correlation.shape[1], t);
    const size = members * units > 20000 ? 1.5 : members * units > 3000 ? 2.5 : 4, byColour = colours.map(() => []);
    for (let i = 0; i < x.values.length; i++) byColour[who.values[i]]?.push(i);
    ctx.globalAlpha = members > 1 ? 0.5 : 0.9;
    byColour.forEach((points, j) => {
      if (marked !== undefined && marked !== j) return;
      ctx.fillStyle = colours[j];
      ctx.beginPath();
      for (const i of points) ctx.rect(s.x(x.values[i]) - size / 2, s.y(y.values[i]) - size / 2, size, size);
      ctx.fill();
    });
    ctx.globalAlpha = 1;
    this.chosenUnits((i) => {
      ctx.fillStyle = colours[who.values[i]];
      ctx.strokeStyle = t.card;
      ctx.lineWidth = 1;
      ctx.beginPath(); ctx.arc(s.x(x.values[i]), s.y(y.values[i]), 4, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
    });
    this.ring(ctx, s, t);
  }
  drawPixels(ctx, w, h, t) {
    const { specialisation: x, fan_out: y, best_teacher: who, best_correlation: best } = this.data.arrays, ratio = this.canvas.width / w;
    this.fit();
    this.cloud ??= new Cloud();
    this.cloud.begin([w, h, ratio, this.low, this.limit, t.dark].join(), this.canvas.width, this.canvas.height, ratio, (base) => {
      base.fillStyle = t.card;
      base.fillRect(0, 0, w, h);
      this.drawAxes(base, w, h, t);
      this.colours = unitColours(best.shape[1], t);
    });
    const s = this.scale, [x0, y0] = [s.x(0), s.y(0)];
    this.cloud.points(x.values, y.values, who.values, this.colours, { x0, y0, dx: s.x(1) - x0, dy: s.y(1) - y0 }, this.marked);
    this.chosenUnits((i) => this.cloud.disc(s.x(x.values[i]), s.y(y.values[i]), this.colours[who.values[i]], t.card));
    this.cloud.end(ctx);
    this.ring(ctx, s, t);
  }
  /** Do something for each unit of the member that is looked at. */
  chosenUnits(work) {
    const { specialisation: x, best_teacher: who } = this.data.arrays, units = x.shape[1], first = (this.context.look.member ?? 0) * units;
    for (let i = first; i < first + units; i++) if (Number.isFinite(x.values[i]) && (this.marked === undefined || who.values[i] === this.marked)) work(i);
  }
  /** A ring around the unit whose story is told. */
  ring(ctx, s, t) {
    const { specialisation: x, fan_out: y } = this.data.arrays, { member = 0, unit } = this.context.look, i = member * x.shape[1] + unit;
    if (!Number.isFinite(x.values[i])) return;
    ctx.strokeStyle = t.ink;
    ctx.lineWidth = 2;
    ctx.beginPath(); ctx.arc(s.x(x.values[i]), s.y(y.values[i]), 7, 0, 2 * Math.PI); ctx.stroke();
  }
  bottom(values) { let low = 0; for (const v of values) if (v < low) low = v; return Math.floor(low * 4) / 4; }
  top(values) { let high = 0; for (const v of values) if (v > high) high = v; return high; }
  nearest(px, py) {
    if (!this.scale) return null;
    const { specialisation: x, fan_out: y } = this.data.arrays, s = this.scale, units = x.shape[1], chosen = this.context.look.member ?? 0;
    let best = 12 * 12, found = null;
    for (let i = 0; i < x.values.length; i++) {
      const d = (s.x(x.values[i]) - px) ** 2 + (s.y(y.values[i]) - py) ** 2 - (Math.floor(i / units) === chosen ? 9 : 0);
      if (d < best) { best = d; found = i; }
    }
    return found === null ? null : { member: Math.floor(found / units), unit: found % units, i: found };
  }
  hover(px, py) {
    const found = this.data && this.nearest(px, py);
    this.canvas.style.cursor = found ? "pointer" : "default";
    if (!found) return "";
    const a = this.data.arrays;
    return `student ${found.member}, unit ${found.unit}\nteacher unit ${a.best_teacher.values[found.i]}\ncorrelation ${short(a.specialisation.values[found.i])}\nfan-out ${short(a.fan_out.values[found.i])}`;
  }
}

/** Correlations of one student's units with the teacher's, student units ordered by the teacher they follow. */
class MapView extends View {
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const { values, shape: [m, n] } = f.arrays.correlation;
    if (!Number.isFinite(values[0])) return;
    const best = Array.from({ length: n }, (_, k) => { let b = 0; for (let j = 1; j < m; j++) if (values[j * n + k] > values[b * n + k]) b = j; return b; });
    this.order = Array.from({ length: n }, (_, k) => k).sort((a, b) => best[a] - best[b] || values[best[b] * n + b] - values[best[a] * n + a]);
    const cells = new Float32Array(m * n);
    for (let j = 0; j < m; j++) this.order.forEach((k, c) => { cells[j * n + c] = values[j * n + k]; });
    if (this.theme !== t) Object.assign(this, { theme: t, shade: table((v) => rgb(diverging(v, t))), bar: pixels(Float32Array.from({ length: 64 }, (_, i) => 1 - i / 31.5), 64, 1, (v) => rgb(diverging(v, t))) });
    const image = (this.image = pixels(cells, m, n, this.shade, this.image));
    const left = 46, top = 8, right = 54, bottom = 34, pw = w - left - right, ph = h - top - bottom;
    this.boxes = { left, top, pw, ph, m, n };
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(image, left, top, pw, ph);
    ctx.strokeStyle = t.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(left + 0.5, top + 0.5, pw, ph);
    const at = this.order.indexOf(this.context.look.unit);
    if (at >= 0) { ctx.strokeStyle = t.ink; ctx.lineWidth = 2; ctx.strokeRect(left + (at * pw) / n, top, Math.max(pw / n, 3), ph); }
    const colours = unitColours(m, t);
    ctx.font = "11px system-ui, sans-serif";
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    const skip = Math.ceil((m * 12) / ph);
    for (let j = 0; j < m; j++) {
      ctx.fillStyle = colours[j];
      ctx.fillRect(left - 5, top + (j * ph) / m, 4, Math.max(ph / m - 1, 1));
      ctx.fillStyle = t.soft;
      if (j % skip === 0) ctx.fillText(j, left - 8, top + ((j + 0.5) * ph) / m);
    }
    ctx.fillStyle = t.ink;
    ctx.textAlign = "center";
    ctx.textBaseline = "alphabetic";
    ctx.fillText(pw >= 240 ? `${n} units of the student, by the teacher unit they follow` : `${n} student units`, left + pw / 2, h - 12);
    ctx.save(); ctx.translate(9, top + ph / 2); ctx.rotate(-Math.PI / 2); ctx.textBaseline = "middle"; ctx.fillText("teacher unit", 0, 0); ctx.restore();
    ctx.drawImage(this.bar, w - 46, top, 10, ph);
    ctx.textAlign = "left"; ctx.textBaseline = "middle"; ctx.fillStyle = t.soft;
    for (const v of [1, 0, -1]) ctx.fillText(v, w - 32, top + 5 + ((1 - v) / 2) * (ph - 10));
  }
  at(px, py) {
    const b = this.boxes;
    if (!b || px < b.left || py < b.top || px >= b.left + b.pw || py >= b.top + b.ph) return null;
    return { unit: this.order[Math.floor(((px - b.left) / b.pw) * b.n)], teacher: Math.floor(((py - b.top) / b.ph) * b.m) };
  }
  hover(px, py) {
    const found = this.at(px, py);
    this.marked?.(found ? found.teacher : undefined);
    this.canvas.style.cursor = found ? "pointer" : "default";
    return found ? `teacher unit ${found.teacher}, unit ${found.unit}\ncorrelation ${short(this.data.arrays.correlation.values[found.teacher * this.boxes.n + found.unit])}` : "";
  }
  left() { this.marked?.(undefined); }
}

/** Best correlation of every teacher unit, the strongest first, with the range over students. */
class RecoveryView extends View {
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const { values, shape: [members, m] } = f.arrays.best_correlation, strength = f.arrays.strength.values;
    const mean = Array.from({ length: m }, (_, j) => { let sum = 0; for (let s = 0; s < members; s++) sum += strength[s * m + j]; return sum / members; });
    this.order = Array.from({ length: m }, (_, j) => j).sort((a, b) => mean[b] - mean[a] || a - b);
    const s = this.axes(ctx, w, h, t, { x: [-0.6, m - 0.4], y: [0, 1.02], xlabel: "teacher unit, strongest first", ylabel: "best correlation", xticks: this.order.map((_, i) => i).filter((i) => i % Math.ceil(m / 14) === 0), xfmt: (i) => String(this.order[i] ?? ""), yticks: [0, 0.25, 0.5, 0.75, 1] });
    ctx.setLineDash([3, 3]); ctx.strokeStyle = t.soft; ctx.beginPath(); ctx.moveTo(s.left, s.y(RECOVERED)); ctx.lineTo(s.right, s.y(RECOVERED)); ctx.stroke(); ctx.setLineDash([]);
    const colours = unitColours(m, t), wide = Math.min(((s.right - s.left) / m) * 0.5, 16), chosen = this.context.look.member ?? 0;
    this.order.forEach((j, i) => {
      const column = []; for (let q = 0; q < members; q++) column.push(values[q * m + j]);
      const finite = column.filter(Number.isFinite);
      if (!finite.length) return;
      const x = s.x(i), low = Math.max(0, Math.min(...finite)), high = Math.max(0, ...finite);
      ctx.fillStyle = colours[j];
      ctx.globalAlpha = 0.25; ctx.fillRect(x - wide / 2, s.y(high), wide, Math.max(s.y(low) - s.y(high), 1)); ctx.globalAlpha = 1;
      ctx.fillRect(x - wide / 2, s.y(median(finite)) - 1.5, wide, 3);
      if (Number.isFinite(column[chosen])) { ctx.fillStyle = t.ink; ctx.beginPath(); ctx.arc(x, s.y(Math.max(0, column[chosen])), 2.5, 0, 2 * Math.PI); ctx.fill(); }
    });
  }
  at(px) { const i = this.scale ? Math.round(this.scale.ix(px)) : -1; return this.order?.[i]; }
  hover(px) {
    const j = this.data && this.at(px);
    this.marked?.(j);
    if (j === undefined) return "";
    const { values, shape: [members, m] } = this.data.arrays.best_correlation;
    const column = Array.from({ length: members }, (_, s) => values[s * m + j]);
    return `teacher unit ${j}\nrecovered by ${column.filter((v) => v > RECOVERED).length} of ${members} students\nmedian ${short(median(column))}\nstudent ${this.context.look.member ?? 0}: ${short(column[this.context.look.member ?? 0])}`;
  }
  left() { this.marked?.(undefined); }
}

/** Two inputs: boundaries of teacher and student units, and the error of the student as shading. */
class PlaneView extends View {
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f?.arrays.error) return;
    const reach = f.arrays.window.values[0], { values, shape: [rows, columns] } = f.arrays.error;
    const s = this.axes(ctx, w, h, t, { x: [-reach, reach], y: [-reach, reach], xlabel: "x₁", ylabel: "x₂", square: true, xticks: [-2, 0, 2], yticks: [-2, 0, 2] });
    const high = f.arrays.size.values[0];
    const paper = rgb(t.card), ink = rgb(t.dark ? "#8b949e" : "#6b7785");
    const flipped = new Float32Array(values.length);
    for (let r = 0; r < rows; r++) flipped.set(values.subarray(r * columns, (r + 1) * columns), (rows - 1 - r) * columns);
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(pixels(flipped, rows, columns, ((shade) => (v) => shade(Math.sqrt(v / (high || 1))))(table((q) => paper.map((p, i) => p + (ink[i] - p) * Math.max(q, 0) * 0.75)))), s.left, s.top, s.right - s.left, s.bottom - s.top);
    ctx.save();
    ctx.beginPath(); ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top); ctx.clip();
    const m = f.arrays.teacher_lines.shape[0], n = f.arrays.student_lines.shape[0], colours = unitColours(m, t);
    for (let j = 0; j < m; j++) this.line(ctx, s, f.arrays.teacher_lines.values.subarray(3 * j), reach, colours[j], 6, 0.45);
    const fan = f.arrays.fan_out.values.subarray(f.words.member * n), most = Math.max(...fan.subarray(0, n), 1e-9);
    for (let k = 0; k < n; k++) {
      const follows = f.arrays.best_teacher.values[f.words.member * n + k], close = f.arrays.specialisation.values[f.words.member * n + k] > RECOVERED;
      const chosen = k === this.context.look.unit;
      this.line(ctx, s, f.arrays.student_lines.values.subarray(3 * k), reach, close ? colours[follows] : t.ink, chosen ? 3.5 : 1.8, chosen ? 1 : 0.15 + 0.85 * Math.sqrt(fan[k] / most));
    }
    ctx.restore();
    ctx.globalAlpha = 1;
  }
  line(ctx, s, [a, b, c], reach, colour, width, alpha) {
    const length = Math.hypot(a, b);
    if (!(length > 1e-12)) return;
    const [fx, fy] = [(-c * a) / length ** 2, (-c * b) / length ** 2], [dx, dy] = [(-b / length) * 4 * reach, (a / length) * 4 * reach];
    if (Math.hypot(fx, fy) > 3 * reach) return;
    ctx.globalAlpha = alpha; ctx.strokeStyle = colour; ctx.lineWidth = width;
    ctx.beginPath(); ctx.moveTo(s.x(fx - dx), s.y(fy - dy)); ctx.lineTo(s.x(fx + dx), s.y(fy + dy)); ctx.stroke();
  }
  near(px, py) {
    const f = this.data, s = this.scale;
    if (!f?.arrays.student_lines || !s) return null;
    const [x, y] = [s.ix(px), s.iy(py)], unit = Math.abs(s.ix(px + 6) - x);
    let best = unit, found = null;
    const { values, shape: [n] } = f.arrays.student_lines;
    for (let k = 0; k < n; k++) {
      const [a, b, c] = values.subarray(3 * k, 3 * k + 3), d = Math.abs(a * x + b * y + c) / Math.hypot(a, b);
      if (d < best) { best = d; found = k; }
    }
    return found;
  }
  hover(px, py) {
    const k = this.near(px, py);
    this.canvas.style.cursor = k === null ? "default" : "pointer";
    if (k === null) return "";
    const n = this.data.arrays.student_lines.shape[0], i = this.data.words.member * n + k;
    return `unit ${k}\nnearest teacher unit ${this.data.arrays.best_teacher.values[i]}, correlation ${short(this.data.arrays.specialisation.values[i])}\nfan-out ${short(this.data.arrays.fan_out.values[i])}`;
  }
}

/** The story of one unit: sentences, its alignment over time, theorems on its student. */
class Story {
  constructor(parent, context) {
    this.context = context;
    this.card = document.createElement("section");
    this.card.className = "card story";
    this.card.id = "view-story";
    this.card.style.gridArea = "story";
    this.card.setAttribute("aria-live", "polite");
    this.card.innerHTML = `<header><h2>Story of a unit</h2></header><div class="words"><p class="quiet">Click a point, a row of the map or a boundary: its story appears here. Keys <kbd>m</kbd> and <kbd>u</kbd> walk through students and units.</p></div><div class="inner"></div><div class="theorems"></div>`;
    parent.append(this.card);
    this.words = this.card.querySelector(".words");
    this.theorems = this.card.querySelector(".theorems");
  }
  async tell(question) {
    if (this.busy) { this.next = question; return; }
    this.busy = true;
    const found = await this.context.ask({ about: "unit", ...question });
    this.busy = false;
    this.show(found);
    if (this.next) { const next = this.next; this.next = null; this.tell(next); }
  }
  show(found) {
    this.words.textContent = "";
    if (found.error) { this.words.append(line("p", found.error)); return; }
    this.card.querySelector("h2").textContent = found.title;
    for (const sentence of found.sentences) this.words.append(line("p", sentence));
    if (found.alignment && found.alignment.times.length > 1) {
      const { times, values } = found.alignment, t = theme(), m = values[0].length, colours = unitColours(m, t);
      if (!this.chart) this.chart = new CurveView(this.card.querySelector(".inner"), { title: "Correlation over time", name: "alignment", xlabel: "step", ylabel: "correlation", yrange: () => [-0.5, 1.02] });
      this.chart.card.hidden = false;
      const last = values.at(-1), top = last.indexOf(Math.max(...last));
      this.chart.show(times, colours.map((colour, j) => ({ values: values.map((v) => v[j]), colour, width: j === top ? 2.5 : 1, label: j === top ? `teacher unit ${j}` : undefined })));
    } else if (this.chart) this.chart.card.hidden = true;
    this.theorems.textContent = "";
    for (const theorem of found.theorems) {
      const box = document.createElement("details");
      box.open = this.opened?.has(theorem.name) ?? theorem.name === "alignment";
      box.addEventListener("toggle", () => { this.opened = new Set([...this.theorems.querySelectorAll("details[open]")].map((d) => d.dataset.name)); });
      box.dataset.name = theorem.name;
      const head = line("summary", theorem.name.replace(/-/g, " "));
      const badge = line("span", theorem.verdict);
      badge.className = `badge ${theorem.verdict.replace(/ /g, "-")}`;
      head.append(badge);
      head.title = theorem.statement;
      box.append(head, line("p", theorem.source));
      const list = document.createElement("ul");
      for (const c of theorem.conditions) {
        const item = document.createElement("li");
        item.className = c.met === c.of ? "met" : "unmet";
        const detail = c.of > 1 ? ` (${c.met} of ${c.of} units)` : c.value === null ? "" : ` (${short(c.value)}, needed ${c.needed})`;
        item.textContent = `${c.met === c.of ? "✓" : "○"} ${c.name}${detail}`;
        list.append(item);
      }
      box.append(list);
      this.theorems.append(box);
    }
  }
  clear() { this.words.innerHTML = `<p class="quiet">Click a point, a row of the map or a boundary: its story appears here.</p>`; this.theorems.textContent = ""; if (this.chart) this.chart.card.hidden = true; }
}

const line = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };

export function specialisation(parent, context) {
  const views = [];
  const add = (Kind, options) => { const v = new Kind(parent, options); v.context = context; views.push(v); return v; };
  const l = add(LView, { title: "Units", area: "l", name: "units", hint: "colour: teacher unit followed" });
  const plane = add(PlaneView, { title: "Plane", area: "plane", name: "plane", hint: "thick: teacher; grey: error" });
  plane.card.hidden = true;
  const map = add(MapView, { title: "Correlation map", area: "map", name: "map" });
  const recovery = add(RecoveryView, { title: "Recovery", area: "recovery", name: "recovery" });
  const loss = add(CurveView, { title: "Loss", area: "loss", name: "loss", xlabel: "step", ylabel: "loss", log: true });
  const story = new Story(parent, context);
  let lastTold = 0;

  const choose = (member, unit) => { context.looked({ member, unit }); story.tell({ member, unit }); for (const v of views) v.redraw(); if (history) showLoss(history); };
  const mark = (j) => { if (l.marked !== j) { l.marked = j; l.redraw(); } };
  map.marked = recovery.marked = mark;
  l.canvas.addEventListener("click", (e) => { const found = l.nearest(...l.place(e)); if (found) choose(found.member, found.unit); });
  map.canvas.addEventListener("click", (e) => { const found = map.at(...map.place(e)); if (found) choose(context.look.member ?? 0, found.unit); });
  plane.canvas.addEventListener("click", (e) => { const k = plane.near(...plane.place(e)); if (k !== null) choose(context.look.member ?? 0, k); });
  recovery.canvas.addEventListener("click", (e) => {
    const j = recovery.at(...recovery.place(e));
    if (j === undefined) return;
    const { values, shape: [m, n] } = l.data.arrays.correlation;
    let best = 0;
    for (let k = 1; k < n; k++) if (values[j * n + k] > values[j * n + best]) best = k;
    choose(context.look.member ?? 0, best);
  });

  const showLoss = (history) => {
    const last = history.arrays.loss.shape[1];
    shown = history;
    loss.hint.textContent = `median ${short(median(history.arrays.loss.values.slice(-last)))}`;
    const t = theme(), { values, shape: [count, members] } = history.arrays.loss;
    const chosen = context.look.member ?? 0;
    const column = (s) => Array.from({ length: count }, (_, i) => values[i * members + s]);
    const middle = Array.from({ length: count }, (_, i) => median(values.subarray(i * members, (i + 1) * members)));
    const thin = Math.ceil(members / 64);
    const all = Array.from({ length: members }, (_, s) => s).filter((s) => s % thin === 0);
    loss.show(history.times, [...all.map((s) => ({ values: column(s), colour: t.line2 || (t.dark ? "#444c56" : "#c9d1d9"), width: 1 })), { values: column(chosen), colour: t.accent, width: 1.5, label: `student ${chosen}` }, { values: middle, colour: t.warm, width: 2.5, label: "median" }]);
  };
  let history, shown;
  const above = (array) => { let count = 0; for (const v of array.values) if (v > RECOVERED) count += 1; return count; };
  const words = (frame) => {
    const { best_correlation: best, specialisation: units } = frame.arrays, found = above(best);
    const heading = `Correlation map of student ${frame.words.member}`, hint = `${found} of ${best.values.length} recovered`;
    if (map.heading.textContent !== heading) map.heading.textContent = heading;
    if (recovery.hint.textContent !== hint) recovery.hint.textContent = hint;
    if (context.playing) return;
    l.describe(`Units: ${above(units)} of ${units.values.length} student units follow a teacher unit with correlation above 0.95.`);
    recovery.describe(`Recovery: ${found} of ${best.values.length} teacher units are recovered.`);
  };
  const rest = { show: (frame) => { words(frame); if (history && history !== shown) showLoss(history); } };
  const rota = new Rota(context, [l, plane], [map, recovery, rest]);
  return {
    views,
    opened() {
      const two = context.settings().dimension === 2;
      parent.classList.toggle("two", two);
      plane.card.hidden = !two;
      if (context.look.unit !== undefined) story.tell({ member: context.look.member ?? 0, unit: context.look.unit });
      else story.clear();
    },
    frame(frame) {
      rota.show(frame);
      if (context.look.unit !== undefined && context.live && performance.now() - lastTold > (context.playing ? 1500 : 0)) {
        lastTold = performance.now();
        story.tell({ member: context.look.member ?? 0, unit: context.look.unit });
      }
    },
    state({ playing }) { if (!playing) rota.rest(); },
    history(h) { history = h; },
    retheme() { if (history) showLoss(history); },
    key(event) {
      const f = l.data, back = event.shiftKey ? -1 : 1;
      if (!f || !/^[mu]$/i.test(event.key)) return;
      const [members, units] = f.arrays.specialisation.shape, turn = (v, n) => ((v ?? (back > 0 ? -1 : 0)) + back + n) % n;
      if (event.key.toLowerCase() === "m") choose(turn(context.look.member ?? 0, members), context.look.unit ?? 0);
      else choose(context.look.member ?? 0, turn(context.look.unit, units));
    },
    remove() { for (const v of views) v.remove(); },
  };
}
