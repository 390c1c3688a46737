// Commands in, frames out: the conversation of tutelage.studio.session, in a worker beside the page.
// While students learn as fast as they can, the time goes to learning and to frames in equal parts, or more to learning;
// a frame that the page is not ready for is dropped. At a chosen speed the course waits for the page.

import { Course } from "./course.js";

const WINDOW = 2; // frames that may be on their way
const FRAME = 1000 / 31; // milliseconds between frames
const SEEK = 40; // milliseconds of a long way to a tick after which other commands have their turn

export class Session {
  /** @param {object[]} scenes descriptions @param {(message: object) => void} send */
  constructor(scenes, send) {
    this.scenes = scenes;
    this.tell = send;
    this.course = null;
    this.number = 0;
    this.playing = false;
    this.speed = 1;
    this.sent = this.drawn = this.dropped = 0; // frames
    this.owed = false; // a frame, until the page is ready for it
    this.told = -1; // the last tick whose history was sent
    this.due = this.cost = this.rate = 0;
    this.wanted = this.timer = null;
  }
  receive(command) {
    try {
      if (command.do === "drawn") { this.drawn = Math.min(this.drawn + 1, this.sent); if (this.owed && this.ready()) this.offer(); return; }
      if (!["open", "play", "pause", "speed", "seek", "change", "look", "ask"].includes(command.do)) throw new Error(`unknown command '${String(command.do).slice(0, 40)}'`);
      if (!this.course && command.do !== "open") throw new Error("open a scene first");
      this[`do_${command.do}`](command);
    } catch (error) { this.failed(error); }
  }
  failed(error) {
    this.playing = false;
    this.send({ error: error.message });
    this.state();
  }
  do_open({ scene, settings = {}, events = [], look = {}, tick = 0, number }) {
    this.playing = false;
    this.number = number ?? this.number + 1;
    const about = this.scenes.find((s) => s.name === scene);
    if (!about) throw new Error(`this page has no scene '${String(scene).slice(0, 40)}'`);
    this.course = new Course(about, settings, Array.isArray(events) ? events : [], look && typeof look === "object" ? look : {});
    Object.assign(this, { told: -1, rate: 0, wanted: null });
    this.send({ opened: this.course.plain(), defaults: this.course.given, ticks: this.course.ticks });
    this.offer();
    this.state();
    if (tick) this.go(Number(tick) || 0);
  }
  do_play({ speed }) {
    this.do_speed({ speed });
    this.wanted = null;
    if (this.course.tick >= this.course.ticks) { this.course.seek(0); this.told = -1; }
    this.playing = true;
    this.due = 0;
    this.state();
    this.soon();
  }
  do_pause() { this.playing = false; this.wanted = null; this.offer(); this.state(); }
  do_speed({ speed = this.speed }) {
    if (typeof speed !== "number" || !(speed >= 0 && speed <= 1000)) throw new Error(`speed must be from 0 to 1000, got ${String(speed).slice(0, 40)}`);
    this.speed = speed;
    this.state();
  }
  do_seek({ tick, by, play }) {
    const to = tick ?? this.course.tick + by;
    if (typeof to !== "number" || !Number.isFinite(to)) throw new Error("a tick is a number");
    this.playing = this.playing && Boolean(play);
    this.go(to);
  }
  /** Go to a tick a piece at a time, so that other commands, and the next seek of a hand on the timeline, get through. */
  go(to) {
    if (to < this.course.tick) this.told = -1;
    if (this.course.seek(to, SEEK)) this.wanted = null;
    else { this.wanted = to; this.soon(); }
    this.offer();
    this.state();
  }
  do_change({ change }) {
    this.course.change(change ?? {});
    this.told = -1;
    this.offer();
    this.send({ changed: this.course.plain() });
  }
  do_look({ look }) { this.course.look = look && typeof look === "object" ? look : {}; if (!this.playing) this.offer(); }
  do_ask({ question, id }) {
    let answer;
    try { answer = this.course.answer(question ?? {}); } catch (error) { answer = { error: error.message }; }
    this.send({ answer, id });
  }

  soon(wait = 0) { if (this.timer === null) this.timer = setTimeout(() => { this.timer = null; this.work(); }, wait); }
  work() {
    try {
      if (this.wanted !== null) { this.go(this.wanted); if (this.wanted !== null) this.soon(); }
      else if (this.playing) this.play();
    } catch (error) { this.failed(error); }
  }
  /** Some ticks, and a frame of them. */
  play() {
    const { course } = this, now = performance.now(), rate = (this.speed * course.about.pace) / 1000;
    if (rate && (now < this.due || !this.ready())) { this.soon(Math.max(1, Math.min(this.due - now, 50))); return; }
    const longest = rate ? Infinity : now + Math.max(0.9 * FRAME, this.cost);
    let left = rate ? Math.max(1, Math.round(rate * FRAME)) : Infinity, moved = 1;
    const whole = left;
    while (left > 0 && moved) {
      const begin = performance.now(), ticks = Math.min(left, rate ? left : Math.max(1, Math.floor(this.rate * (longest - begin))));
      moved = course.forward(ticks);
      left -= moved;
      const took = performance.now() - begin;
      if (moved && took > 0) this.rate = this.rate ? 0.7 * this.rate + (0.3 * moved) / took : moved / took;
      if (performance.now() >= longest) break;
    }
    if (!moved) { this.playing = false; this.offer(); this.state(); return; }
    if (rate) this.due = Math.max(now, this.due) + Math.max(FRAME, whole / rate);
    if (this.ready()) this.show();
    else this.dropped += 1;
    this.soon();
  }
  ready() { return this.sent - this.drawn < WINDOW; }
  /** Show the present state, now or as soon as the page is ready. */
  offer() {
    this.owed = true;
    if (this.ready()) this.show();
  }
  show() {
    this.owed = false;
    const begin = performance.now(), { course } = this, fresh = [...course.marks.keys()].filter((t) => t > this.told && t <= course.tick);
    if (fresh.length || this.told < 0) { this.send(course.history(this.told)); this.told = Math.max(0, ...fresh); }
    const frame = course.frame();
    this.sent += 1;
    this.send(frame);
    this.cost = performance.now() - begin;
  }
  state() { this.send({ state: { playing: this.playing, tick: this.course ? this.course.tick : 0, speed: this.speed, dropped: this.dropped } }); }
  send(message) { this.tell({ number: this.number, ...message }); }
}
