// Teachers whose weights take a few levels, small students and their inputs: the draws of tutelage in float32.

import { indices, key, normals, uniforms } from "./draws.js";
import { studentQuantile } from "./special.js";

const LEVELS = { five: [-0.5, -0.25, 0, 0.25, 0.5], wide: [-1, -0.5, 0, 0.5, 1] };
const OUTPUT_BIAS = -0.1;
const ATTEMPTS = 400; // redraws of a column that repeats an earlier one
const CORRELATION = 0.5; // of neighbouring coordinates of correlated inputs
const FREEDOM = 3; // of inputs with Student's t distribution

/**
 * Two layers of one network: w [inputs, hidden], b [hidden], v [hidden, outputs], c [outputs], row by row.
 * @typedef {{inputs: number, hidden: number, outputs: number, w: Float32Array, b: Float32Array, v: Float32Array, c: Float32Array}} Layers
 */

/** Columns of levels of one member, none zero and, if `distinct`, no two parallel: [columns][rows]. */
function columns(seed, layer, rows, count, levels, distinct, eitherWay) {
  const out = Array(count).fill(null);
  let bad = Array(count).fill(true);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const drawn = indices(key(seed, `teacher-${layer}-${attempt}`), new Int32Array(rows * count), levels.length);
    for (let j = 0; j < count; j++) if (bad[j]) out[j] = Array.from(drawn.subarray(j * rows, (j + 1) * rows), (i) => levels[i]);
    bad = out.map((column, j) => !column.some(Boolean) || (distinct && out.slice(0, j).some((other) => parallel(column, other, eitherWay))));
    if (!bad.some(Boolean)) return out;
  }
  throw new Error(`${count} distinct columns of ${rows} entries cannot be drawn from the levels [${levels.join(", ")}]: take wide levels, more inputs or fewer units`);
}

const size = (column) => Math.sqrt(column.reduce((sum, v) => sum + v * v, 0));

function parallel(first, second, eitherWay) {
  const cosine = first.reduce((sum, v, i) => sum + v * second[i], 0) / (size(first) * size(second) || 1e-300);
  return (eitherWay ? Math.abs(cosine) : cosine) > 1 - 1e-9;
}

/** The teacher of a seed. */
export function teacher(settings, seed) {
  const { dimension: inputs, units: hidden, outputs, polarity, bias } = settings, levels = LEVELS[settings.levels];
  const below = columns(seed, 1, inputs, hidden, levels, true, bias === 0), above = columns(seed, 2, outputs, hidden, levels, false);
  const net = empty(inputs, hidden, outputs);
  below.forEach((column, j) => { const length = size(column); column.forEach((v, i) => { net.w[i * hidden + j] = v / length; }); });
  above.forEach((column, j) => { const rank = (j + 1) ** polarity; column.forEach((v, o) => { net.v[j * outputs + o] = v / rank; }); });
  net.b.fill(bias);
  net.c.fill(OUTPUT_BIAS);
  return net;
}

/** @returns {Layers} */
export function empty(inputs, hidden, outputs) {
  return { inputs, hidden, outputs, w: new Float32Array(inputs * hidden), b: new Float32Array(hidden), v: new Float32Array(hidden * outputs), c: new Float32Array(outputs) };
}

/** A student at the start: normal weights of the given scale, biases 0. */
export function student(settings, seed) {
  const { dimension: inputs, outputs } = settings, hidden = width(settings), scale = Math.fround(settings.scale);
  const net = empty(inputs, hidden, outputs);
  for (const [array, layer] of /** @type {[Float32Array, number][]} */ ([[net.w, 1], [net.v, 2]])) {
    const drawn = normals(key(seed, `student-${layer}`), array.length, Float32Array); // the biases' draws come after these
    for (let i = 0; i < array.length; i++) array[i] = drawn[i] * scale;
  }
  return net;
}

/** Hidden units of a student; halves are rounded to even numbers, as Python does. */
export function width({ units, width_factor: factor }) {
  const exact = units * factor, low = Math.floor(exact);
  return Math.max(1, exact - low === 0.5 ? low + (low % 2) : Math.round(exact));
}

/** Points of one member's stream, [count, dimension] row by row. */
export function points(settings, seed, stream, count) {
  const { distribution, spread, dimension } = settings, of = key(seed, stream), total = count * dimension;
  const out = new Float32Array(total);
  if (distribution === "gaussian") {
    const drawn = normals(of, total, Float32Array), std = Math.fround(spread);
    for (let i = 0; i < total; i++) out[i] = drawn[i] * std;
  } else if (distribution === "uniform") {
    const drawn = uniforms(of, total);
    for (let i = 0; i < total; i++) out[i] = spread * (2 * drawn[i] - 1);
  } else if (distribution === "student-t") {
    const drawn = uniforms(of, total);
    for (let i = 0; i < total; i++) out[i] = spread * studentQuantile(FREEDOM, drawn[i]);
  } else {
    const drawn = normals(of, total);
    for (let n = 0; n < count; n++) shape(distribution, spread, drawn.subarray(n * dimension, (n + 1) * dimension), out, n * dimension);
  }
  return out;
}

function shape(distribution, spread, row, out, at) {
  let factor = spread;
  if (distribution === "sphere") {
    let square = 0;
    for (const v of row) square += v * v;
    const length = Math.sqrt(square);
    for (let i = 0; i < row.length; i++) out[at + i] = (spread * row[i]) / length;
    return;
  }
  const fresh = Math.sqrt(1 - CORRELATION ** 2); // each coordinate leans on the one before it
  for (let i = 0; i < row.length; i++) {
    if (i) row[i] = row[i] * fresh + CORRELATION * row[i - 1];
    out[at + i] = factor * row[i];
  }
}

/** Outputs of a network on points, [count, outputs]; `hidden` receives the activations, [count, hidden]. */
export function outputs(net, x, count, hidden = null) {
  const out = new Float32Array(count * net.outputs), u = new Float64Array(net.hidden), f = new Float64Array(net.outputs);
  for (let n = 0; n < count; n++) {
    forward(net, x, n * net.inputs, u, f);
    out.set(f, n * net.outputs);
    if (hidden) for (let k = 0; k < net.hidden; k++) hidden[n * net.hidden + k] = u[k] > 0 ? u[k] : 0;
  }
  return out;
}

/** Pre-activations u and outputs f of a network at the point that begins at `at`. */
export function forward(net, x, at, u, f) {
  const { inputs, hidden, outputs: count, w, b, v, c } = net;
  for (let k = 0; k < hidden; k++) u[k] = b[k];
  for (let i = 0; i < inputs; i++) {
    const xi = x[at + i], row = i * hidden;
    for (let k = 0; k < hidden; k++) u[k] += xi * w[row + k];
  }
  for (let o = 0; o < count; o++) f[o] = c[o];
  for (let k = 0; k < hidden; k++) {
    const h = u[k];
    if (!(h > 0)) continue;
    const row = k * count;
    for (let o = 0; o < count; o++) f[o] += h * v[row + o];
  }
}
