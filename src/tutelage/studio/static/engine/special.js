// Special functions that JavaScript lacks, in float64.

/**
 * The quantile of Student's t distribution with three degrees of freedom, whose distribution function is
 * F(t) = 1/2 + (atan(s) + s / (1 + s^2)) / pi with s = t / sqrt 3.
 */
export function studentQuantile(freedom, p) {
  if (freedom !== 3) throw new Error(`the quantile is known for 3 degrees of freedom, got ${freedom}`);
  const tail = Math.min(p, 1 - p); // where F is small it is found by its own tail: 1 - F = (atan(1/s) - s/(1+s^2)) / pi
  if (tail === 0.5) return 0;
  let s = tail < 0.05 ? (2 / (3 * Math.PI * tail)) ** (1 / 3) : Math.tan(Math.PI * (0.5 - tail)) * 0.6;
  for (let turn = 0; turn < 60; turn++) {
    const square = 1 + s * s, off = upperTail(s) - tail, slope = -2 / (Math.PI * square * square);
    const next = s - off / slope;
    if (!(next > 0)) { s /= 2; continue; }
    if (Math.abs(next - s) <= 1e-16 * next) { s = next; break; }
    s = next;
  }
  return (p < 0.5 ? -s : s) * Math.sqrt(3);
}

/** P[T > s sqrt 3] for three degrees of freedom, without cancellation for large s. */
function upperTail(s) {
  if (s < 8) return 0.5 - (Math.atan(s) + s / (1 + s * s)) / Math.PI;
  const q = 1 / (s * s); // atan(1/s) - s/(1+s^2) = sum_k (-1)^(k+1) 2k/(2k+1) s^-(2k+1)
  let sum = 0;
  for (let k = 14; k >= 1; k--) sum = ((2 * k) / (2 * k + 1)) * (k % 2 ? 1 : -1) + sum * q;
  return (sum * q) / (s * Math.PI);
}

const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

/** log Gamma(x) for x > 0 (Lanczos). */
export function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const t = x + 6.5;
  let sum = LANCZOS[0];
  for (let i = 1; i < 9; i++) sum += LANCZOS[i] / (x - 1 + i);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** log B(a, b). */
export const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);

/** The regularised incomplete beta function I_x(a, b) by its continued fraction (Lentz's method). */
export function incompleteBeta(a, b, x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const tiny = 1e-300;
  let c = 1, d = 1 - ((a + b) * x) / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let value = d;
  for (let m = 1; m < 500; m++) {
    for (const step of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 + step * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + step / c;
      if (Math.abs(c) < tiny) c = tiny;
      value *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return (value * Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b))) / a;
}
