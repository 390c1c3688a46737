// Exact expectations of relu units in the plane under x ~ N(0, I): loss, gradient and Hessian of students sum_k relu(w_k.x).
// Units are [x0, y0, x1, y1, ...]. With the angle t between w and v,
//   E relu(w.x) relu(v.x) = |w| |v| (sin t + (pi - t) cos t) / (2 pi)        (Zhu et al. 2021, section 2).
// In the plane sine and angle come from the cross product, which is accurate near 0 and pi.

const TURN = 2 * Math.PI;

/** E relu(w.x) relu(v.x). */
export function kernel(wx, wy, vx, vy) {
  const cross = Math.abs(wx * vy - wy * vx), along = wx * vx + wy * vy;
  return (cross + (Math.PI - Math.atan2(cross, along)) * along) / TURN;
}

/** Sum of kernels of all pairs of units of two sets. */
export function kernels(first, second) {
  let sum = 0;
  for (let i = 0; i < first.length; i += 2) for (let j = 0; j < second.length; j += 2) sum += kernel(first[i], first[i + 1], second[j], second[j + 1]);
  return sum;
}

/** J = 1/2 E (f* - f)^2. */
export const loss = (teacher, student) => kernels(student, student) / 2 + kernels(teacher, teacher) / 2 - kernels(student, teacher);

/** Minus the gradient of J with respect to every student unit, into `out`. */
export function velocity(teacher, student, out) {
  for (let i = 0; i < student.length; i += 2) {
    const wx = student[i], wy = student[i + 1], size = Math.hypot(wx, wy);
    let gx = 0, gy = 0;
    for (const [units, sign] of [[student, -1], [teacher, 1]]) {
      for (let j = 0; j < units.length; j += 2) {
        const vx = units[j], vy = units[j + 1], cross = Math.abs(wx * vy - wy * vx);
        const share = Math.PI - Math.atan2(cross, wx * vx + wy * vy), outward = size > 0 ? cross / (size * size) : 0;
        gx += sign * (share * vx + outward * wx);
        gy += sign * (share * vy + outward * wy);
      }
    }
    out[i] = gx / TURN;
    out[i + 1] = gy / TURN;
  }
  return out;
}

/**
 * The Hessian of J with respect to the student units, row by row. With u, v' the directions of w and v, n the unit of v
 * beside u and m that of u beside v':
 *   d2k/dw dw = |v| sin t / |w| (n n' + I - u u') / (2 pi),   d2k/dw dv = ((pi - t) I + v' m' + u n') / (2 pi);
 * in the plane n n' = I - u u'. Where w and v are parallel n and m are 0, their limit in the formulas.
 */
export function hessian(teacher, student) {
  const size = student.length, out = new Float64Array(size * size);
  for (let i = 0; i < size; i += 2) {
    const wx = student[i], wy = student[i + 1], w = Math.hypot(wx, wy), ux = wx / w, uy = wy / w;
    for (const [units, sign] of [[student, 1], [teacher, -1]]) {
      for (let j = 0; j < units.length; j += 2) {
        const vx = units[j], vy = units[j + 1], v = Math.hypot(vx, vy), cross = wx * vy - wy * vx, side = Math.sign(cross);
        const nx = -uy * side, ny = ux * side, bend = (2 * Math.abs(cross)) / (w * w) / TURN;
        const own = [bend * nx * nx, bend * nx * ny, bend * nx * ny, bend * ny * ny];
        for (let e = 0; e < 4; e++) out[(i + (e >> 1)) * size + i + (e & 1)] += sign * own[e];
        if (sign < 0) continue;
        const share = Math.PI - Math.atan2(Math.abs(cross), wx * vx + wy * vy), qx = vx / v, qy = vy / v, mx = qy * side, my = -qx * side;
        const other = [share + qx * mx + ux * nx, qx * my + ux * ny, qy * mx + uy * nx, share + qy * my + uy * ny];
        for (let e = 0; e < 4; e++) out[(i + (e >> 1)) * size + j + (e & 1)] += other[e] / TURN;
      }
    }
  }
  return out;
}

/** The least and the largest eigenvalue of a symmetric matrix, by Jacobi's rotations. */
export function extremes(matrix, size) {
  const a = Float64Array.from(matrix);
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0, all = 0;
    for (let p = 0; p < size; p++) for (let q = 0; q < size; q++) { const square = a[p * size + q] ** 2; all += square; if (p !== q) off += square; }
    if (off <= 1e-30 * all) break;
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) rotate(a, size, p, q);
  }
  const diagonal = Array.from({ length: size }, (_, p) => a[p * size + p]);
  return [Math.min(...diagonal), Math.max(...diagonal)];
}

/** The rotation of axes p and q that makes their common entry 0. */
function rotate(a, size, p, q) {
  const pq = a[p * size + q];
  if (pq === 0) return;
  const theta = (a[q * size + q] - a[p * size + p]) / (2 * pq), t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(1, theta)), c = 1 / Math.hypot(1, t), s = t * c;
  for (let k = 0; k < size; k++) {
    const kp = a[k * size + p], kq = a[k * size + q];
    a[k * size + p] = c * kp - s * kq;
    a[k * size + q] = s * kp + c * kq;
  }
  for (let k = 0; k < size; k++) {
    const pk = a[p * size + k], qk = a[q * size + k];
    a[p * size + k] = c * pk - s * qk;
    a[q * size + k] = s * pk + c * qk;
  }
}
