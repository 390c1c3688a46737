// Scene: students of a teacher learn by SGD, in float32. See tutelage.studio.scenes.specialisation.

import { key, normals } from "./draws.js";
import { centred, correlations, diagnosis, fanOut, loss, RECOVERED, unitClass } from "./measures.js";
import { outputs, points, student, teacher, width } from "./teachers.js";
import { bounded, copied, learn, memory } from "./training.js";

const GRID = 48, WINDOW = 3.5;
const UNITS = 100_000, NUMBERS = 2 ** 24; // of all members: what a phone's memory holds
const LIVE = ["learning_rate", "batch", "optimiser", "noise"];

const step = (settings, tick) => Math.min(tick * settings.every, settings.steps);

/** The teachers and points of all members, which no step changes. */
function world(settings) {
  return Array.from({ length: settings.members }, (_, s) => {
    const seed = settings.seed + s, taught = teacher(settings, seed);
    const train = points(settings, seed, "train", settings.train), evaluate = points(settings, seed, "evaluate", settings.evaluate);
    return { seed, teacher: taught, train, evaluate, clean: outputs(taught, train, settings.train), batches: key(seed, "batches"), seen: centred(taught, evaluate, settings.evaluate), strength: fanOut(taught) };
  });
}

/** The lessons of all members under these settings: labels with their noise, and the rule. */
function lessons(world, settings) {
  return world.map(({ seed, train, clean, batches }) => {
    const y = clean.slice();
    if (settings.noise) {
      const drawn = normals(key(seed, "label noise"), y.length);
      for (let i = 0; i < y.length; i++) y[i] += Math.fround(drawn[i] * settings.noise);
    }
    return { x: train, y, count: settings.train, key: batches, rate: settings.learning_rate, batch: settings.batch, optimiser: settings.optimiser };
  });
}

/** One member from step to step; a member that diverges stays as it last was. */
function advanced(member, lesson, start, stop) {
  if (member.lost >= 0) return member;
  const net = copied(member.net), slots = member.slots.map(copied);
  learn(net, slots, lesson, start, stop);
  if (bounded(net)) return { net, slots, lost: -1 };
  const last = copied(member.net), kept = member.slots.map(copied); // once more, to the step before it left the bounds
  for (let t = start; t < stop; t++) {
    const before = copied(last), old = kept.map(copied);
    learn(last, kept, lesson, t, t + 1);
    if (!bounded(last)) return { net: before, slots: old, lost: t + 1 };
  }
  return { net, slots, lost: stop };
}

function measured(state, settings) {
  if (state.measured) return state.measured;
  const { members } = settings, m = settings.units, n = width(settings), count = settings.evaluate;
  const per = (units) => ({ values: new Float32Array(members * units), shape: [members, units] });
  const arrays = { best_correlation: per(m), strength: per(m), specialisation: per(n), best_teacher: per(n), fan_out: per(n) };
  const losses = new Float32Array(members), rho = new Float32Array(m * n), maps = new Map();
  for (let s = 0; s < members; s++) {
    const { seen, evaluate, strength } = state.world[s], { net, lost } = state.members[s];
    if (lost >= 0) { for (const { values, shape } of Object.values(arrays)) values.fill(NaN, s * shape[1], (s + 1) * shape[1]); losses[s] = NaN; continue; }
    const mine = centred(net, evaluate, count);
    correlations(seen, mine, count, rho);
    losses[s] = loss(seen.outputs, mine.outputs, count);
    arrays.strength.values.set(strength, s * m);
    arrays.fan_out.values.set(fanOut(net), s * n);
    for (let k = 0; k < n; k++) {
      let best = 0;
      for (let j = 1; j < m; j++) if (rho[j * n + k] > rho[best * n + k]) best = j;
      arrays.specialisation.values[s * n + k] = rho[best * n + k];
      arrays.best_teacher.values[s * n + k] = best;
    }
    for (let j = 0; j < m; j++) { let best = -1; for (let k = 0; k < n; k++) best = Math.max(best, rho[j * n + k]); arrays.best_correlation.values[s * m + j] = best; }
  }
  return (state.measured = { arrays, losses, maps });
}

/** Correlations of one member's teacher and student units, [m, n]. */
function map(state, settings, s) {
  const { maps } = measured(state, settings);
  if (!maps.has(s)) {
    maps.clear();
    const count = settings.evaluate, out = new Float32Array(settings.units * width(settings));
    maps.set(s, correlations(state.world[s].seen, centred(state.members[s].net, state.world[s].evaluate, count), count, out));
  }
  return maps.get(s);
}

/** Boundaries of one member's units in the plane, and its error on a grid. */
function plane(state, s) {
  const line = ({ w, b, hidden }) => ({ values: Float32Array.from({ length: 3 * hidden }, (_, i) => [w[Math.floor(i / 3)], w[hidden + Math.floor(i / 3)], b[Math.floor(i / 3)]][i % 3]), shape: [hidden, 3] });
  const side = (i) => -WINDOW + (2 * WINDOW * i) / (GRID - 1), x = new Float32Array(2 * GRID * GRID);
  for (let r = 0; r < GRID; r++) for (let c = 0; c < GRID; c++) { x[2 * (r * GRID + c)] = side(c); x[2 * (r * GRID + c) + 1] = side(r); }
  const first = state.world[s].teacher, second = state.members[s].net, wanted = outputs(first, x, GRID * GRID), got = outputs(second, x, GRID * GRID);
  const error = new Float32Array(GRID * GRID);
  let most = 0;
  for (let n = 0; n < GRID * GRID; n++) {
    let off = 0, size = 0;
    for (let o = n * first.outputs; o < (n + 1) * first.outputs; o++) { off += (wanted[o] - got[o]) ** 2; size += wanted[o] ** 2; }
    error[n] = Math.sqrt(off);
    most = Math.max(most, Math.sqrt(size));
  }
  return { teacher_lines: line(first), student_lines: line(second), error: { values: error, shape: [GRID, GRID] }, size: { values: Float32Array.of(most), shape: [1] }, window: { values: Float32Array.of(WINDOW), shape: [1] } };
}

const chosen = (settings, look) => Math.min(Math.max(Number.isInteger(look.member) ? look.member : 0, 0), settings.members - 1);

const WORDS = {
  specialised: "follows teacher unit {} more closely than any other unit does",
  duplicate: "follows teacher unit {}, but another unit follows it more closely",
  unspecialised: "follows no teacher unit closely; unit {} is the nearest",
  dead: "is never active on the evaluation points",
  linear: "is active on all or none of the evaluation points in the same way, so it acts as a linear map",
  idle: "has a fan-out so small that it does not matter for the output",
};

function story(settings, { state, past }, question) {
  const n = width(settings), m = settings.units, s = within(question.member, "member", settings.members), rho = map(state, settings, s);
  let k = question.unit;
  if (question.teacher !== undefined) {
    const j = within(question.teacher, "teacher", m);
    k = 0;
    for (let i = 1; i < n; i++) if (rho[j * n + i] > rho[j * n + k]) k = i;
  }
  k = within(k, "unit", n);
  const { net, lost } = state.members[s];
  if (lost >= 0) return { title: `Student ${s}`, sentences: [`This student diverged at step ${lost.toLocaleString("en")}.`], theorems: [] };
  const { evaluate, train, teacher } = state.world[s], kind = unitClass(net, evaluate, settings.evaluate, rho, k);
  let best = 0;
  for (let j = 1; j < m; j++) if (rho[j * n + k] > rho[best * n + k]) best = j;
  const fan = fanOut(net)[k], wanted = question.teacher ?? best, found = measured(state, settings).arrays.best_correlation.values[s * m + wanted];
  const sentences = [`Unit ${k} ${WORDS[kind].replace("{}", String(best))}: correlation ${rho[best * n + k].toFixed(3)}, fan-out ${Number(fan.toPrecision(3))}.`];
  if (found > RECOVERED) sentences.push(`Teacher unit ${wanted} is recovered (best correlation ${found.toFixed(3)}).`);
  else { const why = diagnosis(teacher, net, train, settings.train, wanted, found); sentences.push(`Teacher unit ${wanted} is not recovered. ${why[0].toUpperCase()}${why.slice(1)}.`); }
  sentences.push("Theorems about this student are checked in Python: open this link in `tutelage studio`.");
  const column = (then) => { const r = map(then, settings, s); return Array.from({ length: m }, (_, j) => r[j * n + k]); };
  return { title: `Unit ${k} of student ${s} (seed ${settings.seed + s})`, sentences, alignment: { times: past.map(([tick]) => step(settings, tick)), values: past.map(([, then]) => column(then)) }, theorems: [], member: s, unit: k };
}

function within(value, name, count) {
  if (!Number.isInteger(value) || value < 0 || value >= count) throw new Error(`${name} must be from 0 to ${count - 1}, got ${value}`);
  return value;
}

export const specialisation = {
  check(settings) {
    const n = width(settings), total = settings.members * n, numbers = settings.members * (settings.train + settings.evaluate) * (settings.dimension + settings.outputs);
    if (total > UNITS) throw new Error(`${settings.members} students with ${n} units each are ${total.toLocaleString("en")} units, and the page shows at most ${UNITS.toLocaleString("en")}: lower students, units or width factor`);
    if (numbers > NUMBERS) throw new Error(`the inputs of all students are ${numbers.toExponential(1)} numbers, and a browser is given at most ${NUMBERS.toExponential(1)}: lower students or training points, or open this link in tutelage studio`);
    if (settings.dimension === 1 && settings.units > 2) throw new Error(`a teacher with one input has at most 2 units that differ, got ${settings.units}: raise dimension`);
  },
  ticks: (settings) => Math.ceil(settings.steps / settings.every),
  time: step,
  start(settings) {
    const all = world(settings), members = all.map(({ seed }) => { const net = student(settings, seed); return { net, slots: memory(settings.optimiser, net), lost: -1 }; });
    return { world: all, lessons: lessons(all, settings), members };
  },
  leap(settings, state, tick, to) {
    const start = step(settings, tick), stop = step(settings, to);
    return { world: state.world, lessons: state.lessons, members: state.members.map((member, s) => advanced(member, state.lessons[s], start, stop)) };
  },
  change(settings, state, tick, event, checked) {
    for (const name in event) if (!LIVE.includes(name)) throw new Error(`'${name}' cannot change while the students learn: choose one of ${LIVE.join(", ")}`);
    const now = checked({ ...settings, ...event }), fresh = now.optimiser !== settings.optimiser;
    const members = state.members.map((member) => (fresh ? { ...member, slots: memory(now.optimiser, member.net) } : member));
    return [now, { world: state.world, lessons: lessons(state.world, now), members }];
  },
  mark(settings, state) {
    const { arrays, losses } = measured(state, settings), m = settings.units;
    const recovered = losses.map((_, s) => (state.members[s].lost >= 0 ? NaN : arrays.best_correlation.values.subarray(s * m, (s + 1) * m).reduce((sum, v) => sum + (v > RECOVERED), 0)));
    return { loss: { values: losses, shape: [settings.members] }, recovered: { values: recovered, shape: [settings.members] } };
  },
  frame(settings, state, tick, look) {
    const s = chosen(settings, look), { arrays } = measured(state, settings);
    const all = { ...arrays, correlation: { values: map(state, settings, s), shape: [settings.units, width(settings)] } };
    if (settings.dimension === 2) Object.assign(all, plane(state, s));
    const lost = state.members.map((member) => member.lost).filter((when) => when >= 0);
    const note = lost.length ? `${lost.length} of ${settings.members} students diverged, the first at step ${Math.min(...lost).toLocaleString("en")}: lower the learning rate` : "";
    return [all, { note, member: s }];
  },
  answer(settings, moment, question) {
    if (question.about !== "unit") throw new Error(`this scene has no answer about '${question.about}'`);
    return story(settings, moment, question);
  },
  size: (state) => state.members.reduce((sum, { net, slots }) => sum + 4 * (net.w.length + net.v.length + net.b.length) * (1 + slots.length), 0),
};
