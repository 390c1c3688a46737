// Scene of one's own target: a curve or surface that was typed or drawn, the students' fits, and what each unit does.

import { View, diverging, niceLimit, pixels, rgb, short, table, theme } from "./draw.js";
import { CurveView } from "./curves.js";
import { Facts, element } from "./facts.js";

const PLACES = 61; // of a drawn curve

/** One input: the target, the fits of all students, the kinks of one; a hand draws the target. */
class FitView extends View {
  build() {
    super.build();
    this.canvas.style.touchAction = "none";
    this.canvas.addEventListener("pointerdown", (e) => {
      if (!this.data || !this.scale) return;
      const [px, py] = this.place(e);
      this.hand = { from: [px, py], drawn: null };
      this.canvas.setPointerCapture(e.pointerId);
      e.preventDefault();
    });
    this.canvas.addEventListener("pointermove", (e) => this.drag(...this.place(e), e.shiftKey));
    const drop = (e) => {
      const { hand } = this;
      this.hand = null;
      if (!hand) return;
      if (hand.drawn || this.data.words.inputs > 1) this.finished(hand, ...this.place(e), e.shiftKey);
      else this.clicked(...this.place(e));
      this.redraw();
    };
    this.canvas.addEventListener("pointerup", drop);
    this.canvas.addEventListener("pointercancel", () => { this.hand = null; this.redraw(); });
  }
  drag(px, py) {
    const { hand, scale: s } = this;
    if (!hand || this.data.words.inputs > 1) return;
    if (!hand.drawn) {
      if (Math.hypot(px - hand.from[0], py - hand.from[1]) < 6) return;
      const { values } = this.data.arrays.target;
      hand.drawn = Array.from({ length: PLACES }, (_, i) => values[Math.round((i * (values.length - 1)) / (PLACES - 1))]);
      hand.last = hand.from;
    }
    const reach = this.data.words.reach, at = (p) => Math.min(PLACES - 1, Math.max(0, Math.round(((s.ix(p) + reach) / (2 * reach)) * (PLACES - 1))));
    const [i, j] = [at(hand.last[0]), at(px)], [a, b] = [s.iy(hand.last[1]), s.iy(py)];
    for (let k = Math.min(i, j); k <= Math.max(i, j); k++) hand.drawn[k] = +(i === j ? b : a + ((k - i) / (j - i)) * (b - a)).toFixed(3);
    hand.last = [px, py];
    this.redraw();
  }
  draw(ctx, w, h, t) {
    if (!this.data) return;
    if (this.data.words.inputs > 1) this.surface(ctx, w, h, t);
    else this.curve(ctx, w, h, t);
  }
  curve(ctx, w, h, t) {
    const { arrays: a, words } = this.data, high = niceLimit(Math.max(...Array.from(a.target.values, Math.abs), 0.5) * 1.15);
    const s = this.axes(ctx, w, h, t, { x: [-words.reach, words.reach], y: [-high, high], xlabel: "x", ylabel: "target and students" });
    ctx.save();
    ctx.beginPath(); ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top); ctx.clip();
    const line = (values, from, count, colour, width, alpha = 1) => {
      ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.globalAlpha = alpha;
      ctx.beginPath();
      for (let i = 0; i < count; i++) { const [x, y] = [s.x(-words.reach + (2 * words.reach * i) / (count - 1)), s.y(values[from + i])]; if (i) ctx.lineTo(x, y); else ctx.moveTo(x, y); }
      ctx.stroke();
    };
    ctx.fillStyle = t.soft; ctx.globalAlpha = 0.45;
    for (let n = 0; n < a.labels.shape[0]; n++) ctx.fillRect(s.x(a.points.values[n]) - 1, s.y(a.labels.values[n]) - 1, 2, 2);
    line(this.hand?.drawn ?? a.target.values, 0, this.hand?.drawn ? PLACES : a.target.shape[0], t.ink, 5, 0.3);
    const [members, count] = a.fits.shape;
    for (let m = 0; m < members; m++) if (m !== words.member) line(a.fits.values, m * count, count, t.soft, 1, 0.5);
    line(a.fits.values, words.member * count, count, t.accent, 2.5);
    const most = Math.max(...a.fan_out.values, 1e-9);
    for (let k = 0; k < a.units.shape[0]; k++) {
      const x = this.kink(k), chosen = k === this.context.look.unit;
      if (!(Math.abs(x) < words.reach)) continue;
      ctx.globalAlpha = chosen ? 1 : 0.25 + 0.75 * Math.sqrt(a.fan_out.values[k] / most);
      ctx.fillStyle = chosen ? t.warm : a.signed.values[k] < 0 ? t.bad : t.good;
      ctx.beginPath(); ctx.arc(s.x(x), s.bottom - 7, chosen ? 6 : 4, 0, 2 * Math.PI); ctx.fill();
    }
    ctx.restore();
    ctx.globalAlpha = 1;
  }
  surface(ctx, w, h, t) {
    const { arrays: a, words } = this.data, reach = words.reach, s = this.axes(ctx, w, h, t, { x: [-reach, reach], y: [-reach, reach], xlabel: "x", ylabel: "y", square: true, xticks: [-2, 0, 2], yticks: [-2, 0, 2] });
    const side = a.target.shape[0], source = this.shows === "target" ? a.target.values : a.fits.values, high = Math.max(...Array.from(a.target.values, Math.abs), 1e-9), flipped = new Float32Array(side * side);
    for (let r = 0; r < side; r++) flipped.set(source.subarray(r * side, (r + 1) * side), (side - 1 - r) * side);
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(pixels(flipped, side, side, ((shade) => (v) => shade(v / high))(table((v) => rgb(diverging(0.8 * v, t))))), s.left, s.top, s.right - s.left, s.bottom - s.top);
    if (this.shows === "target") return;
    ctx.save();
    ctx.beginPath(); ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top); ctx.clip();
    const most = Math.max(...a.fan_out.values, 1e-9);
    for (let k = 0; k < a.units.shape[0]; k++) {
      const [p, q, b] = a.units.values.subarray(3 * k, 3 * k + 3), size = p * p + q * q, chosen = k === this.context.look.unit;
      if (!(size > 1e-12)) continue;
      const [fx, fy, dx, dy] = [(-b * p) / size, (-b * q) / size, (-q / Math.sqrt(size)) * 4 * reach, (p / Math.sqrt(size)) * 4 * reach];
      ctx.globalAlpha = chosen ? 1 : 0.1 + 0.6 * (a.fan_out.values[k] / most); ctx.strokeStyle = chosen ? t.warm : t.ink; ctx.lineWidth = chosen ? 3 : 1.2;
      ctx.beginPath(); ctx.moveTo(s.x(fx - dx), s.y(fy - dy)); ctx.lineTo(s.x(fx + dx), s.y(fy + dy)); ctx.stroke();
    }
    ctx.restore();
    ctx.globalAlpha = 1;
  }
  kink(k) { const [w, , b] = this.data.arrays.units.values.subarray(3 * k, 3 * k + 3); return -b / w; }
  /** The unit whose kink or boundary is nearest. */
  near(px, py) {
    const s = this.scale, { units } = this.data.arrays, [x, y] = [s.ix(px), s.iy(py)], two = this.data.words.inputs > 1;
    let best = Math.abs(s.ix(px + 9) - x), found = null;
    for (let k = 0; k < units.shape[0]; k++) {
      const [p, q, b] = units.values.subarray(3 * k, 3 * k + 3), d = two ? Math.abs(p * x + q * y + b) / Math.hypot(p, q) : Math.abs(this.kink(k) - x);
      if (d < best) { best = d; found = k; }
    }
    return found;
  }
  hover(px, py) {
    if (!this.data || !this.scale || this.hand) return "";
    const k = this.near(px, py);
    this.canvas.style.cursor = "crosshair";
    if (k === null) return "";
    return `unit ${k}\nfan-out ${short(this.data.arrays.signed.values[k])}`;
  }
}

export function target(parent, context) {
  const fit = new FitView(parent, { title: "Target and students", area: "plane", name: "fit", hint: "drag: draw your own target" });
  const wanted = new FitView(parent, { title: "Target", area: "angles", name: "target", hint: "drag: a bump; with shift: a hollow" });
  wanted.shows = "target";
  const loss = new CurveView(parent, { title: "Loss", area: "loss", name: "loss", xlabel: "step", ylabel: "loss", log: true });
  const panel = new Facts(parent, "This student", "story"), story = element("div", "", "words"), form = element("form", "", "numbers");
  form.innerHTML = `<h3>Formula</h3><label class="wide">f&nbsp;=&nbsp;<input type="text" name="formula" spellcheck="false" autocapitalize="off" maxlength="200" aria-label="Formula of the target"></label><button type="submit">Use it</button>`;
  panel.tools.append(form, story);
  let frame, history, settings = {};
  const start = (change) => { context.look.unit = undefined; context.set(change); };
  form.addEventListener("submit", (e) => { e.preventDefault(); start({ formula: form.elements.formula.value, curve: undefined, bumps: undefined }); });
  const told = async (unit) => {
    const found = await context.ask({ about: "unit", member: context.look.member ?? 0, unit });
    story.textContent = "";
    if (found.error) { story.append(element("p", found.error)); return; }
    for (const line of found.sentences) story.append(element("p", line));
  };
  for (const view of [fit, wanted]) {
    view.context = context;
    view.clicked = (px, py) => { const k = view.near(px, py); if (k !== null) { context.looked({ member: context.look.member ?? 0, unit: k }); told(k); view.redraw(); } };
    view.finished = (hand, px, py, shift) => {
      if (hand.drawn) { start({ curve: hand.drawn, formula: undefined, bumps: undefined }); return; }
      if (Math.hypot(px - hand.from[0], py - hand.from[1]) < 4 && view.shows !== "target") { view.clicked(px, py); return; }
      const bump = [+view.scale.ix(hand.from[0]).toFixed(2), +view.scale.iy(hand.from[1]).toFixed(2), shift ? -1 : 1];
      start({ bumps: [...(settings.bumps ?? []), bump] });
    };
  }
  const curves = () => {
    if (!history) return;
    const t = theme(), { values, shape: [count, members] } = history.arrays.loss, mine = context.look.member ?? 0, column = (s) => Array.from({ length: count }, (_, i) => values[i * members + s]);
    loss.show(history.times, [...Array.from({ length: members }, (_, s) => s).filter((s) => s !== mine).map((s) => ({ values: column(s), colour: t.line, width: 1 })), { values: column(mine), colour: t.accent, width: 2, label: `student ${mine}` }]);
  };
  return {
    views: [fit, wanted, loss],
    opened({ opened }) {
      settings = opened.settings;
      form.elements.formula.value = settings.formula ?? "";
      form.elements.formula.placeholder = settings.curve ? "the drawn curve" : settings.bumps ? "bumps alone" : "sin(2*x)";
      const two = settings.inputs === 2;
      parent.classList.toggle("two", two);
      wanted.card.hidden = !two;
      fit.hint.textContent = two ? "click: the story of a unit" : "drag: draw your own target";
      story.textContent = "";
      if (context.look.unit !== undefined) told(context.look.unit);
    },
    history(h) { history = h; if (!context.playing) curves(); },
    frame(f) {
      frame = f;
      fit.show(f);
      if (f.words.inputs > 1) wanted.show(f);
      const { fan_out: fan, units } = f.arrays, most = Math.max(...fan.values), idle = fan.values.filter((v) => v < 1e-2 * most).length;
      panel.show([["student", f.words.member], ["units", units.shape[0]], ["units that hardly matter", idle]], f.words.inputs > 1 ? "Lines: where a unit of this student bends its surface." : "Blue: this student; grey: the others; dots below: where its units bend it up (green) or down (red).");
      if (context.playing) { if (performance.now() - (this.at ?? 0) > 250) { this.at = performance.now(); curves(); } return; }
      fit.describe(`Target and the fits of the students; ${idle} of ${units.shape[0]} units of student ${f.words.member} hardly matter.`);
    },
    state({ playing }) { if (!playing) { curves(); if (context.look.unit !== undefined) told(context.look.unit); } },
    retheme: curves,
    key(event) {
      if (!frame || !/^[mu]$/i.test(event.key)) return;
      const back = event.shiftKey ? -1 : 1, turn = (v, n) => ((v ?? (back > 0 ? -1 : 0)) + back + n) % n, members = history.arrays.loss.shape[1];
      if (event.key.toLowerCase() === "m") { context.looked({ ...context.look, member: turn(context.look.member ?? 0, members) }); curves(); }
      else { const unit = turn(context.look.unit, frame.arrays.units.shape[0]); context.looked({ member: context.look.member ?? 0, unit }); told(unit); fit.redraw(); }
    },
    remove() { for (const v of this.views) v.remove(); },
  };
}
