// Scene 4: a linear student distilled from a linear teacher, one more input per tick.

import { View, median, short, theme } from "./draw.js";
import { CurveView } from "./curves.js";
import { Facts } from "./facts.js";

/** The half plane of teacher direction against everything orthogonal to it: inputs and all students. */
class HalfPlane extends View {
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const s = this.axes(ctx, w, h, t, { x: [-1.15, 1.15], y: [0, 1.15], xlabel: "along the teacher", ylabel: "across", xticks: [-1, 0, 1], yticks: [0, 0.5, 1] });
    ctx.save();
    ctx.beginPath(); ctx.rect(s.left, s.top, s.right - s.left, s.bottom - s.top); ctx.clip();
    const a = f.arrays;
    ctx.fillStyle = t.soft; ctx.globalAlpha = 0.6;
    for (let i = 0; i < a.inputs.shape[0]; i++) { const [x, y] = [a.inputs.values[2 * i], a.inputs.values[2 * i + 1]], r = Math.hypot(x, y) || 1, q = 1.05; ctx.beginPath(); ctx.arc(s.x((x / r) * q), s.y((y / r) * q), 2.6, 0, 2 * Math.PI); ctx.fill(); }
    ctx.globalAlpha = 1;
    const ray = (x, y, colour, width, alpha) => { ctx.globalAlpha = alpha; ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.beginPath(); ctx.moveTo(s.x(0), s.y(0)); ctx.lineTo(s.x(x), s.y(y)); ctx.stroke(); ctx.globalAlpha = 1; };
    ray(1, 0, t.warm, 6, 0.9);
    for (let i = 0; i < a.student.shape[0]; i++) {
      const [x, y] = [a.student.values[2 * i], a.student.values[2 * i + 1]], mine = i === f.words.member;
      ray(x, y, mine ? t.accent : t.accent, mine ? 3 : 1, mine ? 1 : 0.35);
      ctx.fillStyle = t.accent; ctx.globalAlpha = mine ? 1 : 0.5; ctx.beginPath(); ctx.arc(s.x(x), s.y(y), mine ? 5 : 2.5, 0, 2 * Math.PI); ctx.fill(); ctx.globalAlpha = 1;
    }
    ctx.restore();
    ctx.font = "11px system-ui, sans-serif"; ctx.fillStyle = t.warm; ctx.textAlign = "right"; ctx.textBaseline = "bottom"; ctx.fillText("teacher", s.x(1), s.y(0) - 6);
  }
}

/** The share of inputs at an angle of theta or more, and the angles of the inputs of one student. */
class AnglesView extends View {
  draw(ctx, w, h, t) {
    const f = this.data;
    if (!f) return;
    const a = f.arrays, s = this.axes(ctx, w, h, t, { x: [0, 90], y: [0, 1.02], xlabel: "angle with the teacher θ, degrees", ylabel: "share beyond θ", xticks: [0, 30, 60, 90], yticks: [0, 0.5, 1] });
    ctx.strokeStyle = t.warm; ctx.lineWidth = 2.5; ctx.beginPath();
    for (let i = 0; i < a.theta.values.length; i++) { const [x, y] = [s.x((a.theta.values[i] * 180) / Math.PI), s.y(a.p.values[i])]; if (i) ctx.lineTo(x, y); else ctx.moveTo(x, y); }
    ctx.stroke();
    const sorted = Array.from(a.sampled.values).sort((p, q) => p - q), n = sorted.length;
    ctx.strokeStyle = t.accent; ctx.lineWidth = 1.5; ctx.beginPath(); ctx.moveTo(s.x(0), s.y(1));
    sorted.forEach((v, i) => { const x = s.x((v * 180) / Math.PI); ctx.lineTo(x, s.y(1 - i / n)); ctx.lineTo(x, s.y(1 - (i + 1) / n)); });
    ctx.lineTo(s.x(90), s.y(0)); ctx.stroke();
    ctx.fillStyle = t.accent;
    for (const v of sorted) ctx.fillRect(s.x((v * 180) / Math.PI) - 0.5, s.bottom - 7, 1, 7);
  }
}

export function distillation(parent, context) {
  const half = new HalfPlane(parent, { title: "Students and teacher", area: "plane", name: "students", hint: "grey: inputs" });
  const angles = new AnglesView(parent, { title: "Angles of the inputs", area: "loss", name: "inputs", hint: "blue: of one student" });
  const risk = new CurveView(parent, { title: "Transfer risk", area: "risk", name: "risk", xlabel: "samples n", ylabel: "risk", log: true });
  const turn = new CurveView(parent, { title: "Angle between student and teacher", area: "angles", name: "angle", xlabel: "samples n", ylabel: "degrees", yrange: () => [0, 92] });
  const panel = new Facts(parent, "These students", "story");
  let history;
  const curves = () => {
    if (!history?.arrays.risk) return;
    const t = theme(), { shape: [count, members] } = history.arrays.risk, grey = t.dark ? "#444c56" : "#c9d1d9";
    const column = (name, s, f = 1) => Array.from({ length: count }, (_, i) => history.arrays[name].values[i * members + s] * f);
    const middle = (name, f = 1) => Array.from({ length: count }, (_, i) => median(history.arrays[name].values.subarray(i * members, (i + 1) * members)) * f);
    const mean = Array.from({ length: count }, (_, i) => history.arrays.risk.values.subarray(i * members, (i + 1) * members).reduce((a, b) => a + b, 0) / members);
    const some = Array.from({ length: Math.min(members, 48) }, (_, s) => s), degrees = 180 / Math.PI;
    risk.show(history.times, [...some.map((s) => ({ values: column("risk", s), colour: grey, width: 1 })), { values: mean, colour: t.accent, width: 2.5, label: "mean risk" }, { values: history.arrays.bound.values, colour: t.warm, width: 2.5, dash: [6, 4], label: "bound of Theorem 5.3" }]);
    turn.show(history.times, [...some.map((s) => ({ values: column("angle", s, degrees), colour: grey, width: 1 })), { values: middle("angle", degrees), colour: t.accent, width: 2.5, label: "median" }]);
  };
  return {
    views: [half, angles, risk, turn],
    history(h) { history = h; curves(); },
    frame(f) {
      half.data = angles.data = f;
      half.redraw();
      angles.redraw();
      const a = f.arrays, mean = a.risk.values.reduce((x, y) => x + y, 0) / a.risk.values.length, whole = f.words.n >= f.words.d;
      const sentence = whole ? "With as many inputs as dimensions the student is the teacher." : "The student is the teacher's projection onto the span of its inputs.";
      panel.show([["samples n", f.words.n], ["dimensions d", f.words.d], ["mean risk", short(mean)], ["largest risk", short(Math.max(...a.risk.values))], ["bound", short(a.bound.values[0])], ["median angle", `${short((median(a.angle.values) * 180) / Math.PI)}°`]], sentence);
      if (!context.playing) half.describe(`Students and teacher: median angle ${short((median(a.angle.values) * 180) / Math.PI)} degrees after ${f.words.n} samples.`);
    },
    retheme: curves,
    key(event) { if (/^m$/i.test(event.key) && half.data) { const n = half.data.arrays.risk.shape[0]; context.looked({ member: (half.data.words.member + (event.shiftKey ? n - 1 : 1)) % n }); } },
    remove() { for (const v of this.views) v.remove(); },
  };
}
