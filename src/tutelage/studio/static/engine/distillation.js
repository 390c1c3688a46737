// Scene: a linear student learns from a teacher's soft labels, one input more per tick. See tutelage.studio.scenes.distillation.
// The teacher is the first axis. What the student learns is the teacher's projection onto the span of the inputs
// (Phuong 2021, eq. 5.6), so it is enough to keep an orthonormal basis of that span.

import { key, normals, uniforms } from "./draws.js";
import { incompleteBeta, logBeta } from "./special.js";

const CURVE = 91; // points of the curve of p
const NODES = 401, REACH = 4; // of double-exponential quadrature
const GRID = 2001, REFINED = 4; // of the search for the best bound

/** p(theta) = P[angle(w_*, x) >= theta] of a task, the angles that have it, and from which angle on it is 0. */
function task({ task: kind, kappa, limit, dimension }) {
  const power = (theta) => Math.min(1, Math.max(0, 1 - (2 * theta) / Math.PI)) ** kappa;
  if (kind === "polynomial") return { p: power, angle: (u) => (Math.PI / 2) * (1 - u ** (1 / kappa)), widest: Math.PI / 2 };
  if (kind === "isotropic") return { p: (theta) => incompleteBeta(0.5, (dimension - 1) / 2, Math.min(1, Math.max(0, Math.cos(theta))) ** 2), widest: Math.PI / 2 };
  const widest = (limit * Math.PI) / 180, cut = (1 - (2 * widest) / Math.PI) ** kappa;
  return { p: (theta) => (theta >= widest ? 0 : Math.min(1, Math.max(0, (power(theta) - cut) / (1 - cut)))), angle: (u) => (Math.PI / 2) * (1 - (cut + (1 - cut) * u) ** (1 / kappa)), widest };
}

/** Input number i of a member's stream: a direction at a drawn angle with the teacher, and a length with its sign. */
function input(settings, keys, i) {
  const { dimension: d } = settings;
  if (settings.task === "isotropic") return normals(keys.directions, d, Float64Array, i * d);
  const a = task(settings).angle(uniforms(keys.angles, 1, i)[0]), length = normals(keys.lengths, 1, Float64Array, i)[0];
  const u = normals(keys.directions, d - 1, Float64Array, i * (d - 1)), x = new Float64Array(d);
  let square = 0;
  for (const v of u) square += v * v;
  const share = (length * Math.sin(a)) / Math.sqrt(square);
  x[0] = length * Math.cos(a);
  for (let j = 1; j < d; j++) x[j] = share * u[j - 1];
  return x;
}

/** The inputs of one member and an orthonormal basis of their span, made as far as they are asked for. */
class Stream {
  constructor(settings, seed) {
    this.settings = settings;
    this.keys = { angles: key(seed, "transfer angles"), lengths: key(seed, "transfer lengths"), directions: key(seed, "transfer directions") };
    this.inputs = [];
    this.basis = [];
    this.sums = [new Float64Array(settings.dimension)]; // the projection of the teacher after 0, 1, ... inputs
  }
  /** What the student has learnt from the first `count` inputs, [d]. */
  learnt(count) {
    const { dimension: d } = this.settings;
    while (this.sums.length <= count) {
      const x = input(this.settings, this.keys, this.inputs.length), q = x.slice(), sum = this.sums.at(-1).slice();
      this.inputs.push(x);
      if (this.basis.length < d) {
        for (let turn = 0; turn < 2; turn++) for (const b of this.basis) { // twice is enough for rounding
          let along = 0;
          for (let j = 0; j < d; j++) along += b[j] * q[j];
          for (let j = 0; j < d; j++) q[j] -= along * b[j];
        }
        let square = 0;
        for (const v of q) square += v * v;
        const length = Math.sqrt(square);
        for (let j = 0; j < d; j++) q[j] /= length;
        this.basis.push(q);
        for (let j = 0; j < d; j++) sum[j] += q[0] * q[j];
      }
      if (this.basis.length === d) { sum.fill(0); sum[0] = 1; }
      this.sums.push(sum);
    }
    return this.sums[count];
  }
}

/** Angle of w with the first axis, accurate near 0 and pi. */
function angle(w) {
  let square = 0;
  for (const v of w) square += v * v;
  const size = Math.sqrt(square);
  let apart = 0, along = 0;
  for (let j = 0; j < w.length; j++) { const u = w[j] / size, e = j ? 0 : 1; apart += (u - e) ** 2; along += (u + e) ** 2; }
  return 2 * Math.atan2(Math.sqrt(apart), Math.sqrt(along));
}

const logistic = (z) => (z > 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z)));
const nodes = Array.from({ length: NODES }, (_, i) => {
  const at = -REACH + (2 * REACH * i) / (NODES - 1), z = Math.PI * Math.sinh(at);
  return [logistic(z), logistic(-z), Math.PI * Math.cosh(at) * logistic(z) * logistic(-z) * ((2 * REACH) / (NODES - 1))];
});

/** R(alpha) = 1/2 E p(pi/2 - arctan(|t| tan alpha)), t a coordinate of a point on the sphere in d - 1 dimensions. */
function risk({ p, widest }, settings, alpha) {
  const { dimension: d } = settings;
  if (settings.task === "isotropic") return alpha / Math.PI;
  if (alpha > Math.PI / 2) return 1 - risk({ p, widest }, settings, Math.PI - alpha);
  if (d === 2) return p(Math.PI / 2 - alpha) / 2;
  const cot = widest < Math.PI / 2 ? Math.cos(widest) / Math.sin(widest) : 0, first = Math.min(1, Math.max(0, cot / Math.max(Math.tan(alpha), 1e-300)));
  const norm = logBeta(0.5, (d - 2) / 2);
  let sum = 0;
  for (const [share, rest, weight] of nodes) {
    const t = first + (1 - first) * share, left = (1 - first) * rest;
    const density = Math.exp(((Math.log(Math.max(left, 1e-300)) + Math.log1p(t)) * (d - 4)) / 2 - norm);
    sum += density * p(Math.PI / 2 - Math.atan2(t * Math.sin(alpha), Math.cos(alpha))) * weight * (1 - first);
  }
  return sum;
}

/** The least of p(beta) + p(pi/2 - beta)^n over beta (Phuong 2021, Theorem 5.3), by a grid that is refined. */
function bound({ p }, count) {
  let low = 0, high = Math.PI / 2, least = Infinity;
  for (let turn = 0; turn < REFINED; turn++) {
    const beta = (i) => (i === GRID - 1 ? high : low + ((high - low) * i) / (GRID - 1));
    let best = 0;
    least = Infinity;
    for (let i = 0; i < GRID; i++) { const value = p(beta(i)) + p(Math.max(Math.PI / 2 - beta(i), 0)) ** count; if (value < least) [least, best] = [value, i]; }
    [low, high] = [beta(Math.max(best - 1, 0)), beta(Math.min(best + 1, GRID - 1))];
  }
  return Math.min(least, 1);
}

function distilled(settings, shared, count) {
  const about = task(settings), w = shared.streams.map((stream) => stream.learnt(count)), angles = w.map(angle);
  if (!shared.bounds.has(count)) shared.bounds.set(count, count >= settings.dimension ? 0 : bound(about, count));
  return { shared, count, w, angles, risks: angles.map((a) => risk(about, settings, a)), bound: shared.bounds.get(count) };
}

const array = (values, ...shape) => ({ values: Float32Array.from(values), shape });
const split = (x) => { let square = 0; for (let j = 1; j < x.length; j++) square += x[j] ** 2; return [x[0], Math.sqrt(square)]; };
const marks = (state) => ({ angle: array(state.angles, state.angles.length), risk: array(state.risks, state.risks.length), bound: array([state.bound], 1) });

export const distillation = {
  check() {},
  ticks: ({ dimension: d }) => d + Math.max(2, Math.floor(d / 8)) - 1,
  time: (settings, tick) => tick + 1,
  start(settings) {
    const streams = Array.from({ length: settings.members }, (_, s) => new Stream(settings, settings.seed + s));
    return distilled(settings, { streams, bounds: new Map() }, 1);
  },
  advance: (settings, state, tick) => distilled(settings, state.shared, tick + 2),
  mark: (settings, state) => marks(state),
  frame(settings, state, tick, look) {
    const member = Number.isInteger(look.member) && look.member >= 0 && look.member < settings.members ? look.member : 0, { p } = task(settings);
    const inputs = state.shared.streams[member].inputs.slice(0, state.count).map(split), theta = Array.from({ length: CURVE }, (_, i) => ((Math.PI / 2) * i) / (CURVE - 1));
    const arrays = { ...marks(state), theta: array(theta, CURVE), p: array(theta.map(p), CURVE), sampled: array(inputs.map(([along, rest]) => Math.atan2(rest, Math.abs(along))), inputs.length), inputs: array(inputs.flat(), inputs.length, 2), student: array(state.w.flatMap(split), state.w.length, 2) };
    return [arrays, { note: "", member, n: state.count, d: settings.dimension, certified: { risk: state.risks[member], bound: state.bound } }];
  },
  answer(settings, moment, question) { throw new Error(`this scene has no answer about '${question.about}'`); },
  size: () => 1024,
};
