// SHA-256 (FIPS 180-4) of a short ASCII text, as hexadecimal digits: pages that are files have no crypto.subtle.

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
const fraction = (x) => Math.floor((x - Math.floor(x)) * 4294967296) | 0;
const K = primes.map((p) => fraction(Math.cbrt(p))), H = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const turned = (x, by) => (x >>> by) | (x << (32 - by));

export function sha256(text) {
  const length = text.length, blocks = ((length + 8) >> 6) + 1, words = new Int32Array(16 * blocks), w = new Int32Array(64);
  for (let i = 0; i < length; i++) words[i >> 2] |= text.charCodeAt(i) << (24 - 8 * (i & 3));
  words[length >> 2] |= 0x80 << (24 - 8 * (length & 3));
  words[words.length - 1] = 8 * length;
  const hash = Int32Array.from(H);
  for (let block = 0; block < blocks; block++) {
    for (let t = 0; t < 64; t++) {
      if (t < 16) { w[t] = words[16 * block + t]; continue; }
      const a = w[t - 15], b = w[t - 2];
      w[t] = w[t - 16] + (turned(a, 7) ^ turned(a, 18) ^ (a >>> 3)) + w[t - 7] + (turned(b, 17) ^ turned(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let t = 0; t < 64; t++) {
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((v, i) => { hash[i] = (hash[i] + v) | 0; });
  }
  return Array.from(hash, (v) => (v >>> 0).toString(16).padStart(8, "0")).join("");
}
