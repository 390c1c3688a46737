// The regions of a relu network of two inputs on a square: convex polygons, one per pattern of active units.
// A network is a list of layers { w: [in][out], b: [out] }.

const SLIVER = 1e-12; // of the reach: a cut this close to a corner goes through the corner

/** Cut a convex polygon by ax + by + c = 0: [the part above or null, the part below or null, the cut or null]. */
function cut(polygon, [a, b, c], reach) {
  const slack = SLIVER * reach * (Math.abs(a) + Math.abs(b) + Math.abs(c)), heights = polygon.map(([x, y]) => { const h = a * x + b * y + c; return Math.abs(h) <= slack ? 0 : h; });
  if (heights.every((h) => h >= 0)) return [polygon, null, null];
  if (heights.every((h) => h <= 0)) return [null, polygon, null];
  const above = [], below = [], ends = [];
  polygon.forEach((corner, i) => {
    const next = (i + 1) % polygon.length, h = heights[i], g = heights[next];
    if (h >= 0) above.push(corner);
    if (h <= 0) below.push(corner);
    if (h === 0) ends.push(corner);
    if (h * g < 0) {
      const share = h / (h - g), place = [corner[0] + share * (polygon[next][0] - corner[0]), corner[1] + share * (polygon[next][1] - corner[1])];
      above.push(place);
      below.push(place);
      ends.push(place);
    }
  });
  return [above, below, ends.length === 2 ? ends : null];
}

/**
 * All regions, pieces of folds, and the range of every hidden unit's pre-activation on the square.
 * Invariant: the pieces are disjoint, cover the square, and on each of them the units so far are affine.
 * @returns {{regions: {corners: number[][], map: number[]}[], segments: number[][], unit: number[], ranges: [number, number][]}}
 */
export function enumerate(layers, reach) {
  let pieces = [{ corners: [[-reach, -reach], [reach, -reach], [reach, reach], [-reach, reach]], below: [[1, 0, 0], [0, 1, 0]] }];
  const segments = [], unit = [], ranges = /** @type {[number, number][]} */ ([]);
  let first = 0;
  for (const [depth, { w, b }] of layers.entries()) {
    const width = b.length, affine = (piece, k) => piece.below.reduce((sum, f, i) => sum.map((v, e) => v + w[i][k] * f[e]), [0, 0, b[k]]);
    if (depth === layers.length - 1) return { regions: pieces.map((piece) => ({ corners: piece.corners, map: affine(piece, 0) })), segments, unit, ranges };
    const low = Array(width).fill(Infinity), high = Array(width).fill(-Infinity), next = [];
    for (const piece of pieces) {
      const lines = Array.from({ length: width }, (_, k) => affine(piece, k));
      lines.forEach(([p, q, c], k) => piece.corners.forEach(([x, y]) => { const h = p * x + q * y + c; low[k] = Math.min(low[k], h); high[k] = Math.max(high[k], h); }));
      let parts = [{ corners: piece.corners, below: [] }];
      lines.forEach((line, k) => {
        parts = parts.flatMap((part) => {
          const [above, below, ends] = cut(part.corners, line, reach);
          if (ends) { segments.push(ends.flat()); unit.push(first + k); }
          return [above && { corners: above, below: [...part.below, line] }, below && { corners: below, below: [...part.below, [0, 0, 0]] }].filter(Boolean);
        });
      });
      next.push(...parts);
    }
    pieces = next;
    for (let k = 0; k < width; k++) ranges.push([low[k], high[k]]);
    first += width;
  }
  throw new Error("a network has at least one layer");
}

/** The output at a point. */
export function value(layers, x, y) {
  let f = [x, y];
  layers.forEach(({ w, b }, depth) => { f = b.map((bias, k) => { let sum = bias; for (let i = 0; i < f.length; i++) sum += f[i] * w[i][k]; return depth < layers.length - 1 && sum < 0 ? 0 : sum; }); });
  return f[0];
}
