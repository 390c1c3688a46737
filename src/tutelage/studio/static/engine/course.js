// A scene on its way: the present state, stored states to go back to, marks for the curves, and what the user changed.
// The same rules as tutelage.studio.course: states lie on a fixed grid of ticks, whatever way a tick was reached.

import { distillation } from "./distillation.js";
import { flow } from "./flow.js";
import { folds } from "./folds.js";
import { margins } from "./margins.js";
import { checked } from "./settings.js";
import { specialisation } from "./specialisation.js";
import { target } from "./target.js";

/** Scenes by name. Each has check, ticks, time, start, advance or leap, mark, frame, answer, size and maybe change. */
export const SCENES = { specialisation, target, flow, margins, distillation, folds };
const MARKS = 100; // on the timeline, besides the start
const MEMORY = 32 << 20; // bytes of stored states: half of what the server keeps, for phones
const LEAP = 16; // ticks after which a seek asks whether to go on
const EVENTS = 200;

export class Course {
  /** about: title and settings of the scene, as tutelage.studio.describe gives them. */
  constructor(about, settings = {}, events = [], look = {}) {
    this.name = about.name;
    this.scene = SCENES[about.name];
    if (!this.scene) throw new Error(`this page has no scene '${about.name}'`);
    this.about = about;
    this.given = this.checked(settings);
    this.differs = settings;
    this.look = { ...look };
    this.events = events.map(event).sort((a, b) => a[0] - b[0]);
    this.ticks = this.scene.ticks(this.given);
    this.every = Math.max(1, Math.floor(this.ticks / MARKS));
    this.spacing = 1;
    this.marks = new Map();
    this.stored = new Map();
    this.arrive(0, this.given, this.scene.start(this.given));
  }
  checked(settings) {
    const all = checked(this.about, settings, this.scene.hidden ?? []);
    this.scene.check(all);
    return all;
  }
  get settings() { return this.now.settings; }
  get state() { return this.now.state; }
  get time() { return this.scene.time(this.settings, this.tick); }

  /** Advance by so many ticks, or fewer up to the next mark, change or end; how many they were, 0 at the end. */
  forward(ticks = 1) {
    const before = this.tick;
    let to = Math.min(before + ticks, (Math.floor(before / this.every) + 1) * this.every, this.ticks);
    for (const [tick] of this.events) if (tick > before) to = Math.min(to, tick);
    if (to <= before) return 0;
    let { state } = this;
    if (this.scene.leap) state = this.scene.leap(this.settings, state, before, to);
    else for (let tick = before; tick < to; tick++) state = this.scene.advance(this.settings, state, tick);
    this.arrive(to, this.settings, state);
    return to - before;
  }
  /** Go towards a tick, from the last stored state before it, for at most so long; whether it was reached. */
  seek(tick, milliseconds = Infinity) {
    const to = Math.min(Math.max(Math.trunc(tick), 0), this.ticks), end = performance.now() + milliseconds;
    if (this.tick > to) {
      const nearest = Math.max(...[...this.stored.keys()].filter((t) => t <= to));
      this.tick = nearest;
      this.now = this.stored.get(nearest);
    }
    while (this.tick < to) {
      this.forward(Math.min(to - this.tick, LEAP));
      if (performance.now() > end) return this.tick >= to;
    }
    return true;
  }
  /** Branch off: change settings or state at the present tick, and forget what came later. */
  change(change) {
    if (!this.scene.change) throw new Error("this scene cannot be changed while it runs: it starts again instead");
    if (this.events.length >= EVENTS) throw new Error(`a course has at most ${EVENTS} changes: reset it, or reload the page`);
    const [settings, state] = this.scene.change(this.settings, this.state, this.tick, change, (given) => this.checked(given));
    this.events = [...this.events.filter(([tick]) => tick <= this.tick), [this.tick, change]];
    for (const kept of [this.stored, this.marks]) for (const tick of [...kept.keys()]) if (tick >= this.tick) kept.delete(tick);
    this.store({ settings, state });
  }
  /** Arrays and words that show the present state. */
  frame() {
    const [arrays, words] = this.scene.frame(this.settings, this.state, this.tick, this.look);
    return { kind: "frame", tick: this.tick, time: this.time, arrays, words };
  }
  /** All marks after a tick: arrays [marks, ...]. */
  history(after = -1) {
    const ticks = [...this.marks.keys()].filter((t) => t > after && t <= this.tick).sort((a, b) => a - b), rows = ticks.map((t) => this.marks.get(t)), arrays = {};
    for (const name of Object.keys(rows[0] ?? {})) {
      const { shape } = rows[0][name], size = rows[0][name].values.length, values = new Float32Array(size * rows.length);
      rows.forEach((row, i) => values.set(row[name].values, i * size));
      arrays[name] = { values, shape: [rows.length, ...shape] };
    }
    return { kind: "history", after, ticks, times: ticks.map((t) => this.scene.time(this.settings, t)), arrays };
  }
  answer(question) {
    const past = [...this.stored.entries()].filter(([t]) => t < this.tick).sort((a, b) => a[0] - b[0]).map(([t, { state }]) => [t, state]);
    return this.scene.answer(this.settings, { state: this.state, tick: this.tick, past: [...past, [this.tick, this.state]] }, question);
  }
  /** What a link holds. */
  plain() { return { scene: this.name, settings: this.differs, events: this.events, tick: this.tick }; }

  arrive(tick, settings, state) {
    this.tick = tick;
    for (const [at, change] of this.events) if (at === tick) [settings, state] = this.scene.change(settings, state, tick, change, (given) => this.checked(given));
    this.store({ settings, state });
  }
  /** Keep the present state where it is due, and fewer of the older ones once they fill their memory. */
  store(now) {
    this.now = now;
    if ((this.tick % this.every === 0 || this.tick === this.ticks) && !this.marks.has(this.tick)) this.marks.set(this.tick, this.scene.mark(now.settings, now.state, this.tick));
    const changed = (tick) => this.events.some(([at]) => at === tick);
    if (this.tick % (this.every * this.spacing) === 0 || changed(this.tick)) this.stored.set(this.tick, now);
    while (this.stored.size > 8 && this.stored.size * this.scene.size(now.state) > MEMORY) {
      this.spacing *= 2;
      const before = this.stored.size;
      for (const tick of [...this.stored.keys()]) if (tick % (this.every * this.spacing) && !changed(tick)) this.stored.delete(tick);
      if (this.stored.size === before) break;
    }
  }
}

function event(given) {
  if (Array.isArray(given) && given.length === 2 && Number.isInteger(given[0]) && given[0] >= 0 && given[1] && typeof given[1] === "object" && !Array.isArray(given[1])) return given;
  throw new Error("an event is a tick and a change: copy the link again");
}
