// Scene: units in the plane follow the exact population gradient. See tutelage.studio.scenes.exact_flow.

import { key, normals, uniforms } from "./draws.js";
import { integrate } from "./integrate.js";
import { extremes, hessian, kernel, kernels, loss, velocity } from "./relu_plane.js";

const TICKS = 200, GROWTH = 0.03, GRID = 40, BASINS = 21, REACH = 2, LONGEST = 20, SHORTEST = 1e-3;
const STATIONARY = 1e-6; // the gradient norm of a point of rest, and the share of the curvature that counts as none
const FLOOR = 1e-7, ABOVE_NOISE = 1000; // a shorter unit stays where it is: see tutelage.population.flow

/** A place as two finite numbers, moved away from 0, where a unit has no direction. */
function place(given) {
  if (!Array.isArray(given) || given.length !== 2 || !given.every((v) => typeof v === "number" && Number.isFinite(v))) throw new Error("a place is two numbers: drag a unit, or copy the link again");
  const length = Math.hypot(given[0], given[1]);
  if (length > LONGEST) throw new Error(`a unit must be shorter than ${LONGEST}, got ${Number(length.toPrecision(6))}: drag it less far`);
  return length > SHORTEST ? given : [SHORTEST, 0];
}

function places(given) {
  if (!Array.isArray(given) || given.length < 1 || given.length > 24) throw new Error("there must be 1 to 24 units: copy the link again");
  return Float64Array.from(given.flatMap(place));
}

/** The state after some time; units that become too short stay where they are. */
function followed(teacher, student, length, relative, absolute) {
  let mean = 0;
  for (let j = 0; j < teacher.length; j += 2) mean += Math.hypot(teacher[j], teacher[j + 1]) / (teacher.length / 2);
  const floor = Math.max(FLOOR * mean, ABOVE_NOISE * absolute), floors = [];
  for (let i = 0; i < student.length; i += 2) floors.push(Math.min(floor, Math.hypot(student[i], student[i + 1]) / 10));
  const slope = (state, out) => {
    velocity(teacher, state, out);
    floors.forEach((least, k) => { if (!(Math.hypot(state[2 * k], state[2 * k + 1]) > least)) out[2 * k] = out[2 * k + 1] = 0; });
  };
  return integrate(slope, student, length, { relative, absolute });
}

const time = (settings, tick) => (settings.first_step * Math.expm1(GROWTH * tick)) / Math.expm1(GROWTH);
const pairs = (units) => ({ values: Float32Array.from(units), shape: [units.length / 2, 2] });
const side = (i, count) => -REACH + (2 * REACH * i) / (count - 1);
const away = (x, y) => (Math.hypot(x, y) < SHORTEST ? [SHORTEST, 0] : [x, y]);

/** The loss as a function of the place of one unit, the others where they are: only the terms of that unit change. */
function landscape({ teacher, student }, unit) {
  const others = student.filter((_, i) => i >> 1 !== unit), rest = loss(teacher, others), out = new Float32Array(GRID * GRID);
  for (let r = 0; r < GRID; r++) for (let c = 0; c < GRID; c++) {
    const here = away(side(c, GRID), side(r, GRID));
    out[r * GRID + c] = rest + kernel(...here, ...here) / 2 + kernels(here, others) - kernels(here, teacher);
  }
  return { values: out, shape: [GRID, GRID] };
}

/** Where the flow leads when it starts with one unit elsewhere: nearest teacher unit (-1: vanished) and loss. */
function basins({ teacher, student }, unit) {
  const ends = [], losses = [];
  for (let at = 0; at < BASINS * BASINS; at++) {
    const start = student.slice();
    start.set(away(side(at % BASINS, BASINS), side(Math.floor(at / BASINS), BASINS)), 2 * unit);
    const end = followed(teacher, start, 100, 1e-4, 1e-7), x = end[2 * unit], y = end[2 * unit + 1];
    let best = -1, most = -Infinity;
    if (Math.hypot(x, y) >= 1e-3) for (let j = 0; j < teacher.length; j += 2) {
      const cosine = (x * teacher[j] + y * teacher[j + 1]) / Math.hypot(teacher[j], teacher[j + 1]);
      if (cosine > most) [most, best] = [cosine, j / 2];
    }
    ends.push(best);
    losses.push(loss(teacher, end));
  }
  return { ends, losses };
}

const chosen = (unit, student) => (Number.isInteger(unit) && unit >= 0 && unit < student.length / 2 ? unit : 0);

export const flow = {
  check(settings) {
    if (settings.teacher_at != null) settings.teachers = places(settings.teacher_at).length / 2;
    if (settings.student_at != null) settings.students = places(settings.student_at).length / 2;
  },
  hidden: ["teacher_at", "student_at"],
  ticks: () => TICKS,
  time,
  start(settings) {
    const { seed, teachers, students, scale, teacher_at: taught, student_at: begun } = settings;
    const turn = uniforms(key(seed, "direction"), teachers), length = uniforms(key(seed, "length"), teachers);
    const random = Float64Array.from({ length: 2 * teachers }, (_, i) => (0.5 + length[i >> 1]) * (i % 2 ? Math.sin : Math.cos)(2 * Math.PI * turn[i >> 1]));
    return { teacher: taught != null ? places(taught) : random, student: begun != null ? places(begun) : normals(key(seed, "students"), 2 * students).map((v) => scale * v) };
  },
  advance: (settings, state, tick) => ({ teacher: state.teacher, student: followed(state.teacher, state.student, time(settings, tick + 1) - time(settings, tick), 1e-7, 1e-10) }),
  change(settings, state, tick, event) {
    const to = place(event.to);
    for (const name of ["student", "teacher"]) if (name in event) {
      const unit = event[name], moved = state[name].slice(), count = moved.length / 2;
      if (!Number.isInteger(unit) || unit < 0 || unit >= count) throw new Error(`the ${name} unit must be from 0 to ${count - 1}, got ${unit}`);
      moved.set(to, 2 * unit);
      return [settings, { ...state, [name]: moved }];
    }
    throw new Error("a change of this scene moves a 'student' or a 'teacher' unit");
  },
  mark: (settings, { teacher, student }) => ({ loss: { values: Float32Array.of(loss(teacher, student)), shape: [1] }, student: pairs(student) }),
  frame(settings, state, tick, look) {
    const { teacher, student } = state, unit = chosen(look.unit, student), speed = velocity(teacher, student, new Float64Array(student.length));
    const gradient = Math.sqrt(speed.reduce((sum, v) => sum + v * v, 0)), [least, largest] = extremes(hessian(teacher, student), student.length);
    const kind = gradient > STATIONARY ? "not stationary" : least < -STATIONARY * Math.abs(largest) ? "saddle" : "minimum";
    const arrays = { teacher: pairs(teacher), student: pairs(student), velocity: pairs(speed), loss: { values: Float32Array.of(loss(teacher, student)), shape: [1] }, landscape: landscape(state, unit), reach: { values: Float32Array.of(REACH), shape: [1] } };
    return [arrays, { kind, gradient, least, largest, unit, note: "", certified: { loss: loss(teacher, student) } }];
  },
  answer(settings, { state, tick }, question) {
    if (question.about !== "basins") throw new Error(`this scene has no answer about '${question.about}'`);
    return { unit: chosen(question.unit, state.student), tick, side: BASINS, ...basins(state, chosen(question.unit, state.student)) };
  },
  size: () => 1024,
};
