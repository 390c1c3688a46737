// The five steps of every tour, per scene: where on the timeline, what to look at, a question, and the answer, which is
// computed from the frame that is shown, so that it is true for any seed.

const RECOVERED = 0.95;
const count = (values, test) => { let n = 0; for (const v of values) n += test(v); return n; };
const finite = (values) => Array.from(values).filter(Number.isFinite);
const mean = (values) => finite(values).reduce((a, b) => a + b, 0) / Math.max(1, finite(values).length);
const percent = (share) => `${Math.round(100 * share)} %`;
const digits = (v) => Number(v.toPrecision(2)).toString();
const third = (share) => (share < 1 / 3 ? 0 : share < 2 / 3 ? 1 : 2);
const THIRDS = ["fewer than a third", "about half", "more than two thirds"];
const YES = ["yes", "no"];

const recoveredShare = (f) => count(f.arrays.best_correlation.values, (v) => v > RECOVERED) / f.arrays.best_correlation.values.length;
/** Mean fan-out of units that follow a teacher unit, and of the others. */
function fans(f) {
  const { fan_out: fan, specialisation: close } = f.arrays, of = (test) => mean(fan.values.filter((_, i) => test(close.values[i])));
  return [of((v) => v > RECOVERED), of((v) => v <= RECOVERED)];
}
const column = (array, j) => { const [rows, columns] = array.shape; return Array.from({ length: rows }, (_, s) => array.values[s * columns + j]); };
const nearest = (f) => { // the largest angle, in degrees, of a student unit with its nearest teacher unit
  const { student, teacher } = f.arrays, angle = (x, y, p, q) => Math.abs(Math.atan2(x * q - y * p, x * p + y * q));
  let worst = 0;
  for (let i = 0; i < student.values.length; i += 2) { let best = Math.PI; for (let j = 0; j < teacher.values.length; j += 2) best = Math.min(best, angle(student.values[i], student.values[i + 1], teacher.values[j], teacher.values[j + 1])); worst = Math.max(worst, best); }
  return (worst * 180) / Math.PI;
};
const idle = (f) => { const fan = f.arrays.fan_out.values, most = Math.max(...fan); return count(fan, (v) => v < 0.01 * most) / fan.length; };
const error = (f, member = f.words.member) => { const { target, fits } = f.arrays, size = target.values.length, from = fits.shape.length > 2 ? 0 : member * size; let sum = 0; for (let i = 0; i < size; i++) sum += (target.values[i] - fits.values[from + i]) ** 2; return Math.sqrt(sum / size); };
const RECOVERY = { ask: "How many teacher units of all students are recovered now?", answers: THIRDS, right: (f) => [third(recoveredShare(f)), `It is ${percent(recoveredShare(f))}.`] };

export const STEPS = {
  specialisation: [
    { place: 0, look: "This is the start: weights are small and random.", ...RECOVERY },
    { place: 0.05, look: "Go on a little. The teacher's units are sorted by strength: unit 0 is the strongest.", ask: "Is unit 0 closer to being recovered, on average, than the last unit?", answers: YES, right: (f) => { const b = f.arrays.best_correlation, [first, last] = [mean(column(b, 0)), mean(column(b, b.shape[1] - 1))]; return [first > last ? 0 : 1, `Mean correlations: ${first.toFixed(2)} and ${last.toFixed(2)}.`]; } },
    { place: 0.3, look: "Look at the units' fan-out: the vertical axis of the first picture.", ask: "Which student units have the larger fan-out on average?", answers: ["those that follow a teacher unit", "the others"], right: (f) => { const [a, b] = fans(f); return Number.isFinite(a) && (a > b || !Number.isFinite(b)) ? [0, `Means: ${digits(a)} and ${Number.isFinite(b) ? digits(b) : "none left"}.`] : [1, "Hardly any unit follows a teacher unit yet."]; } },
    { place: 0.6, look: "Students differ by their seed alone.", ask: "Have all students recovered equally many teacher units?", answers: YES, right: (f) => { const { values, shape: [s, m] } = f.arrays.best_correlation, found = Array.from({ length: s }, (_, i) => count(values.subarray(i * m, (i + 1) * m), (v) => v > RECOVERED)), least = Math.min(...found), most = Math.max(...found); return [least === most ? 0 : 1, `Between ${least} and ${most} of ${m}.`]; } },
    { place: 1, look: "The end of the training.", ...RECOVERY },
  ],
  target: [
    { place: 0, look: "This is the start: a student is a sum of units, each with one kink.", ask: "Is the error of the highlighted student above 0.3?", answers: YES, right: (f) => [error(f) > 0.3 ? 0 : 1, `It is ${digits(error(f))} (root of the mean square).`] },
    { place: 0.02, look: "After some steps the fit follows the largest swings of the target.", ask: "How many units hardly matter, with a fan-out below a hundredth of the largest?", answers: THIRDS, right: (f) => [third(idle(f)), `It is ${percent(idle(f))}.`] },
    { place: 0.2, look: "Click a unit: its story says where it bends the student.", ask: "Is the error below 0.1 by now?", answers: YES, right: (f) => [error(f) < 0.1 ? 0 : 1, `It is ${digits(error(f))}.`] },
    { place: 0.5, look: "Compare the students: they have the same target and other starts.", ask: "Do all units of this student have the same sign?", answers: YES, right: (f) => { const v = f.arrays.signed.values, up = count(v, (x) => x > 0); return [up === 0 || up === v.length ? 0 : 1, `${up} bend upwards and ${v.length - up} downwards.`]; } },
    { place: 1, look: "The end. Now draw a target of your own, or type another formula.", ask: "Is the error below 0.02?", answers: YES, right: (f) => [error(f) < 0.02 ? 0 : 1, `It is ${digits(error(f))}.`] },
  ],
  flow: [
    { place: 0, look: "Arrows are teacher units, dots are student units.", ask: "Are there more student units than teacher units?", answers: YES, right: (f) => { const [n, m] = [f.arrays.student.shape[0], f.arrays.teacher.shape[0]]; return [n > m ? 0 : 1, `${n} and ${m}.`]; } },
    { place: 0.15, look: "Thin lines show where each unit goes next.", ask: "Is the point at rest, or does it move?", answers: ["at rest", "it moves"], right: (f) => [f.words.kind === "not stationary" ? 1 : 0, `The gradient norm is ${digits(f.words.gradient)}.`] },
    { place: 0.4, look: "Look at the angles with the nearest teacher unit.", ask: "Is every student unit within 10 degrees of a teacher unit?", answers: YES, right: (f) => [nearest(f) < 10 ? 0 : 1, `The largest angle is ${Math.round(nearest(f))} degrees.`] },
    { place: 0.7, look: "The least curvature tells a minimum from a saddle.", ask: "Does some direction lead down, even if the gradient does not point there?", answers: YES, right: (f) => [f.words.least < -1e-4 * f.words.largest ? 0 : 1, `The least curvature is ${digits(f.words.least)}.`] },
    { place: 1, look: "The end of the timeline. Drag a unit and play again.", ask: "Is the loss below 0.001?", answers: YES, right: (f) => [f.arrays.loss.values[0] < 1e-3 ? 0 : 1, `It is ${digits(f.arrays.loss.values[0])}.`] },
  ],
  margins: [
    { place: 0, look: "Dots are the network's units at the start, small and in all directions.", ask: "Are these points orthogonally separable?", answers: YES, right: (f) => [f.words.separable ? 0 : 1, `${f.words.violations} pairs violate it.`] },
    { place: 0.15, look: "Ringed points hold the max-margin directions; the other points could be dragged without changing them.", ask: "How many points hold a max-margin direction?", answers: ["at most 3", "4", "more than 4"], right: (f) => { const n = count(f.arrays.support.values, (v) => v > 0); return [n < 4 ? 0 : n === 4 ? 1 : 2, `It is ${n}.`]; } },
    { place: 0.3, look: "Some units see no point of their own sign.", ask: "Are there units that are active on no point?", answers: YES, right: (f) => { const n = count(f.arrays.groups.values, (v) => v === 0); return [n ? 0 : 1, `${n} of ${f.arrays.a.values.length} units.`]; } },
    { place: 0.6, look: "The network fits all points when every margin is positive.", ask: "Does it fit all points now?", answers: YES, right: (f) => { const bad = count(f.arrays.margins.values, (v) => v <= 0); return [bad ? 1 : 0, `${bad} points are on the wrong side.`]; } },
    { place: 1, look: "Far beyond any training: log t = 60.", ask: "Are all units that still act within 5 degrees of a max-margin direction?", answers: YES, right: (f) => { const c = f.arrays.cosine.values.filter((v, j) => f.arrays.groups.values[j] !== 0 && Number.isFinite(v)), least = c.length ? Math.min(...c) : NaN; return [least > Math.cos(Math.PI / 36) ? 0 : 1, Number.isFinite(least) ? `The largest angle is ${digits((Math.acos(Math.min(1, least)) * 180) / Math.PI)} degrees.` : "There is no such direction here."]; } },
  ],
  distillation: [
    { place: 0, look: "One input: the student knows the teacher along one line alone.", ask: "Is the mean angle with the teacher above 45 degrees?", answers: YES, right: (f) => { const a = (mean(f.arrays.angle.values) * 180) / Math.PI; return [a > 45 ? 0 : 1, `It is ${Math.round(a)} degrees.`]; } },
    { place: 0.2, look: "Every input adds one direction to what the student knows.", ask: "Is the mean risk below 5 %?", answers: YES, right: (f) => [mean(f.arrays.risk.values) < 0.05 ? 0 : 1, `It is ${digits(100 * mean(f.arrays.risk.values))} %.`] },
    { place: 0.5, look: "The bound holds for the expected risk, whatever the dimension.", ask: "Is the mean risk below the bound?", answers: YES, right: (f) => { const [r, b] = [mean(f.arrays.risk.values), f.arrays.bound.values[0]]; return [r <= b ? 0 : 1, `${digits(r)} and ${digits(b)}.`]; } },
    { place: 0.75, look: "Risk and angle fall together, but not in proportion.", ask: "Is the largest risk of a student more than ten times the mean?", answers: YES, right: (f) => { const r = f.arrays.risk.values; return [Math.max(...r) > 10 * mean(r) ? 0 : 1, `Largest ${digits(Math.max(...r))}, mean ${digits(mean(r))}.`]; } },
    { place: 1, look: "As many inputs as dimensions, and a few more.", ask: "Do the students differ from the teacher anywhere?", answers: YES, right: (f) => { const a = Math.max(...f.arrays.angle.values); return [a > 1e-6 ? 0 : 1, `The largest angle is ${digits(a)}.`]; } },
  ],
  folds: [
    { place: 0, look: "Every line is the fold of one unit.", ask: "Are there more regions than units of the first layer?", answers: YES, right: (f) => [f.words.regions > f.arrays.units.shape[0] ? 0 : 1, `${f.words.regions} regions, ${f.arrays.units.shape[0]} units.`] },
    { place: 0, look: "Press 'Permute units': the colours change places.", ask: "Does the function change when its units are put into another order?", answers: YES, right: () => [1, "The fingerprint stays the same."] },
    { place: 0, look: "Orders of the units times free scales: that many networks are this function.", ask: "In how many orders can the units be put?", answers: ["fewer than 100", "100 to 1,000", "more than 1,000"], right: (f) => { const n = f.words.permutations; return [n < 100 ? 0 : n <= 1000 ? 1 : 2, `In ${n.toLocaleString("en")}.`]; } },
    { place: 0.5, look: "Half way on the straight path to the same network in another order.", ask: "Is it the same function here?", answers: YES, right: (f) => { const d = f.arrays.distance.values[0]; return [d < 1e-9 ? 0 : 1, `It differs by up to ${digits(d)}.`]; } },
    { place: 1, look: "The end of the path.", ask: "Is it the function of the start again?", answers: YES, right: (f) => { const d = f.arrays.distance.values[0]; return [d < 1e-9 ? 0 : 1, `The largest difference is ${digits(d)}.`]; } },
  ],
};
