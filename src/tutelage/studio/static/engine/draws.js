// Counter-based randomness: the same bits as tutelage.draws in Python, from integer products and correctly rounded
// operations alone. Draw c of a stream with key k is M(k + M(k + c gamma)), M the finaliser of SplitMix64.
// A 64-bit pattern is two halves of 32 bits, since JavaScript has no fast integers of 64.

import { blake2b64 } from "./blake2b.js";

const GOLDEN_H = 0x9e3779b9, GOLDEN_L = 0x7f4a7c15;

let hi = 0, lo = 0; // the result of the functions below, which return nothing so that nothing is allocated

/** The upper half of the product of two 32-bit numbers. */
function upper(a, b) {
  const a0 = a & 0xffff, a1 = a >>> 16, b0 = b & 0xffff, b1 = b >>> 16;
  const middle = a1 * b0 + ((a0 * b0) >>> 16), rest = a0 * b1 + (middle & 0xffff); // both below 2^32
  return (Math.imul(a1, b1) + (middle >>> 16) + (rest >>> 16)) >>> 0;
}

function multiply(h, l, bh, bl) {
  hi = (upper(l, bl) + Math.imul(l, bh) + Math.imul(h, bl)) >>> 0;
  lo = Math.imul(l, bl) >>> 0;
}

function add(h, l, bh, bl) {
  const low = l + bl;
  hi = (h + bh + (low > 0xffffffff ? 1 : 0)) >>> 0;
  lo = low >>> 0;
}

function mix(h, l) {
  multiply((h ^ (h >>> 30)) >>> 0, (l ^ ((l >>> 30) | (h << 2))) >>> 0, 0xbf58476d, 0x1ce4e5b9);
  multiply((hi ^ (hi >>> 27)) >>> 0, (lo ^ ((lo >>> 27) | (hi << 5))) >>> 0, 0x94d049bb, 0x133111eb);
  const high = hi;
  hi = (high ^ (high >>> 31)) >>> 0;
  lo = (lo ^ ((lo >>> 31) | (high << 1))) >>> 0;
}

/** 64 random bits of a stream at a counter below 2^53, into `hi` and `lo`. */
function bits(key, counter) {
  multiply(Math.floor(counter / 4294967296) >>> 0, counter >>> 0, GOLDEN_H, GOLDEN_L);
  add(key[0], key[1], hi, lo);
  mix(hi, lo);
  add(key[0], key[1], hi, lo);
  mix(hi, lo);
}

/**
 * The key of a member's stream: two halves of 32 bits.
 * @param {number} seed a whole number from 0 to 2^53
 * @param {string} stream
 * @returns {[number, number]}
 */
export function key(seed, stream) {
  const name = blake2b64(stream);
  add(Math.floor(seed / 4294967296) >>> 0, seed >>> 0, GOLDEN_H, GOLDEN_L);
  mix(hi, lo);
  add(hi, lo, name[0], name[1]);
  mix(hi, lo);
  return [hi, lo];
}

/** Uniform draws in (0, 1): the upper 52 bits as the middle of one of 2^52 equal cells. */
export function uniforms(of, count, start = 0) {
  const out = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    bits(of, start + i);
    out[i] = (hi * 1048576 + (lo >>> 12) + 0.5) * 2 ** -52;
  }
  return out;
}

/**
 * Normal draws, computed in float64; `Kind` Float32Array rounds them.
 * @param {Float64ArrayConstructor | Float32ArrayConstructor} Kind
 */
export function normals(of, count, Kind = Float64Array, start = 0) {
  const out = new Kind(count);
  for (let i = 0; i < count; i++) {
    bits(of, start + i);
    out[i] = quantile((hi * 1048576 + (lo >>> 12) + 0.5) * 2 ** -52);
  }
  return out;
}

/** Draws start .. start+count-1, uniform on 0 .. bound-1, into `out`. */
export function indices(of, out, bound, start = 0) {
  for (let i = 0; i < out.length; i++) {
    bits(of, start + i);
    out[i] = Math.floor((hi * bound) / 4294967296); // exact: hi * bound is below 2^53 for bounds below 2^21
  }
  return out;
}

// The normal quantile, algorithm AS 241 (Wichura 1988, PPND16).

const CENTRE = [
  [3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727],
  [1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867, 39307.89580009271061, 28729.085735721942674, 5226.495278852854561],
];
const TAIL = [
  [1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4],
  [1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455, 0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9],
];
const FAR = [
  [6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
  [1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525, 7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15],
];
const SERIES = Array.from({ length: 12 }, (_, k) => 2 / (2 * k + 1));

/** Horner's rule, constant coefficient first; product and sum are rounded separately. */
function polynomial(r, c) {
  let value = c[c.length - 1];
  for (let i = c.length - 2; i >= 0; i--) value = value * r + c[i];
  return value;
}
const eight = (r, c) => ((((((c[7] * r + c[6]) * r + c[5]) * r + c[4]) * r + c[3]) * r + c[2]) * r + c[1]) * r + c[0];
const rational = (r, c) => eight(r, c[0]) / eight(r, c[1]);

/** Natural logarithm of a number in (0, 1/2] by its odd series, as in Python: Math.log may round otherwise. */
function log(x) {
  let exponent = Math.floor(Math.log2(x)) + 1, m = x * 2 ** -exponent; // x = m 2^exponent, m in [1/2, 1)
  if (m >= 1) { m /= 2; exponent += 1; } // where the logarithm was rounded to the next whole number
  if (m < 0.5) { m *= 2; exponent -= 1; }
  if (m < 0.7071067811865476) { m *= 2; exponent -= 1; }
  const s = (m - 1) / (m + 1);
  return s * polynomial(s * s, SERIES) + exponent * 0.6931471805599453;
}

/** The inverse of the standard normal distribution function. */
export function quantile(p) {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) return q * rational(0.180625 - q * q, CENTRE);
  const r = Math.sqrt(-log(Math.min(p, 1 - p)));
  const far = r <= 5 ? rational(r - 1.6, TAIL) : rational(r - 5, FAR);
  return p < 0.5 ? -far : far;
}
