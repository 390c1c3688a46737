// Ordinary differential equations by Dormand and Prince's pair of orders 5 and 4 (1980), as tutelage.population.integrate.

export const NODES = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1];
export const STAGES = [
  [], [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9], [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656], [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
export const ERROR = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];
const SHRINK = 0.2, GROW = 5, SAFETY = 0.9;
const MOST = 100_000; // steps, after which the equation counts as too stiff

const meanSquareRoot = (count, square) => { let sum = 0; for (let i = 0; i < count; i++) sum += square(i) ** 2; return Math.sqrt(sum / count); };

/**
 * The state after some time from `start`.
 * @param {(state: Float64Array, out: Float64Array) => void} slope writes the derivative of a state into `out`
 * @param {Float64Array} start
 * @param {number} length the time
 * @param {{relative?: number, absolute?: number}} tolerances of every number of the state, per step
 * @returns {Float64Array}
 */
export function integrate(slope, start, length, { relative = 1e-8, absolute = 1e-10 } = {}) {
  const size = start.length, there = new Float64Array(size);
  let state = start.slice(), slopes = Array.from({ length: 7 }, () => new Float64Array(size)), now = 0;
  slope(state, slopes[0]);
  const scale = (i) => absolute + relative * Math.abs(state[i]);
  const big = meanSquareRoot(size, (i) => state[i] / scale(i)), fast = meanSquareRoot(size, (i) => slopes[0][i] / scale(i));
  let step = big > 1e-5 && fast > 1e-5 ? (0.01 * big) / fast : 1e-6;
  // Invariant: slopes[0] is the slope at `state`. The last stage of a step is the slope at its end, so a step that is
  // taken costs one evaluation less, and one that is rejected leaves the first valid.
  for (let taken = 0; now < length; taken++) {
    if (taken > MOST) throw new Error("the flow is too stiff to be followed: reset it, or move a unit");
    const left = length - now, last = step >= left, h = last ? left : step;
    for (let stage = 1; stage < 7; stage++) {
      const row = STAGES[stage];
      for (let i = 0; i < size; i++) {
        let sum = 0;
        for (let s = 0; s < stage; s++) sum += row[s] * slopes[s][i];
        there[i] = state[i] + h * sum;
      }
      slope(there, slopes[stage]);
    }
    let error = meanSquareRoot(size, (i) => {
      let off = 0;
      for (let s = 0; s < 7; s++) off += ERROR[s] * slopes[s][i];
      return (h * off) / (absolute + relative * Math.max(Math.abs(state[i]), Math.abs(there[i])));
    });
    if (!Number.isFinite(error)) error = Infinity;
    const good = error <= 1, factor = Math.min(GROW, Math.max(SHRINK, SAFETY * Math.max(error, 1e-10) ** -0.2));
    if (good) {
      state.set(there);
      [slopes[0], slopes[6]] = [slopes[6], slopes[0]];
      now = last ? length : now + h;
    }
    const proposed = h * (good ? factor : Math.min(1, factor));
    step = good && last ? Math.max(step, proposed) : proposed; // one cut short to end in time says little of the next
    if (step <= 1e-15 * (1 + now)) throw new Error(`the flow cannot be followed beyond time ${now.toPrecision(6)}: its step vanishes`);
  }
  return state;
}
