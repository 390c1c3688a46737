// The page: tabs, settings, transport, the state in the address, keyboard. Scenes are modules of their own.

import { EngineSource, LiveSource, ReplaySource } from "./source.js";
import { buildControls, fillControls } from "./controls.js";
import { dark, download, sentence, short } from "./draw.js";
import { compare } from "./compare.js";
import { distillation } from "./distillation.js";
import { flow } from "./flow.js";
import { folds } from "./folds.js";
import { margins } from "./margins.js";
import { results } from "./results.js";
import { pythonOnly } from "./python_only.js";
import { specialisation } from "./specialisation.js";
import { target } from "./target.js";
import { TARGET } from "./target_about.js";
import { Tour } from "./tour.js";
import { explained } from "./words.js";

const PAGES = { specialisation, target, flow, margins, distillation, folds, compare, results };
let tour = null; // of the playground
const $ = (id) => document.getElementById(id);
const shell = { scene: null, page: null, state: null, playing: false, look: {}, preset: null, ticks: 1 };
let source, scenes;

/** The state that the address holds. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const json = (name, fallback) => { try { return JSON.parse(given.get(name)) ?? fallback; } catch { return fallback; } };
  return { scene: given.get("scene"), preset: given.get("preset"), tick: Number(given.get("tick")) || 0, settings: json("settings", {}), events: json("events", []), look: json("look", {}) };
}

let written = 0, later = 0;
/** Put the state into the address, at once or soon: a browser takes a millisecond for it, and more where it plays. */
function writeAddress(now = false) {
  if (!shell.state || (later && !now)) return;
  if (!now && performance.now() - written < 400) { later = setTimeout(() => { later = 0; writeAddress(true); }, shell.playing ? 10000 : 400); return; }
  clearTimeout(later);
  later = 0;
  written = performance.now();
  const given = new URLSearchParams({ scene: shell.scene.name });
  if (shell.preset) given.set("preset", shell.preset);
  if (shell.state.tick) given.set("tick", shell.state.tick);
  for (const name of ["settings", "events"]) if (Object.keys(shell.state[name] || {}).length) given.set(name, JSON.stringify(shell.state[name]));
  if (Object.keys(shell.look).length) given.set("look", JSON.stringify(shell.look));
  history.replaceState(null, "", `#${given}`);
}

function message(text, kind = "bad") {
  $("message").hidden = !text;
  $("message").textContent = text || "";
  $("message").dataset.kind = kind;
}

/** What scenes may use of the page. */
const context = {
  get live() { return source.live; },
  get look() { return shell.look; },
  get playing() { return shell.playing; },
  get token() { return source.token; },
  settings: () => shell.defaults,
  message,
  ask: (question) => source.ask(question),
  post: (...args) => source.post(...args),
  looked(change) { shell.look = { ...shell.look, ...change }; source.send({ do: "look", look: shell.look }); writeAddress(true); },
  change(change) { source.send({ do: "change", change }); },
  set(change) { openScene({ settings: { ...shell.state.settings, ...change }, events: [], tick: shell.state.tick }); },
  open: (name, state) => openNamed(name, state),
};

function openNamed(name, state = {}) {
  const scene = scenes.find((s) => s.name === name) || scenes[0];
  const preset = scene.presets.find((p) => p.name === state.preset) || (Object.keys(state.settings || {}).length ? null : scene.presets[0]);
  if (shell.page) shell.page.remove();
  $("views").textContent = "";
  $("views").className = scene.name;
  Object.assign(shell, { scene, preset: preset?.name ?? null, look: state.look || {}, state: null, history: null });
  for (const tab of $("tabs").children) {
    tab.setAttribute("aria-current", tab.dataset.scene === scene.name ? "page" : "false");
    if (tab.dataset.scene === scene.name) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  document.title = `${scene.title} · tutelage studio`;
  document.body.classList.toggle("still", !scene.plays);
  for (const form of ["yaml", "python", "replay"]) document.querySelector(`[data-form="${form}"]`).parentElement.hidden = !source.server || !scene.forms.includes(form);
  $("about").hidden = scene.plays;
  $("about").textContent = scene.about;
  $("preset").textContent = "";
  for (const p of scene.presets) $("preset").add(new Option(p.title, p.name));
  $("preset").add(new Option("own settings", ""));
  $("preset").parentElement.hidden = !scene.presets.length;
  showPreset();
  buildControls($("controls"), scene.fields, chosen);
  message("");
  const make = scene.plays || source.server ? PAGES[scene.name] : pythonOnly(scene);
  shell.page = make($("views"), context);
  if (!scene.plays) { shell.state = { scene: name, settings: state.settings || {}, events: [], tick: 0 }; writeAddress(true); shell.page.opened?.(shell.state); return; }
  openScene({ settings: state.settings && Object.keys(state.settings).length ? state.settings : preset?.settings || {}, events: state.events || [], tick: state.tick || 0 });
}

/** The scene of an address, or the first one with a sentence that says why. */
function openAddress(state) {
  openNamed(state.scene, state);
  if (!state.scene || state.scene === shell.scene.name) return;
  const place = state.scene === TARGET.name ? ": it is in the playground" : "";
  message(`This page has no scene '${state.scene.slice(0, 40)}'${place}.`, "note-kept");
}

function openScene(state) {
  message("");
  $("status").textContent = source.live ? "computing" : "";
  source.open({ scene: shell.scene.name, look: shell.look, ...state });
}

function showPreset() {
  const preset = shell.scene.presets.find((p) => p.name === shell.preset);
  $("preset").value = preset ? preset.name : "";
  explained($("look"), preset ? preset.look : shell.scene.about);
  tour?.offer(preset);
  $("source").textContent = preset?.source || "";
}

const saysPreset = (settings) => shell.scene.presets.find((p) => JSON.stringify(p.settings) === JSON.stringify(settings));

/** A control was changed: on the way where that is possible, from the start otherwise. */
function chosen(field, value) {
  if (field.live && shell.state.tick > 0) { source.send({ do: "change", change: { [field.name]: value } }); return; }
  const settings = { ...shell.state.settings, [field.name]: value };
  if (value === field.default) delete settings[field.name];
  for (const name of field.drops) delete settings[name]; // places that were given: units and points are drawn anew
  shell.preset = null;
  showPreset();
  openScene({ settings, events: [], tick: 0 });
}

function listen() {
  for (const type of ["opened", "changed", "state", "error"]) source.addEventListener(type, drawWaiting);
  document.addEventListener("visibilitychange", () => { drawWaiting(); if (!document.hidden && shell.frame && shell.scene.plays) shell.page.frame(shell.frame); });
  source.addEventListener("opened", ({ detail }) => {
    shell.state = detail.opened;
    shell.fallback = false;
    shell.defaults = detail.defaults;
    shell.ticks = detail.ticks;
    shell.preset = shell.preset ?? saysPreset(shell.state.settings)?.name ?? null;
    showPreset();
    fillControls($("controls"), now());
    $("timeline").max = detail.ticks;
    showEvents();
    shell.page.opened?.(detail);
    writeAddress(true);
  });
  source.addEventListener("changed", ({ detail }) => { shell.state = detail; fillControls($("controls"), now()); showEvents(); shell.page.changed?.(detail); writeAddress(true); message(""); });
  source.addEventListener("history", ({ detail }) => { shell.history = joined(shell.history, detail); shell.page.history?.(shell.history); });
  source.addEventListener("frame", ({ detail }) => frameCame(detail));
  source.addEventListener("state", ({ detail }) => { stateCame(detail); });
  source.addEventListener("error", ({ detail }) => {
    if (!shell.state && !shell.fallback) { // a link that cannot be opened: its scene as it comes
      shell.fallback = true;
      openNamed(shell.scene.name);
    }
    message(sentence(detail));
    $("status").textContent = "";
    if (shell.state) fillControls($("controls"), now());
  });
  source.addEventListener("offline", ({ detail }) => { shell.offline = true; $("status").textContent = detail.full ? "too many pages are open" : "connecting again"; });
  source.addEventListener("online", () => {
    $("status").textContent = "";
    if (shell.offline && shell.state && shell.scene.plays) openScene({ settings: shell.state.settings, events: shell.state.events, tick: shell.state.tick });
    shell.offline = false;
  });
}

/** Settings in force: the defaults, what the link says, and changes on the way up to now. */
function now() {
  const values = { ...shell.defaults };
  for (const [tick, change] of shell.state.events) if (tick <= shell.state.tick) for (const [n, v] of Object.entries(change)) if (n in values) values[n] = v;
  return values;
}

function joined(before, detail) {
  if (detail.after < 0 || !before) return detail;
  const arrays = {};
  for (const [name, { values, shape }] of Object.entries(detail.arrays)) {
    const old = before.arrays[name];
    const all = new Float32Array((old ? old.values.length : 0) + values.length);
    if (old) all.set(old.values);
    all.set(values, old ? old.values.length : 0);
    arrays[name] = { values: all, shape: [(old ? old.shape[0] : 0) + shape[0], ...shape.slice(1)] };
  }
  return { ...detail, ticks: [...before.ticks, ...detail.ticks], times: [...before.times, ...detail.times], arrays: { ...before.arrays, ...arrays } };
}

let waiting = null, clocked = 0;
/** A frame is drawn when the browser paints next; of two that come before that, the later one. */
function frameCame(frame) {
  if (waiting) frame.done?.(); // for the one that is left out
  else if (!document.hidden) requestAnimationFrame(drawWaiting);
  waiting = frame;
  if (document.hidden) drawWaiting(); // nothing is painted then
}

/** Draw the frame that waits, if any; messages that follow it must find it drawn. */
function drawWaiting() {
  const frame = waiting;
  waiting = null;
  if (!frame) return;
  if (shell.state && shell.scene.plays) showFrame(frame); // one that comes late is of the scene before
  frame.done?.();
}

function showFrame(frame) {
  shell.state.tick = frame.tick;
  shell.frame = frame;
  shell.frames = (shell.frames || 0) + 1;
  if (!shell.playing || performance.now() - clocked > 240) showClock();
  shell.page.frame(frame);
  tour?.frame(frame);
  writeAddress();
}

/** Clock, timeline and note of the present frame; at every frame they would cost more than the pictures. */
function showClock() {
  const frame = shell.frame;
  if (!frame) return;
  clocked = performance.now();
  if ($("status").textContent === "computing") $("status").textContent = "";
  if (document.activeElement !== $("timeline") || !shell.dragging) $("timeline").value = frame.tick;
  const text = `${shell.scene.clock} ${short(frame.time)}${shell.scene.unit ? ` ${shell.scene.unit}` : ""}`;
  $("clock").textContent = text;
  $("timeline").setAttribute("aria-valuetext", text);
  if (frame.words.note) message(sentence(frame.words.note), "note");
  else if ($("message").dataset.kind === "note") message("");
}

function stateCame(state) {
  shell.playing = state.playing;
  showClock();
  shell.dropped = state.dropped;
  $("play").querySelector("path").setAttribute("d", state.playing ? "M3.5 2h3.4v12H3.5zM9.1 2h3.4v12H9.1z" : "M4 2v12l10-6z");
  $("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
  shell.page?.state?.(state);
  writeAddress(true);
}

function showEvents() {
  $("events").textContent = "";
  for (const [tick] of shell.state.events) {
    const mark = document.createElement("i");
    mark.style.left = `${(100 * tick) / shell.ticks}%`;
    $("events").append(mark);
  }
}

const speed = () => Number($("speed").value);
const toggle = () => source.send(shell.playing ? { do: "pause" } : { do: "play", speed: speed() });
const seek = (tick) => source.send({ do: "seek", tick: Math.round(tick) });

function keys(event) {
  const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.id !== "timeline";
  if (event.ctrlKey || event.metaKey || event.altKey || inField || $("helper").open) return;
  const plays = shell.scene?.plays;
  const onButton = event.target.tagName === "BUTTON" || event.target.getAttribute?.("role") === "menuitem";
  const actions = {
    " ": () => plays && !onButton && toggle(),
    ArrowRight: () => plays && source.send({ do: "seek", by: event.shiftKey ? 10 : 1 }),
    ArrowLeft: () => plays && source.send({ do: "seek", by: event.shiftKey ? -10 : -1 }),
    Home: () => plays && seek(0),
    End: () => plays && seek(shell.ticks),
    "?": () => $("helper").showModal(),
    t: () => $("theme").click(),
  };
  if (/^[1-9]$/.test(event.key) && scenes[event.key - 1] && source.live) { openNamed(scenes[event.key - 1].name); event.preventDefault(); return; }
  const action = actions[event.key];
  if (event.key === " " && onButton) return;
  if (action) { event.preventDefault(); action(); } else shell.page?.key?.(event);
}

async function save(form) {
  const views = shell.page.views || [];
  if (form === "png" || form === "svg") { for (const view of views) if (view.card.isConnected && !view.card.hidden) view.save(form); return; }
  writeAddress(true);
  if (form === "link") {
    const link = location.href.replace(/\?token=[^#]*/, "");
    try { await navigator.clipboard.writeText(link); message("The link is on the clipboard. It opens this state on any server of tutelage studio, and in the playground: paste the part after # behind its address.", "note-kept"); } catch { message(`Copy the part after # of the address of this page: ${location.hash}`, "note-kept"); }
    return;
  }
  try {
    $("status").textContent = form === "replay" ? "computing the replay" : "";
    const { scene, settings, events, tick } = shell.state;
    const response = await source.post("/save", { form, scene, settings, events, tick, look: shell.look });
    const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition"))[1];
    download(await response.blob(), name);
  } catch (error) { message(sentence(error.message)); }
  $("status").textContent = "";
}

function wire() {
  $("play").onclick = toggle;
  $("reset").onclick = () => seek(0);
  $("back").onclick = () => source.send({ do: "seek", by: -1 });
  $("forward").onclick = () => source.send({ do: "seek", by: 1 });
  $("speed").onchange = () => source.send({ do: "speed", speed: speed() });
  $("timeline").oninput = () => { shell.dragging = true; seek(Number($("timeline").value)); };
  $("timeline").onchange = () => { shell.dragging = false; };
  $("preset").onchange = () => { if ($("preset").value) openNamed(shell.scene.name, { preset: $("preset").value }); };
  $("controls").onsubmit = (event) => event.preventDefault();
  $("help").onclick = () => $("helper").showModal();
  $("help-close").onclick = () => $("helper").close();
  $("theme").onclick = () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("tutelage-theme", document.documentElement.dataset.theme); } catch { /* a file may have no storage */ }
    retheme();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
  const menu = $("save-menu").querySelector("ul");
  const closed = (hidden) => { menu.hidden = hidden; $("save").setAttribute("aria-expanded", String(!hidden)); };
  $("save").onclick = () => { closed(!menu.hidden); if (!menu.hidden) menu.querySelector("li:not([hidden]) button").focus(); };
  menu.onclick = (event) => { if (event.target.dataset.form) { closed(true); $("save").focus(); save(event.target.dataset.form); } };
  $("save-menu").addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("button")].filter((b) => !b.parentElement.hidden);
    const at = items.indexOf(document.activeElement);
    if (event.key === "Escape") { closed(true); $("save").focus(); event.stopPropagation(); }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); event.stopPropagation(); items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length]?.focus(); }
  });
  document.addEventListener("click", (event) => { if (!$("save-menu").contains(event.target)) closed(true); });
  document.addEventListener("keydown", keys);
  addEventListener("hashchange", () => openAddress(readAddress()));
}

function retheme() {
  for (const view of shell.page?.views || []) { view.retheme?.(); view.redraw(); }
  shell.page?.retheme?.();
}

async function begin() {
  try { const kept = localStorage.getItem("tutelage-theme"); if (kept) document.documentElement.dataset.theme = kept; } catch { /* see above */ }
  const inside = $("replay");
  if (inside) {
    const replay = JSON.parse(inside.textContent);
    document.body.classList.add("replay");
    source = new ReplaySource(replay, $("frames").textContent);
    scenes = [replay.about];
    await source.load();
    document.querySelector('[data-form="link"]').parentElement.hidden = true;
  } else if ($("playground")) {
    const about = JSON.parse($("playground").textContent).scenes, played = about.filter((s) => s.plays);
    played.splice(1, 0, TARGET);
    scenes = [...played, ...about.filter((s) => !s.plays)];
    document.body.classList.add("playground");
    document.querySelector("h1 span").textContent = "playground";
    source = new EngineSource($("engine").textContent, played);
    tour = new Tour($("panel"), { seek, ticks: () => shell.ticks, pause: () => source.send({ do: "pause" }) });
  } else {
    const token = new URLSearchParams(location.search).get("token") || "";
    const response = await fetch(`/scenes?token=${encodeURIComponent(token)}`);
    if (!response.ok) { message(sentence((await response.json()).error)); return; }
    scenes = (await response.json()).scenes.filter((s) => PAGES[s.name]);
    source = new LiveSource(token);
  }
  for (const [i, scene] of scenes.entries()) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.dataset.scene = scene.name;
    tab.textContent = scene.title;
    tab.title = `${scene.about} (${i + 1})`;
    tab.onclick = () => openNamed(scene.name);
    $("tabs").append(tab);
  }
  $("last-scene").textContent = scenes.length;
  $("last-scene").parentElement.hidden = $("last-scene").parentElement.nextElementSibling.hidden = scenes.length < 2;
  wire();
  listen();
  const state = inside ? { scene: scenes[0].name, settings: source.replay.state.settings, look: source.replay.state.look } : readAddress();
  openAddress(state);
  for (const input of $("controls").elements) if (inside) input.disabled = true;
  $("preset").disabled = !!inside;
}

shell.source = () => source;
window.studio = shell; // for tests and for the curious
begin();
