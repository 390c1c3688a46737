// Gradient flow of a two-layer relu network on labelled points in the plane, to times like 1e26 (Phuong 2021, eqs.
// 3.2-3.5): the loop of tutelage.margins._flow_loops for one network and two inputs, where the reasoning stands.
// The clock is tau = log(1 + t). Between two events the pattern of active samples is fixed and the equations are
// smooth. An event is a unit that meets the boundary of a sample; it passes, or slides along it (tied).

import { ERROR, NODES, STAGES } from "./integrate.js";

const OFF = 0, ON = 1, TIED = 2;
const UNBALANCED = 1e-6; // of |w|^2: how far a^2 may be from it
const SWEEPS = 500, NEAR = 1e-7, LANDED = 1e-10; // of |w||x|: has met a boundary; is beyond it
const MOST = 20_000; // steps, after which a course is given up

const logSlope = (loss, m) => (loss === "exponential" ? -m : m > 0 ? -(m + Math.log1p(Math.exp(-m))) : -Math.log1p(Math.exp(m)));

/** One course: the network, what it is tied to, and the arrays of a step. */
export class MarginCourse {
  /**
   * @param {Float64Array} x points, two numbers each
   * @param {Float64Array} y labels +1 and -1
   * @param {Float64Array} w first layer, two numbers per unit
   * @param {Float64Array} a second layer
   * @param {string} loss "logistic" or "exponential"
   * @param {number} relative tolerance of a step
   */
  constructor(x, y, w, a, loss, relative) {
    const n = y.length, p = a.length;
    this.x = x;
    this.y = y;
    this.loss = loss;
    this.relative = relative;
    this.n = n;
    this.p = p;
    this.w = w.slice();
    this.a = a.slice();
    this.tau = 0;
    this.step = 1e-6;
    this.taken = 0;
    const size = (i) => Math.hypot(x[2 * i], x[2 * i + 1]);
    this.length = Float64Array.from({ length: n }, (_, i) => size(i));
    this.pattern = Int8Array.from({ length: p * n }, (_, at) => { const j = Math.floor(at / n), i = at % n, h = this.dot(w, j, i); return h > 1e-12 * Math.hypot(w[2 * j], w[2 * j + 1]) * size(i) ? ON : OFF; });
    this.balanced = Array.from(a, (v, j) => { const square = w[2 * j] ** 2 + w[2 * j + 1] ** 2; return Math.abs(v * v - square) <= UNBALANCED * square; });
    this.kw = Array.from({ length: 7 }, () => new Float64Array(2 * p));
    this.ka = Array.from({ length: 7 }, () => new Float64Array(p));
    this.w1 = new Float64Array(2 * p);
    this.a1 = new Float64Array(p);
    this.height = new Float64Array(p * n);
    this.before = new Float64Array(p * n);
    this.pull = new Float64Array(n);
    this.slope(0, this.w, this.a, this.kw[0], this.ka[0]);
  }
  dot(v, j, i) { return v[2 * j] * this.x[2 * i] + v[2 * j + 1] * this.x[2 * i + 1]; }
  heights(w, out) { for (let j = 0; j < this.p; j++) for (let i = 0; i < this.n; i++) out[j * this.n + i] = this.dot(w, j, i); }
  tied(j) { const out = []; for (let i = 0; i < this.n; i++) if (this.pattern[j * this.n + i] === TIED) out.push(i); return out; }

  /** (1 + t) y_i |l_i'| of samples that some unit is active on or tied to, 0 for others. */
  pulls(tau, a) {
    const { n, p, pattern, height, pull, y } = this;
    for (let i = 0; i < n; i++) {
      let output = 0, seen = false;
      for (let j = 0; j < p; j++) { const state = pattern[j * n + i]; if (state !== OFF) seen = true; if (state === ON) output += a[j] * height[j * n + i]; }
      pull[i] = seen ? y[i] * Math.exp(Math.min(tau + logSlope(this.loss, y[i] * output), 700)) : 0;
    }
  }
  /**
   * a_j times the pulls of the active samples of unit j, before ties are taken out.
   * @returns {[number, number]}
   */
  plain(j, a) {
    let sx = 0, sy = 0;
    for (let i = 0; i < this.n; i++) if (this.pattern[j * this.n + i] === ON) { sx += this.pull[i] * this.x[2 * i]; sy += this.pull[i] * this.x[2 * i + 1]; }
    return [a[j] * sx, a[j] * sy];
  }
  /** What is left of a vector beside the tied samples: in the plane two that are not parallel leave nothing. */
  beside([vx, vy], tied) {
    if (!tied.length) return [vx, vy];
    const { x } = this, b = tied[0], cross = tied.slice(1).some((i) => Math.abs(x[2 * b] * x[2 * i + 1] - x[2 * b + 1] * x[2 * i]) > 1e-14 * this.length[b] * this.length[i]);
    if (cross) return [0, 0];
    const share = (vx * x[2 * b] + vy * x[2 * b + 1]) / this.length[b] ** 2;
    return [vx - share * x[2 * b], vy - share * x[2 * b + 1]];
  }
  /** Speeds in tau. */
  slope(tau, w, a, dw, da) {
    this.heights(w, this.height);
    this.pulls(tau, a);
    for (let j = 0; j < this.p; j++) {
      const [sx, sy] = this.beside(this.plain(j, a), this.tied(j));
      dw[2 * j] = sx;
      dw[2 * j + 1] = sy;
      let total = 0;
      for (let i = 0; i < this.n; i++) if (this.pattern[j * this.n + i] === ON) total += this.pull[i] * this.height[j * this.n + i];
      da[j] = total;
    }
  }

  /** New states of the samples that unit j is tied to, by the shortest speed they allow (Phuong 2021, eq. B.23). */
  settle(j) {
    const { x, n, pattern, pull, a } = this, tied = this.tied(j), q = tied.map(() => 0);
    let [vx, vy] = this.plain(j, a);
    const square = (i) => x[2 * i] ** 2 + x[2 * i + 1] ** 2;
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      let moved = 0;
      tied.forEach((i, b) => {
        const c = a[j] * pull[i], next = Math.min(1, Math.max(0, q[b] - (vx * x[2 * i] + vy * x[2 * i + 1]) / (c * square(i)))), change = (next - q[b]) * c;
        vx += change * x[2 * i];
        vy += change * x[2 * i + 1];
        moved = Math.max(moved, change * change * square(i));
        q[b] = next;
      });
      if (moved <= 1e-28 * (vx * vx + vy * vy)) break;
    }
    tied.forEach((i, b) => {
      const away = vx * x[2 * i] + vy * x[2 * i + 1];
      if ((q[b] === 0 || q[b] === 1) && away * away > 1e-16 * (vx * vx + vy * vy) * square(i)) pattern[j * n + i] = q[b] === 0 ? OFF : ON;
    });
  }
  /** Ask every sliding unit again what it is tied to, and put it on those boundaries, its length kept. */
  settleAll() {
    if (!this.pattern.includes(TIED)) return;
    this.heights(this.w, this.height);
    this.pulls(this.tau, this.a);
    for (let j = 0; j < this.p; j++) {
      if (!this.tied(j).length) continue;
      this.settle(j);
      const tied = this.tied(j);
      if (!tied.length) continue;
      const length = Math.hypot(this.w[2 * j], this.w[2 * j + 1]), [wx, wy] = this.beside([this.w[2 * j], this.w[2 * j + 1]], tied), factor = length / Math.hypot(wx, wy);
      this.w[2 * j] = factor * wx;
      this.w[2 * j + 1] = factor * wy;
    }
  }

  /** One step from (w, a) into (w1, a1); its error in tolerances. */
  tryStep(h) {
    const { w, a, w1, a1, kw, ka, p } = this;
    for (let stage = 1; stage < 7; stage++) {
      const row = STAGES[stage];
      for (let k = 0; k < 2 * p; k++) { let sum = 0; for (let b = 0; b < stage; b++) sum += row[b] * kw[b][k]; w1[k] = w[k] + h * sum; }
      for (let j = 0; j < p; j++) { let sum = 0; for (let b = 0; b < stage; b++) sum += row[b] * ka[b][j]; a1[j] = a[j] + h * sum; }
      this.slope(this.tau + NODES[stage] * h, w1, a1, kw[stage], ka[stage]);
    }
    let worst = 0;
    for (let j = 0; j < p; j++) {
      let off = 0, ex = 0, ey = 0, ea = 0;
      for (let b = 0; b < 7; b++) { ex += ERROR[b] * kw[b][2 * j]; ey += ERROR[b] * kw[b][2 * j + 1]; ea += ERROR[b] * ka[b][j]; }
      off = ex * ex + ey * ey + ea * ea;
      if (!(off < Infinity)) return Infinity;
      if (off > 0) worst = Math.max(worst, (h * Math.sqrt(off)) / (this.relative * Math.sqrt(w[2 * j] ** 2 + w[2 * j + 1] ** 2 + a[j] * a[j])));
    }
    return worst;
  }
  /** The earliest boundary passed within a step: [unit, sample, share of the step], unit -1 where none was. */
  firstEvent(h) {
    const { w, w1, kw, n, p, pattern, before, height } = this;
    let found = [-1, -1, 2];
    this.heights(w, before);
    this.heights(w1, height);
    for (let j = 0; j < p; j++) {
      const length = Math.hypot(w1[2 * j], w1[2 * j + 1]);
      for (let i = 0; i < n; i++) {
        const u0 = before[j * n + i], u1 = height[j * n + i], slack = LANDED * length * this.length[i];
        const moved = Math.abs(u1 - u0) > 1e-3 * slack ? u1 - u0 : 0, state = pattern[j * n + i]; // else by rounding alone
        if (!((state === ON && u1 < -slack && moved < 0) || (state === OFF && u1 > slack && moved > 0))) continue;
        const at = crossing(u0, h * this.dot(kw[0], j, i), u1, h * this.dot(kw[6], j, i));
        if (at < found[2]) found = [j, i, at];
      }
    }
    return found;
  }
  /** Shorten a step until its end is the first boundary: unit and sample that meet there, how often, the step. */
  toFirstEvent(step) {
    let unit = -1, sample = -1, tries = 0, [j, i, share] = this.firstEvent(step);
    while (j >= 0 && tries < 40) {
      [unit, sample] = [j, i];
      step *= share;
      tries += 1;
      this.tryStep(step);
      if (share === 0) break;
      [j, i, share] = this.firstEvent(step);
    }
    if (unit >= 0 && Math.abs(this.dot(this.w1, unit, sample)) > NEAR * Math.hypot(this.w1[2 * unit], this.w1[2 * unit + 1]) * this.length[sample]) unit = -1;
    return [unit, sample, tries, step];
  }

  /** Follow the flow to a later tau. */
  to(target) {
    while (this.tau < target) {
      if (this.taken++ >= MOST) throw new Error("these points make the flow too stiff to be followed: drag a point");
      let last = this.step >= target - this.tau, h = last ? target - this.tau : this.step;
      const error = this.tryStep(h);
      if (!(error <= 1)) {
        this.step = h * (error < 1e30 ? Math.max(0.2, 0.9 * error ** -0.2) : 0.2);
        if (this.step < 1e-15 * (1 + this.tau)) throw new Error("no step is short enough to follow the flow in double precision: drag a point");
        continue;
      }
      const [unit, sample, tries, shorter] = this.toFirstEvent(h);
      last = last && tries === 0;
      this.tau = last ? target : this.tau + shorter;
      this.w.set(this.w1);
      this.a.set(this.a1);
      this.balanced.forEach((is, j) => { // units that shrank until rounding tells |a| from |w| are made balanced again
        const square = this.w[2 * j] ** 2 + this.w[2 * j + 1] ** 2;
        if (is && Math.abs(this.a[j] ** 2 - square) > UNBALANCED * square) this.a[j] = Math.sign(this.a[j]) * Math.sqrt(square);
      });
      this.step = tries > 0 ? Math.max(this.step, shorter) : shorter * Math.min(5, 0.9 * Math.max(error, 1e-10) ** -0.2);
      if (unit >= 0) { // passes where the sample pulls it on, else is tied until settled
        const at = unit * this.n + sample;
        this.pattern[at] = this.a[unit] * this.y[sample] > 0 ? (this.pattern[at] === OFF ? ON : OFF) : TIED;
      }
      this.settleAll();
      this.slope(this.tau, this.w, this.a, this.kw[0], this.ka[0]);
    }
  }
}

const cubic = (s, u0, v0, u1, v1) => (1 + 2 * s) * (1 - s) ** 2 * u0 + s * (1 - s) ** 2 * v0 + s * s * (3 - 2 * s) * u1 + s * s * (s - 1) * v1;

/** The share of the step at which the cubic through both ends and speeds last comes to the side of u1. */
function crossing(u0, v0, u1, v1) {
  let low = 0, high = 1;
  for (let back = 15; back > 0; back--) if (cubic(back / 16, u0, v0, u1, v1) > 0 !== u1 > 0) { low = back / 16; break; }
  if (low === 0 && (u0 === 0 || u0 > 0 === u1 > 0)) return v0 * u1 > 0 ? 0 : 1 / 32;
  for (let turn = 0; turn < 60; turn++) {
    const s = (low + high) / 2;
    if (cubic(s, u0, v0, u1, v1) > 0 === u1 > 0) high = s;
    else low = s;
  }
  return high;
}
