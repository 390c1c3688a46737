// Scene: a function that the user typed or drew is the teacher, and relu students learn it.

import { key, normals, uniforms } from "./draws.js";
import { parsed } from "./formula.js";
import { fanOut, loss } from "./measures.js";
import { empty, outputs } from "./teachers.js";
import { bounded, copied, learn, memory } from "./training.js";

const REACH = 3, CURVE = 61, BUMP = 0.5; // ends of the inputs, places of a drawn curve, width of a bump
const LINE = 241, GRID = 40; // places at which fits are shown
const MOST = 80; // bumps
const IDLE = 1e-3; // of the largest change of slope, below which a unit does not matter
const LIVE = ["learning_rate", "batch", "optimiser"];

const place = (i, count) => -REACH + (2 * REACH * i) / (count - 1);
const numbers = (list, count) => Array.isArray(list) && list.length === count && list.every((v) => typeof v === "number" && Math.abs(v) <= 1e3);

/** The target of these settings: (x, y) -> number. */
function wanted({ inputs, formula, curve, bumps }) {
  const below = formula ? parsed(formula, inputs) : bumps?.length || curve ? () => 0 : parsed(inputs > 1 ? "x*y/2" : "sin(2*x)", inputs);
  const drawn = curve && ((x) => { const at = ((x + REACH) / (2 * REACH)) * (CURVE - 1), i = Math.min(CURVE - 2, Math.max(0, Math.floor(at))); return curve[i] + (at - i) * (curve[i + 1] - curve[i]); });
  const base = drawn ?? below;
  if (!bumps?.length) return base;
  return (x, y) => bumps.reduce((sum, [a, b, h]) => sum + h * Math.exp(-((x - a) ** 2 + (inputs > 1 ? (y - b) ** 2 : 0)) / (2 * BUMP * BUMP)), base(x, y));
}

/** The target at points; a value that is no number, or too large to be learnt, is an error that names the place. */
function values(f, x, inputs) {
  return Float32Array.from({ length: x.length / inputs }, (_, n) => {
    const [a, b] = [x[n * inputs], inputs > 1 ? x[n * inputs + 1] : 0], value = f(a, b);
    if (!(Math.abs(value) <= 1e3)) throw new Error(`the target must lie between -1,000 and 1,000, and at x = ${a.toFixed(2)}${inputs > 1 ? `, y = ${b.toFixed(2)}` : ""} it is ${Number.isNaN(value) ? "no number" : value.toPrecision(3)}`);
    return value;
  });
}

function shown(inputs) {
  if (inputs === 1) return Float32Array.from({ length: LINE }, (_, i) => place(i, LINE));
  return Float32Array.from({ length: 2 * GRID * GRID }, (_, i) => { const at = i >> 1; return place(i % 2 ? Math.floor(at / GRID) : at % GRID, GRID); });
}

/** A student at the start: directions and kinks spread over the inputs, so that units are at work from the beginning. */
function begun({ inputs, units }, seed) {
  const net = empty(inputs, units, 1), w = normals(key(seed, "student-1"), inputs * units), v = normals(key(seed, "student-2"), units), at = uniforms(key(seed, "kinks"), units);
  for (let k = 0; k < units; k++) {
    let size = 0;
    for (let i = 0; i < inputs; i++) size += w[i * units + k] ** 2;
    for (let i = 0; i < inputs; i++) net.w[i * units + k] = w[i * units + k] / Math.sqrt(size);
    net.b[k] = REACH * (2 * at[k] - 1);
    net.v[k] = (0.3 * v[k]) / Math.sqrt(units);
  }
  return net;
}

function lessons(world, settings) {
  return world.members.map(({ x, y, batches }) => ({ x, y, count: settings.train, key: batches, rate: settings.learning_rate, batch: Math.min(settings.batch, settings.train), optimiser: settings.optimiser }));
}

/** What became of a unit, in a sentence. */
function story(settings, state, { member: s, unit: k }) {
  if (!Number.isInteger(s) || s < 0 || s >= settings.members || !Number.isInteger(k) || k < 0 || k >= settings.units) throw new Error("that unit is not there: click one");
  const { net } = state.members[s], x = shown(settings.inputs), count = x.length / settings.inputs, slope = Array.from({ length: settings.inputs }, (_, i) => net.w[i * settings.units + k]);
  const size = Math.hypot(...slope), fan = net.v[k];
  let on = 0;
  for (let n = 0; n < count; n++) { let u = net.b[k]; for (let i = 0; i < settings.inputs; i++) u += slope[i] * x[n * settings.inputs + i]; on += Number(u > 0); }
  const turns = Array.from({ length: settings.units }, (_, i) => { let square = 0; for (let j = 0; j < settings.inputs; j++) square += net.w[j * settings.units + i] ** 2; return Math.abs(net.v[i]) * Math.sqrt(square); }), bend = fan * size, share = on / count;
  const title = `Unit ${k} of student ${s} (seed ${settings.seed + s})`, digits = (v) => String(Number(v.toPrecision(3)));
  let what;
  if (on === 0) what = "is never active between -3 and 3: it does nothing there, and no training point can wake it.";
  else if (Math.abs(bend) <= IDLE * Math.max(...turns)) what = "changes the slope by so little that it does not matter.";
  else if (on === count) what = "is active everywhere between -3 and 3: it adds a straight line and no bend.";
  else what = settings.inputs === 1 ? `bends the curve at x = ${digits(-net.b[k] / slope[0])} and changes its slope there by ${digits(fan * Math.abs(slope[0]))}.` : `bends the surface along a line at distance ${digits(Math.abs(net.b[k]) / size)} from the origin, and changes the slope across it by ${digits(Math.abs(bend))}.`;
  return { title, sentences: [`Unit ${k} ${what}`, `It is active on ${Math.round(100 * share)} % of the inputs; its fan-out is ${digits(Math.abs(fan))}.`], member: s, unit: k };
}

const array = (values, ...shape) => ({ values: Float32Array.from(values), shape });

export const target = {
  hidden: ["formula", "curve", "bumps"],
  check(settings) {
    if (settings.curve !== null && (settings.inputs !== 1 || !numbers(settings.curve, CURVE))) throw new Error(`a drawn curve has one input and ${CURVE} numbers: draw it again`);
    if (settings.bumps !== null && !(Array.isArray(settings.bumps) && settings.bumps.length <= MOST && settings.bumps.every((bump) => numbers(bump, 3)))) throw new Error(`at most ${MOST} bumps of three numbers are allowed: start again from a formula`);
    if (settings.formula !== null) parsed(settings.formula, settings.inputs);
    values(wanted(settings), shown(settings.inputs), settings.inputs);
  },
  ticks: (settings) => Math.ceil(settings.steps / settings.every),
  time: (settings, tick) => Math.min(tick * settings.every, settings.steps),
  start(settings) {
    const { inputs, members, seed, train, noise } = settings, f = wanted(settings), grid = shown(inputs);
    const world = { grid, target: values(f, grid, inputs), members: Array.from({ length: members }, (_, s) => {
      const x = Float32Array.from(uniforms(key(seed + s, "train"), train * inputs), (u) => REACH * (2 * u - 1)), y = values(f, x, inputs);
      if (noise) normals(key(seed + s, "label noise"), train).forEach((z, i) => { y[i] += noise * z; });
      return { x, y, batches: key(seed + s, "batches") };
    }) };
    return { world, lessons: lessons(world, settings), members: world.members.map((_, s) => { const net = begun(settings, seed + s); return { net, slots: memory(settings.optimiser, net), lost: -1 }; }) };
  },
  leap(settings, state, tick, to) {
    const from = this.time(settings, tick), until = this.time(settings, to);
    return { ...state, shown: null, members: state.members.map((member, s) => {
      if (member.lost >= 0) return member;
      const net = copied(member.net), slots = member.slots.map(copied);
      learn(net, slots, state.lessons[s], from, until);
      return bounded(net) ? { net, slots, lost: -1 } : { ...member, lost: until };
    }) };
  },
  change(settings, state, tick, event, checked) {
    for (const name in event) if (!LIVE.includes(name)) throw new Error(`'${name}' cannot change while the students learn: choose one of ${LIVE.join(", ")}`);
    const now = checked({ ...settings, ...event }), fresh = now.optimiser !== settings.optimiser;
    return [now, { ...state, lessons: lessons(state.world, now), members: state.members.map((m) => (fresh ? { ...m, slots: memory(now.optimiser, m.net) } : m)) }];
  },
  fits(settings, state) {
    const count = state.world.grid.length / settings.inputs;
    return (state.shown ??= state.members.map(({ net, lost }) => (lost >= 0 ? new Float32Array(count).fill(NaN) : outputs(net, state.world.grid, count))));
  },
  mark(settings, state) {
    const count = state.world.target.length;
    return { loss: array(this.fits(settings, state).map((fit) => loss(state.world.target, fit, count)), settings.members) };
  },
  frame(settings, state, tick, look) {
    const s = Math.min(Math.max(Number.isInteger(look.member) ? look.member : 0, 0), settings.members - 1), { net } = state.members[s], { inputs, units } = settings, fits = this.fits(settings, state);
    const lines = Array.from({ length: units }, (_, k) => [net.w[k], inputs > 1 ? net.w[units + k] : 0, net.b[k]]).flat(), x = state.world.members[s];
    const arrays = { target: inputs > 1 ? array(state.world.target, GRID, GRID) : array(state.world.target, LINE), units: array(lines, units, 3), fan_out: array(fanOut(net), units), signed: array(net.v, units), points: array(x.x, settings.train, inputs), labels: array(x.y, settings.train) };
    arrays.fits = inputs > 1 ? array(fits[s], 1, GRID, GRID) : array(fits.flatMap((fit) => [...fit]), settings.members, LINE);
    const lost = state.members.filter((m) => m.lost >= 0).length;
    return [arrays, { note: lost ? `${lost} of ${settings.members} students diverged: lower the learning rate` : "", member: s, inputs, reach: REACH }];
  },
  answer(settings, { state }, question) {
    if (question.about !== "unit") throw new Error(`this scene has no answer about '${question.about}'`);
    return story(settings, state, question);
  },
  size: (state) => state.members.reduce((sum, { net, slots }) => sum + 4 * (net.w.length + net.v.length + net.b.length) * (1 + slots.length), 0),
};
