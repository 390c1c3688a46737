// What is observed on two-layer students: correlations with teacher units, losses, and what became of a unit.

import { forward } from "./teachers.js";

export const RECOVERED = 0.95;
const EPS = 2 ** -23; // of float32, in which students are trained
const IDLE = 1e-3; // a unit is idle when it moves the output by less than this share of what all units move it
const NEAR = 0.1, WEAK = 0.1; // see tutelage.measures.diagnosis

/** Activations of the units on points without their mean, unit by unit, and one over their lengths (0: constant). */
export function centred(net, x, count) {
  const { hidden } = net, f = new Float64Array(hidden * count), inverse = new Float64Array(hidden), u = new Float64Array(hidden), top = new Float64Array(net.outputs);
  const outputs = new Float32Array(count * net.outputs);
  for (let n = 0; n < count; n++) {
    forward(net, x, n * net.inputs, u, top);
    outputs.set(top, n * net.outputs);
    for (let k = 0; k < hidden; k++) f[k * count + n] = u[k] > 0 ? u[k] : 0;
  }
  for (let k = 0; k < hidden; k++) {
    const from = k * count;
    let mean = 0, square = 0;
    for (let n = 0; n < count; n++) mean += f[from + n];
    mean /= count;
    for (let n = 0; n < count; n++) { f[from + n] -= mean; square += f[from + n] ** 2; }
    const length = Math.sqrt(square);
    inverse[k] = length <= 8 * EPS * Math.abs(mean) * Math.sqrt(count) || length === 0 ? 0 : 1 / length;
  }
  return { f, inverse, outputs };
}

/** Correlations of teacher units j and student units k, [m, n] row by row, into `out`. */
export function correlations(first, second, count, out) {
  const m = first.inverse.length, n = second.inverse.length, a = first.f, b = second.f;
  for (let k = 0; k < n; k++) {
    const right = k * count;
    for (let j = 0; j < m; j++) {
      const left = j * count;
      let sum = 0;
      for (let i = 0; i < count; i++) sum += a[left + i] * b[right + i];
      out[j * n + k] = Math.min(1, Math.max(-1, sum * first.inverse[j] * second.inverse[k]));
    }
  }
  return out;
}

/** Half the mean squared distance of outputs from those wanted. */
export function loss(wanted, got, count) {
  let sum = 0;
  for (let i = 0; i < wanted.length; i++) sum += (wanted[i] - got[i]) ** 2;
  return sum / (2 * count);
}

/** Lengths of what each hidden unit sends to the outputs. */
export function fanOut({ v, hidden, outputs }) {
  return Float32Array.from({ length: hidden }, (_, k) => {
    let square = 0;
    for (let o = 0; o < outputs; o++) square += v[k * outputs + o] ** 2;
    return Math.sqrt(square);
  });
}

/** What a student unit became: one of tutelage.measures.unit_classes. */
export function unitClass(net, x, count, rho, k) {
  const { hidden, outputs } = net, u = new Float64Array(hidden), f = new Float64Array(outputs);
  const total = new Float64Array(hidden), square = new Float64Array(hidden);
  let on = 0;
  for (let n = 0; n < count; n++) {
    forward(net, x, n * net.inputs, u, f);
    on += Number(u[k] > 0);
    for (let i = 0; i < hidden; i++) { const h = u[i] > 0 ? u[i] : 0; total[i] += h; square[i] += h * h; }
  }
  const fan = fanOut(net), size = Array.from(fan, (v, i) => v * Math.sqrt(Math.max(0, square[i] / count - (total[i] / count) ** 2)));
  if (on === 0) return "dead";
  if (size[k] <= IDLE * size.reduce((a, b) => a + b, 0)) return "idle";
  if (on === count) return "linear";
  const m = rho.length / hidden;
  let teacher = 0;
  for (let j = 1; j < m; j++) if (rho[j * hidden + k] > rho[teacher * hidden + k]) teacher = j;
  if (!(rho[teacher * hidden + k] > RECOVERED)) return "unspecialised";
  let best = 0;
  for (let i = 1; i < hidden; i++) if (rho[teacher * hidden + i] > rho[teacher * hidden + best]) best = i;
  return best === k ? "specialised" : "duplicate";
}

/** Why no student unit follows teacher unit j, in a sentence; counted on the training points. */
export function diagnosis(teacher, student, x, count, j, correlation) {
  const { inputs } = teacher, u = new Float64Array(teacher.hidden), top = new Float64Array(teacher.outputs);
  const su = new Float64Array(student.hidden), stop = new Float64Array(student.outputs);
  const heights = new Float64Array(count), active = new Float64Array(student.hidden), both = new Float64Array(student.hidden);
  let above = 0, mean = 0, square = 0;
  for (let n = 0; n < count; n++) {
    forward(teacher, x, n * inputs, u, top);
    forward(student, x, n * inputs, su, stop);
    heights[n] = u[j];
    above += Number(u[j] > 0);
    mean += u[j] / count;
    for (let k = 0; k < student.hidden; k++) if (su[k] > 0) { active[k] += 1; both[k] += Number(u[j] > 0); }
  }
  for (const v of heights) square += (v - mean) ** 2;
  const spread = Math.sqrt(square / count), near = heights.filter((v) => Math.abs(v) <= NEAR * spread).length;
  const samples = Math.min(above, count - above), observed = Math.max(...both.map((b, k) => Math.min(b, active[k] - b)));
  const strengths = fanOut(teacher), strongest = Math.max(...strengths), unknowns = inputs + 1;
  const many = (v) => v.toLocaleString("en"), digits = (v, d) => Number(v.toPrecision(d)).toString();
  let what, why;
  if (samples === 0) [what, why] = ["outside the data", "its boundary does not run through the training samples, which all lie on one side of it"];
  else if (observed === 0) [what, why] = ["unobserved", `no student is active on both sides of its boundary (${many(samples)} samples on the rarer side)`];
  else if (near < unknowns) [what, why] = ["starved", `only ${many(near)} training samples lie near its boundary, which has ${unknowns} unknowns`];
  else if (strengths[j] < WEAK * strongest) [what, why] = ["weak", `its strength ${digits(strengths[j], 3)} is ${digits(strengths[j] / strongest, 2)} of the strongest unit's ${digits(strongest, 3)}`];
  else [what, why] = ["not yet reached", `it is observed (${many(observed)} samples), sampled (${many(near)} near) and strong enough`];
  return `${what}: ${why}; best correlation ${correlation.toFixed(3)}`;
}
