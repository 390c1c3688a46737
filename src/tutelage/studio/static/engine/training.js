// Stochastic gradient descent of two-layer relu students in float32: plain, with momentum, or Adam.
// Members do not touch one another, so one after another is taken through all steps: its weights stay in the cache.

import { indices } from "./draws.js";
import { forward } from "./teachers.js";

const BOUND = 3.4028234663852886e38 ** (1 / 8); // of a weight, as in Python: outputs and their squares stay finite
const MOMENTUM = 0.9, BETA_1 = 0.9, BETA_2 = 0.999, EPSILON = 1e-8;

/**
 * What a member learns from: points [count, inputs], labels [count, outputs], the key of its batches, and the rule.
 * @typedef {{x: Float32Array, y: Float32Array, count: number, key: [number, number], rate: number, batch: number, optimiser: string}} Lesson
 */

const arraysOf = (net) => [net.w, net.b, net.v, net.c];

/** Copies of the arrays of a student or of what its optimiser remembers. */
export const copied = (net) => ({ ...net, w: net.w.slice(), b: net.b.slice(), v: net.v.slice(), c: net.c.slice() });

/** What an optimiser remembers at the start: zeros, one set of arrays per slot. */
export function memory(optimiser, net) {
  const zeros = () => ({ w: new Float32Array(net.w.length), b: new Float32Array(net.b.length), v: new Float32Array(net.v.length), c: new Float32Array(net.c.length) });
  return Array.from({ length: { sgd: 0, momentum: 1, adam: 2 }[optimiser] }, zeros);
}

/** Whether all weights are small enough; a NaN is not. */
export const bounded = (net) => arraysOf(net).every((array) => { for (const v of array) if (!(v <= BOUND && v >= -BOUND)) return false; return true; });

/** Arrays of a step, made once for students of one shape. */
class Room {
  constructor({ inputs, hidden, outputs }, batch) {
    Object.assign(this, { hidden, outputs, inputs, batch });
    this.rows = new Int32Array(batch);
    this.u = new Float64Array(hidden);
    this.f = new Float64Array(outputs);
    this.e = new Float64Array(hidden); // what comes back to the units from the outputs
    this.g = new Float64Array(outputs); // labels minus outputs
    this.dw = new Float64Array(inputs * hidden);
    this.dv = new Float64Array(hidden * outputs);
    this.db = new Float64Array(hidden);
    this.dc = new Float64Array(outputs);
    this.on = new Int32Array(hidden); // the units that are active on a sample
  }
}
let room = null;

/**
 * Take one student through the steps start .. stop-1, in place.
 * Invariant: before step t the arrays are those after t steps, however the way there was cut into calls.
 */
export function learn(net, slots, lesson, start, stop) {
  const { batch, count } = lesson;
  if (!room || room.hidden !== net.hidden || room.outputs !== net.outputs || room.inputs !== net.inputs || room.batch !== batch) room = new Room(net, batch);
  for (let t = start; t < stop; t++) {
    indices(lesson.key, room.rows, count, t * batch);
    descent(net, lesson, room);
    change(net, slots, lesson, room, t);
  }
}

/** Minus the gradient of the loss, summed over the batch, into the arrays d* of the room. */
function descent(net, { x, y, batch }, r) {
  const { inputs, hidden, outputs, v } = net, { rows, u, f, e, g, dw, dv, db, dc, on } = r;
  dw.fill(0); dv.fill(0); db.fill(0); dc.fill(0);
  for (let n = 0; n < batch; n++) {
    const first = rows[n] * inputs, at = rows[n] * outputs;
    forward(net, x, first, u, f);
    for (let o = 0; o < outputs; o++) dc[o] += g[o] = y[at + o] - f[o];
    let active = 0; // about half of the units: the others neither learn nor send anything back
    for (let k = 0; k < hidden; k++) {
      if (!(u[k] > 0)) continue;
      on[active++] = k;
      const row = k * outputs, h = u[k];
      let back = 0;
      for (let o = 0; o < outputs; o++) { back += g[o] * v[row + o]; dv[row + o] += h * g[o]; }
      e[k] = back;
      db[k] += back;
    }
    for (let i = 0; i < inputs; i++) {
      const xi = x[first + i], row = i * hidden;
      for (let a = 0; a < active; a++) dw[row + on[a]] += xi * e[on[a]];
    }
  }
}

/** The step of the optimiser from the sums of a batch. */
function change(net, slots, { rate, batch, optimiser }, { dw, db, dv, dc }, t) {
  const parts = [[net.w, dw, "w"], [net.b, db, "b"], [net.v, dv, "v"], [net.c, dc, "c"]];
  for (const [array, d, name] of parts) {
    if (optimiser === "sgd") {
      const share = rate / batch;
      for (let i = 0; i < array.length; i++) array[i] += share * d[i];
    } else if (optimiser === "momentum") {
      const kept = slots[0][name];
      for (let i = 0; i < array.length; i++) { kept[i] = MOMENTUM * kept[i] - d[i] / batch; array[i] -= rate * kept[i]; }
    } else {
      const m = slots[0][name], v = slots[1][name], late = 1 - BETA_2 ** (t + 1), share = rate / (1 - BETA_1 ** (t + 1));
      for (let i = 0; i < array.length; i++) {
        const slope = -d[i] / batch;
        m[i] += (1 - BETA_1) * (slope - m[i]);
        v[i] = BETA_2 * v[i] + (1 - BETA_2) * slope * slope;
        array[i] -= (share * m[i]) / (Math.sqrt(v[i] / late) + EPSILON);
      }
    }
  }
}
