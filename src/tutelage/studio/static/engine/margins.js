// Scene: which of the networks that fit labelled points does training pick? See tutelage.studio.scenes.margins.

import { key, normals, uniforms } from "./draws.js";
import { MarginCourse } from "./margin_flow.js";

const TICKS = 150, FIRST = -3, LAST = 60; // of log t
const GRID = 48, REACH = 3, EPS = 2 ** -52, TIE = 1e-12;
const NONE = 2; // the group of a unit that is neither inactive nor in the extremal sector of its sign

const time = (settings, tick) => FIRST + ((LAST - FIRST) * tick) / TICKS;

function given(points) {
  if (!Array.isArray(points) || points.length < 2 || points.length > 60) throw new Error("there must be 2 to 60 points: copy the link again");
  for (const point of points) {
    if (!Array.isArray(point) || point.length !== 3 || !point.every((v) => typeof v === "number" && Number.isFinite(v)) || Math.abs(point[2]) !== 1) throw new Error("a point is two numbers and a label, 1 or -1: copy the link again");
    const length = Math.hypot(point[0], point[1]);
    if (!(length > 1e-3 && length < 100)) throw new Error("a point must lie between 0.001 and 100 from the origin: drag it elsewhere");
  }
  for (const sign of [1, -1]) if (!points.some((p) => p[2] === sign)) throw new Error(`there is no point with the label ${sign > 0 ? "+1" : "-1"}: both classes are needed`);
  return points;
}

/** Points of a seed in two opposite quadrants, to four digits; null where all of them have one label. */
function drawn(seed, count) {
  for (let number = 4 * count; ; number *= 2) {
    const size = normals(key(seed, "orthant points"), 2 * number), label = uniforms(key(seed, "orthant labels"), number), out = [];
    for (let i = 0; i < number && out.length < count; i++) {
      const sign = label[i] < 0.5 ? 1 : -1, x = Math.abs(size[2 * i]) * sign, y = Math.abs(size[2 * i + 1]) * sign;
      if (x - y >= 0) out.push([x, y, sign]);
    }
    if (out.length === count) return out.every((p) => p[2] === out[0][2]) ? null : out.map(([x, y, sign]) => [rounded(x), rounded(y), sign]);
  }
}

/** To four digits, halves to even, as torch rounds. */
function rounded(v) {
  const scaled = v * 1e4, low = Math.floor(scaled);
  return (scaled - low === 0.5 ? low + (low & 1) : Math.round(scaled)) / 1e4;
}

/**
 * The shortest w with w.x >= 1 for all points of a class, or null: in the plane one or two points hold it.
 * Of the candidates that satisfy all conditions the shortest is the solution, since the problem is convex.
 */
function maxMargin(points) {
  let best = /** @type {{w: number[], size: number} | null} */ (null);
  const consider = (wx, wy) => {
    const size = Math.hypot(wx, wy);
    if (!Number.isFinite(size) || (best && size >= best.size)) return;
    if (points.every(([x, y]) => wx * x + wy * y >= 1 - 1e-12 * (1 + size * Math.hypot(x, y)))) best = { w: [wx, wy], size };
  };
  points.forEach(([ax, ay], i) => {
    const square = ax * ax + ay * ay;
    consider(ax / square, ay / square);
    for (const [bx, by] of points.slice(i + 1)) {
      const cross = ax * by - ay * bx;
      if (cross !== 0) consider((by - ay) / cross, (ax - bx) / cross);
    }
  });
  return best?.w ?? null;
}

/** Max-margin vectors of both classes, the points that hold them, and a sentence where one is missing. */
function limits(points) {
  const vectors = [1, -1].map((sign) => maxMargin(points.filter((p) => p[2] === sign)));
  const missing = vectors.findIndex((w) => w === null);
  if (missing >= 0) return { vectors: null, why: `The points labelled ${missing ? "-1" : "+1"} have no max-margin vector: 0 lies in their convex hull, so no w has w.x > 0 on all of them; drag one of them away.`, support: points.map(() => 0) };
  const support = points.map(([x, y, sign]) => {
    const [wx, wy] = vectors[sign > 0 ? 0 : 1];
    return Math.abs(wx * x + wy * y - 1) <= 1e-9 * (1 + Math.hypot(x, y) * Math.hypot(wx, wy)) ? 1 : 0;
  });
  return { vectors, support, why: "" };
}

function start(settings) {
  const p = settings.units, v = normals(key(settings.seed, "balanced directions"), 2 * p), signs = uniforms(key(settings.seed, "balanced signs"), p), w = new Float64Array(2 * p), a = new Float64Array(p);
  for (let j = 0; j < p; j++) {
    const length = Math.hypot(v[2 * j], v[2 * j + 1]);
    w[2 * j] = (v[2 * j] / length) * settings.scale;
    w[2 * j + 1] = (v[2 * j + 1] / length) * settings.scale;
    a[j] = (signs[j] < 0.5 ? 1 : -1) * settings.scale;
  }
  return { w, a };
}

const product = (a, b) => { const value = a[0] * b[0] + a[1] * b[1]; return Math.abs(value) <= 4 * EPS * Math.hypot(a[0], a[1]) * Math.hypot(b[0], b[1]) ? 0 : value; };

/** Pairs of points that violate orthogonal separability (Phuong 2021, eq. 3.1). */
function violations(points) {
  let count = 0;
  points.forEach((a, i) => points.slice(i).forEach((b) => { const value = product(a, b); count += Number(a[2] === b[2] ? value <= 0 : value > 0); }));
  return count;
}

/** Groups J_0, J_+ and J_- of Lemma 3.1 as 0, 1 and -1, and NONE for other units. */
function groups({ w, a }, points) {
  const extremal = [1, -1].map((sign) => points.map((p) => (p[2] === sign ? 1 : points.some((q) => q[2] === sign && product(p, q) < 0) ? -1 : 0)));
  return Array.from(a, (v, j) => {
    const sector = points.map(([x, y]) => { const height = w[2 * j] * x + w[2 * j + 1] * y; return Math.abs(height) <= TIE * Math.hypot(w[2 * j], w[2 * j + 1]) * Math.hypot(x, y) ? 0 : Math.sign(height); });
    if (sector.every((s) => s <= 0)) return 0;
    const wanted = v > 0 ? extremal[0] : extremal[1];
    return v !== 0 && sector.every((s, i) => s === wanted[i]) ? Math.sign(v) : NONE;
  });
}

const output = ({ w, a }, x, y) => { let sum = 0; for (let j = 0; j < a.length; j++) sum += a[j] * Math.max(0, w[2 * j] * x + w[2 * j + 1] * y); return sum; };
const half = ({ w, a }) => { let sum = 0; for (const v of w) sum += v * v; for (const v of a) sum += v * v; return Math.max(sum / 2, 1e-300); };

/** Cosine of every unit with the max-margin vector of its sign. */
function cosines({ w, a }, vectors) {
  return Float32Array.from(a, (v, j) => {
    if (!vectors) return NaN;
    const [x, y] = vectors[v > 0 ? 0 : 1], size = Math.max(Math.hypot(w[2 * j], w[2 * j + 1]) * Math.hypot(x, y), 1e-300);
    return (w[2 * j] * x + w[2 * j + 1] * y) / size;
  });
}

const lossAt = (loss, m) => (loss === "exponential" || m > 30 ? Math.exp(-m) : Math.log1p(Math.exp(-m)));
const array = (values, ...shape) => ({ values: Float32Array.from(values), shape });

export const margins = {
  hidden: ["points"],
  check(settings) { if (settings.points != null) settings.count = given(settings.points).length; },
  ticks: () => TICKS,
  time,
  start(settings) {
    let points = settings.points ?? null;
    for (let seed = settings.data_seed; points === null; seed++) points = drawn(seed, settings.count);
    const found = limits(points), net = start(settings), x = Float64Array.from(points.flatMap((p) => [p[0], p[1]])), y = Float64Array.from(points, (p) => p[2]);
    const shared = { points, ...found, course: found.vectors && new MarginCourse(x, y, net.w, net.a, settings.loss, 1e-6), kept: [net] };
    return { shared, net };
  },
  /** The course is followed as far as it is asked for, once: the state at a tick is a place on it. */
  advance(settings, state, tick) {
    const { shared } = state;
    while (shared.course && !shared.why && shared.kept.length <= tick + 1) {
      const t = Math.exp(time(settings, shared.kept.length));
      try { shared.course.to(t < 1e15 ? Math.log1p(t) : time(settings, shared.kept.length)); } catch (error) { shared.why = error.message; break; }
      shared.kept.push({ w: shared.course.w.slice(), a: shared.course.a.slice() });
    }
    return { shared, net: shared.kept[Math.min(tick + 1, shared.kept.length - 1)] };
  },
  mark(settings, { shared, net }) {
    const all = shared.points.map(([x, y, sign]) => sign * output(net, x, y));
    return { loss: array([all.reduce((sum, m) => sum + lossAt(settings.loss, m), 0)], 1), margin: array([Math.min(...all) / half(net)], 1), cosine: { values: cosines(net, shared.vectors), shape: [net.a.length] } };
  },
  frame(settings, { shared, net }) {
    const { points, vectors, support, why } = shared, p = net.a.length, n = points.length, field = new Float32Array(GRID * GRID), size = half(net);
    const side = (i) => -REACH + (2 * REACH * i) / (GRID - 1);
    for (let r = 0; r < GRID; r++) for (let c = 0; c < GRID; c++) field[r * GRID + c] = output(net, side(c), side(r)) / size;
    const arrays = {
      x: array(points.flatMap((q) => [q[0], q[1]]), n, 2), y: array(points.map((q) => q[2]), n), support: array(support, n), vectors: array(vectors ? vectors.flat() : [NaN, NaN, NaN, NaN], 2, 2),
      w: array(Array.from(net.w, (v, i) => (net.a[i >> 1] === 0 ? 0 : v)), p, 2), a: array(net.a, p), groups: array(shared.course ? groups(net, points) : net.a.map(() => NONE), p),
      cosine: { values: cosines(net, vectors), shape: [p] }, field: { values: field, shape: [GRID, GRID] }, margins: array(points.map(([x, y, sign]) => sign * output(net, x, y)), n), reach: array([REACH], 1),
    };
    const bad = violations(points);
    return [arrays, { note: why, violations: bad, separable: bad === 0, certified: { vectors: vectors?.flat() ?? null } }];
  },
  answer(settings, moment, question) { throw new Error(`this scene has no answer about '${question.about}'`); },
  size: () => 256,
};
