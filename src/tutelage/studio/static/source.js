// Where frames come from: a live server, the frames inside a replay, or an engine in a worker beside the page.

import { decode } from "./frame.js";

const DRAWN = JSON.stringify({ do: "drawn" });

/** A WebSocket to the server; connects again when the network was lost, and opens the same state. */
export class LiveSource extends EventTarget {
  constructor(token) {
    super();
    Object.assign(this, { token, number: 0, wait: 250, waiting: new Map(), asked: 0, live: true, server: true, queue: [] });
    this.connect();
  }
  connect() {
    this.socket = new WebSocket(`ws://${location.host}/live?token=${encodeURIComponent(this.token)}`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.wait = 250;
      this.emit("online");
      for (const message of this.queue.splice(0)) this.socket.send(message);
    };
    this.socket.onmessage = (event) => this.received(event.data);
    this.socket.onclose = (event) => {
      if (this.gone) return;
      this.emit("offline", { denied: event.code === 1008 || event.code === 1006 && !this.seen, full: event.code === 1013 });
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, 4000);
    };
  }
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
  received(data) {
    this.seen = true;
    if (typeof data === "string") {
      const message = JSON.parse(data);
      if (message.answer !== undefined) {
        this.waiting.get(message.id)?.(message.answer);
        this.waiting.delete(message.id);
      } else if (message.number === this.number) {
        for (const type of ["opened", "changed", "state", "error"]) if (message[type] !== undefined) this.emit(type, type === "opened" ? message : message[type]);
      }
      return;
    }
    const number = new DataView(data).getUint32(0, true);
    if (number === this.number) {
      const frame = decode(data, 8);
      frame.bytes = data;
      if (frame.kind === "frame") frame.done = () => this.drawn();
      this.emit(frame.kind, frame);
      if (frame.done) return;
    }
    this.drawn();
  }
  /** Tell the server that a frame has been drawn, so that it may send another. */
  drawn() { if (this.socket.readyState === WebSocket.OPEN) this.socket.send(DRAWN); }
  send(message) {
    const text = JSON.stringify(message);
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else if (this.socket.readyState === WebSocket.CONNECTING) this.queue.push(text);
  }
  open(state) { this.number += 1; this.queue = []; this.send({ do: "open", number: this.number, ...state }); }
  ask(question) {
    const id = ++this.asked;
    this.send({ do: "ask", id, question });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }
  async post(path, body, raw = false) {
    const response = await fetch(`${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(this.token)}`, { method: "POST", body: raw ? body : JSON.stringify(body) });
    if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error || `the server answered ${response.status}`);
    return response;
  }
}

/** The frames of a replay, played by a clock of its own. */
export class ReplaySource extends EventTarget {
  constructor(replay, packed) {
    super();
    Object.assign(this, { replay, packed, live: false, speed: 1, playing: false, place: 0, frames: [] });
  }
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
  async load() {
    const bytes = Uint8Array.from(atob(this.packed), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(plain).arrayBuffer();
    for (let at = 0; at < buffer.byteLength; ) {
      const length = new DataView(buffer).getUint32(at, true);
      this.frames.push(decode(buffer.slice(at + 4, at + 4 + length)));
      at += 4 + length;
    }
    this.history = this.frames.shift();
  }
  open() {
    this.emit("opened", { opened: this.replay.state, defaults: this.replay.defaults, ticks: this.replay.state.until });
    this.show();
  }
  show() {
    const frame = this.frames[this.place], h = this.history;
    const count = h.ticks.filter((t) => t <= frame.tick).length;
    const arrays = {};
    for (const [name, { values, shape }] of Object.entries(h.arrays)) {
      const row = shape.slice(1).reduce((a, b) => a * b, 1);
      arrays[name] = { values: values.subarray(0, count * row), shape: [count, ...shape.slice(1)] };
    }
    this.emit("history", { ...h, after: -1, ticks: h.ticks.slice(0, count), times: h.times.slice(0, count), arrays });
    this.emit("frame", frame);
    this.emit("state", { playing: this.playing, tick: frame.tick, speed: this.speed });
  }
  send(message) {
    if (message.do === "play") {
      this.speed = message.speed ?? this.speed;
      if (this.place >= this.frames.length - 1) this.place = 0;
      this.playing = true;
      clearInterval(this.timer);
      this.timer = setInterval(() => this.next(), this.speed === 0 ? 40 : Math.max(40, 160 / this.speed));
    }
    if (message.do === "speed") { this.speed = message.speed; if (this.playing) this.send({ do: "play", speed: message.speed }); }
    if (message.do === "pause") this.stop();
    if (message.do === "seek") {
      const tick = message.tick ?? this.frames[this.place].tick;
      const near = this.frames.map((f, i) => [Math.abs(f.tick - tick), i]).sort((a, b) => a[0] - b[0])[0][1];
      this.place = Math.min(Math.max(message.tick === undefined ? this.place + Math.sign(message.by) : near, 0), this.frames.length - 1);
      if (!message.play) this.playing = false, clearInterval(this.timer);
    }
    this.show();
  }
  next() { if (this.place < this.frames.length - 1) { this.place += 1; this.show(); } else this.stop(); }
  stop() { this.playing = false; clearInterval(this.timer); this.show(); }
  ask() { return Promise.resolve({ error: "A replay has pictures only: run tutelage studio for the story of a unit." }); }
}

/** The engine of the playground: the conversation of LiveSource with a worker that computes what the server would. */
export class EngineSource extends EventTarget {
  constructor(program, scenes) {
    super();
    Object.assign(this, { number: 0, waiting: new Map(), asked: 0, live: true, server: false });
    const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.onmessage = ({ data }) => this.received(data);
    this.worker.onerror = (event) => this.emit("error", `the engine has stopped (${event.message || "it could not be started"}): reload the page`);
    this.worker.postMessage({ scenes });
  }
  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
  received(message) {
    if (message.answer !== undefined) {
      this.waiting.get(message.id)?.(message.answer);
      this.waiting.delete(message.id);
    } else if (message.number !== this.number) {
      if (message.kind === "frame") this.drawn();
    } else if (message.kind === "frame") this.emit("frame", { ...message, done: () => this.drawn() });
    else if (message.kind) this.emit(message.kind, message);
    else for (const type of ["opened", "changed", "state", "error"]) if (message[type] !== undefined) this.emit(type, type === "opened" ? message : message[type]);
  }
  drawn() { this.worker.postMessage({ do: "drawn" }); }
  send(message) { this.worker.postMessage(JSON.parse(JSON.stringify(message))); } // a link has no undefined entries
  open(state) { this.number += 1; this.send({ do: "open", number: this.number, ...state }); }
  ask(question) {
    const id = ++this.asked;
    this.send({ do: "ask", id, question });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }
  post() { return Promise.reject(new Error("this page has no server: run tutelage studio for files")); }
}
