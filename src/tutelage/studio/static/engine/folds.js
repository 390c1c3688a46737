// Scene: a network of two inputs as its folds and regions. See tutelage.studio.scenes.folds.

import { key, normals } from "./draws.js";
import { enumerate, value } from "./regions.js";
import { sha256 } from "./sha256.js";

const TICKS = 60, GRID = 64, REACH = 3, LARGEST = 100;
const EPS = 2 ** -52, TIE = 64 * EPS; // roundings up to which two sorting keys count as equal
const ROUNDINGS = 16 * EPS; // by which a unit may differ from a multiple of another and be one

/** Halves to even, as Python rounds. */
const even = (v) => { const low = Math.floor(v); return v - low === 0.5 ? low + (low & 1) : Math.round(v); };

/** The network of a seed, weights to three digits. */
function drawn({ units, second, seed }) {
  const widths = [2, units, ...(second ? [second] : []), 1];
  return widths.slice(1).map((out, layer) => {
    const fan = widths[layer], z = normals(key(seed, `folds ${layer + 1}`), (fan + 1) * out);
    const w = Array.from({ length: fan }, (_, i) => Array.from({ length: out }, (_, k) => even((z[i * out + k] / Math.sqrt(fan)) * 1000) / 1000));
    return { w, b: Array.from({ length: out }, (_, k) => even(z[fan * out + k] * (layer ? 0.4 : 0.9) * 1000) / 1000) };
  });
}

const copy = (layers) => layers.map(({ w, b }) => ({ w: w.map((row) => row.slice()), b: b.slice() }));

/** Units of a hidden layer in another order: unit order[k] in place k. */
function reordered(layers, layer, order) {
  const out = copy(layers);
  out[layer] = { w: layers[layer].w.map((row) => order.map((k) => row[k])), b: order.map((k) => layers[layer].b[k]) };
  out[layer + 1].w = order.map((k) => layers[layer + 1].w[k].slice());
  return out;
}

/** Units of every hidden layer one place on. */
const permuted = (layers) => layers.slice(0, -1).reduce((now, { b }, layer) => reordered(now, layer, b.map((_, k) => (k + b.length - 1) % b.length)), layers);

/** The network on the straight path between both. */
function at({ network, end }, tick) {
  const share = tick / TICKS;
  if (share === 0 || share === 1) return share ? end : network;
  const mixed = (a, b) => (1 - share) * a + share * b;
  return network.map(({ w, b }, l) => ({ w: w.map((row, i) => row.map((v, k) => mixed(v, end[l].w[i][k]))), b: b.map((v, k) => mixed(v, end[l].b[k])) }));
}

/** Units of length 1 in a fixed order: the same for networks that differ by order and positive scale. */
function canonical(layers) {
  let now = copy(layers);
  const product = (vectors, stream) => { const z = normals(key(0, stream), vectors[0].length); return vectors.map((v) => v.reduce((sum, x, i) => sum + x * z[i], 0)); };
  for (let layer = 0; layer < now.length - 1; layer++) {
    now[layer].b.forEach((bias, k) => {
      const length = Math.sqrt(now[layer].w.reduce((sum, row) => sum + row[k] ** 2, bias * bias)) || 1, factor = 1 / length;
      for (const row of now[layer].w) row[k] *= factor;
      now[layer].b[k] *= factor;
      now[layer + 1].w[k] = now[layer + 1].w[k].map((v) => v / factor);
    });
  }
  for (let layer = 0; layer < now.length - 1; layer++) {
    const units = now[layer].b.map((bias, k) => [...now[layer].w.map((row) => row[k]), bias]);
    const above = now[layer + 1].w.map((row) => (layer + 2 < now.length ? row.slice().sort((a, b) => a - b) : row));
    const first = product(units, `canonical order ${layer}`), second = product(above, `canonical order above ${layer}`);
    const sorted = first.map((_, k) => k).sort((a, b) => first[a] - first[b]), group = [];
    sorted.forEach((k, place) => { group[k] = place ? group[sorted[place - 1]] + (first[k] - first[sorted[place - 1]] > TIE) : 0; });
    now = reordered(now, layer, sorted.sort((a, b) => group[a] - group[b] || second[a] - second[b]));
  }
  return now;
}

/** A number with six digits after the point, written as Python writes it. */
function written(v) {
  const number = Number(v.toFixed(6)), size = Math.abs(number);
  if (size === 0) return "0.0";
  if (size < 1e-4) return number.toExponential().replace(/e-(\d)$/, "e-0$1");
  return Number.isInteger(number) ? `${number}.0` : String(number);
}

/** Eight letters that stay the same under permutation and positive scaling, up to rounding. */
function fingerprint(layers) {
  const form = canonical(layers), lists = [...form.map(({ w }) => w.flat()), ...form.map(({ b }) => b)];
  return sha256(lists.map((list) => `[${list.map(written).join(", ")}]`).join("")).slice(0, 8);
}

const KINDS = {
  dead: "never active", linear: "on one side of the kink throughout, so only a linear map", constant: "constant for want of incoming weights",
  idle: "without fan-out", duplicate: "a positive multiple of another unit", mirror: "a negative multiple of another unit, from which it differs by a linear map",
};

/** For every hidden unit the kind of its redundancy on the square, and sentences. */
function redundant(layers, ranges) {
  const found = [];
  let first = 0;
  layers.slice(0, -1).forEach(({ w, b }, layer) => {
    const vector = (k) => [...w.map((row) => row[k]), b[k]], size = (v) => Math.hypot(...v), lines = b.map((_, k) => vector(k));
    b.forEach((_, k) => {
      const [low, high] = ranges[first + k], bare = w.every((row) => row[k] === 0), unseen = layers[layer + 1].w[k].every((v) => v === 0);
      const side = high <= 0 ? "dead" : low >= 0 ? (bare ? "constant" : "linear") : unseen ? "idle" : "";
      if (side) { found.push({ layer, unit: k, kind: side }); return; }
      for (let other = 0; other < k; other++) {
        const u = lines[k].map((v) => v / size(lines[k])), o = lines[other].map((v) => v / size(lines[other])), apart = (sign) => Math.max(...u.map((v, i) => Math.abs(v - sign * o[i])));
        const kind = apart(1) <= ROUNDINGS ? "duplicate" : apart(-1) <= ROUNDINGS ? "mirror" : "";
        if (kind) { found.push({ layer, unit: k, kind, other }); return; }
      }
    });
    first += b.length;
  });
  return found;
}

function changed(layers, event) {
  if ("permute" in event) return permuted(layers);
  const out = copy(layers), [{ w, b }, above] = out, count = b.length;
  const unit = (k) => { if (!Number.isInteger(k) || k < 0 || k >= count) throw new Error(`unit must be from 0 to ${count - 1}, got ${k}`); return k; };
  if ("scale" in event) {
    b.forEach((_, k) => { const factor = 2 ** (1 - 2 * (k % 2)); for (const row of w) row[k] *= factor; b[k] *= factor; above.w[k] = above.w[k].map((v) => v / factor); });
  } else if ("copy" in event) {
    const k = unit(event.copy), into = (k + 1) % count;
    for (const row of w) row[into] = 2 * row[k];
    b[into] = 2 * b[k];
  } else if ("unit" in event) {
    const k = unit(event.unit), to = Array.isArray(event.to) ? event.to : [];
    if (to.length !== 3) throw new Error(`a unit has two weights and a bias, got ${to.length} numbers`);
    for (const v of to) if (typeof v !== "number" || !(Math.abs(v) <= LARGEST)) throw new Error(`a weight must be a number from -${LARGEST} to ${LARGEST}, got ${String(v).slice(0, 30)}`);
    [w[0][k], w[1][k], b[k]] = to;
  } else throw new Error(`a change of this scene has a unit, copy, permute or scale, got ${Object.keys(event).join(", ") || "none"}`);
  return out;
}

const side = (i) => -REACH + (2 * REACH * i) / (GRID - 1);
const grid = (layers) => Float64Array.from({ length: GRID * GRID }, (_, at) => value(layers, side(at % GRID), side(Math.floor(at / GRID))));
const array = (values, ...shape) => ({ values: Float32Array.from(values), shape });
const apart = (a, b) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i])), 0);
const factorial = (n) => (n < 2 ? 1 : n * factorial(n - 1));

export const folds = {
  check() {},
  ticks: () => TICKS,
  time: (settings, tick) => Math.round((1000 * tick) / TICKS) / 10,
  start(settings) { const network = drawn(settings); return { network, end: permuted(network) }; },
  advance: (settings, state) => state,
  change(settings, state, tick, event) { const network = changed(at(state, tick), event); return [settings, { network, end: permuted(network) }]; },
  mark: (settings, state, tick) => ({ distance: array([apart(grid(at(state, tick)), grid(state.network))], 1) }),
  frame(settings, state, tick) {
    const layers = at(state, tick), { regions, segments, unit, ranges } = enumerate(layers, REACH), values = grid(layers), found = redundant(layers, ranges);
    const hidden = layers.slice(0, -1).map(({ b }) => b.length), first = [0, hidden[0]], kinds = Array(hidden.reduce((a, b) => a + b, 0)).fill(-1);
    for (const { layer, unit: k, kind } of found) kinds[first[layer] + k] = Object.keys(KINDS).indexOf(kind);
    const [{ w, b }, above] = layers, distance = apart(values, grid(state.network));
    const arrays = {
      segments: array(segments.flat(), segments.length, 4), segment_unit: array(unit, unit.length), value: array(values, GRID, GRID), distance: array([distance], 1),
      units: array(b.flatMap((bias, k) => [w[0][k], w[1][k], bias]), b.length, 3), fan_out: array(above.w.map((row) => Math.hypot(...row)), b.length), redundant: array(kinds, kinds.length), reach: array([REACH], 1),
    };
    const sentences = found.map(({ layer, unit: k, kind, other }) => `unit ${k} of layer ${layer + 1} is ${KINDS[kind]}${other === undefined ? "" : ` (unit ${other})`}`);
    const words = { note: "", regions: regions.length, fingerprint: fingerprint(layers), redundant: sentences, permutations: hidden.map(factorial).reduce((a, b) => a * b, 1), scalings: hidden.reduce((a, b) => a + b, 0), second: settings.second, certified: { distance } };
    return [arrays, words];
  },
  answer(settings, moment, question) { throw new Error(`this scene has no answer about '${question.about}'`); },
  size: () => 1024,
};
