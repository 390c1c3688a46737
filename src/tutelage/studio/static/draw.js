// Pictures: a view draws itself on a canvas, or by the same calls into an SVG file.

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const OKABE = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a6d00"];
const OKABE_DARK = ["#4aa8e0", "#e69f00", "#1fc29a", "#f07a2c", "#e09ac6", "#7cc9f2", "#d8c25a"];

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
export const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : prefersDark.matches;
};

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

let known = null;
/** Colours of the theme in force; read anew when that may have changed. */
export function theme(again = false) {
  const isDark = dark();
  if (!again && known?.dark === isDark) return known;
  return known = {
    dark: isDark,
    ink: css("--ink"), soft: css("--soft"), line: css("--line"), card: css("--card"), accent: css("--accent"),
    warm: css("--warm"), good: css("--good"), bad: css("--bad"),
    cycle: isDark ? OKABE_DARK : OKABE,
  };
}

const mix = (a, b, t) => {
  const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "#" + [0, 1, 2].map((i) => Math.round(part(a, i) * (1 - t) + part(b, i) * t).toString(16).padStart(2, "0")).join("");
};

/** Colour of a value in [0, 1] from dark to light, without the end that the background swallows. */
export function sequential(value, isDark) {
  const low = isDark ? 0.28 : 0, high = isDark ? 1 : 0.86;
  const place = Math.min(Math.max(low + (high - low) * value, 0), 1) * (VIRIDIS.length - 1);
  const i = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return mix(VIRIDIS[i], VIRIDIS[i + 1], place - i);
}

/** One colour per teacher unit: distinct ones for a few, from dark to light by strength for more. */
export function unitColours(count, t) {
  if (count <= t.cycle.length) return t.cycle.slice(0, count);
  return Array.from({ length: count }, (_, i) => sequential(i / (count - 1), t.dark));
}

/** Diverging colour of a value in [-1, 1]: orange, background, blue. */
export function diverging(value, t) {
  const ends = t.dark ? ["#f0883e", "#161b22", "#58a6ff"] : ["#b3500a", "#ffffff", "#0a5c9c"];
  const v = Math.min(Math.max(value, -1), 1);
  return v < 0 ? mix(ends[1], ends[0], -v) : mix(ends[1], ends[2], v);
}

export const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** A number as people write it. */
export function short(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "none" : value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e5 || size < 1e-3) return Number(value.toPrecision(2)).toExponential().replace("e+", "e");
  return size >= 100 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));
}

const step = (span, count) => {
  const raw = span / count, base = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((f) => f * base).find((s) => s >= raw);
};

export function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const by = step(high - low, count), out = [];
  for (let v = Math.ceil(low / by - 1e-9) * by; v <= high + by * 1e-9; v += by) out.push(Math.abs(v) < by * 1e-9 ? 0 : v);
  return out;
}

/** The calls of a canvas context that views use, as elements of an SVG file. */
export class SvgContext {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: "", stack: [], shift: "", clips: 0, open: 0 });
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif" });
    Object.assign(this, { textAlign: "start", textBaseline: "alphabetic", dash: [], lineCap: "butt" });
  }
  save() { this.stack.push([this.fillStyle, this.strokeStyle, this.lineWidth, this.globalAlpha, this.font, this.textAlign, this.textBaseline, this.dash, this.shift, this.open]); }
  restore() {
    const open = this.open;
    [this.fillStyle, this.strokeStyle, this.lineWidth, this.globalAlpha, this.font, this.textAlign, this.textBaseline, this.dash, this.shift, this.open] = this.stack.pop();
    for (let i = this.open; i < open; i++) this.parts.push("</g>");
  }
  setLineDash(dash) { this.dash = dash; }
  translate(x, y) { this.shift += `translate(${x} ${y}) `; }
  rotate(a) { this.shift += `rotate(${(a * 180) / Math.PI}) `; }
  beginPath() { this.path = ""; }
  closePath() { this.path += "Z"; }
  moveTo(x, y) { this.path += `M${x.toFixed(2)} ${y.toFixed(2)}`; }
  lineTo(x, y) { this.path += `L${x.toFixed(2)} ${y.toFixed(2)}`; }
  rect(x, y, w, h) { this.path += `M${x.toFixed(2)} ${y.toFixed(2)}h${w.toFixed(2)}v${h.toFixed(2)}h${(-w).toFixed(2)}Z`; }
  arc(x, y, r, from = 0, to = 2 * Math.PI, back = false) {
    if (Math.abs(to - from) >= 2 * Math.PI - 1e-6) { this.path += `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; return; }
    const [x0, y0, x1, y1] = [x + r * Math.cos(from), y + r * Math.sin(from), x + r * Math.cos(to), y + r * Math.sin(to)];
    this.path += `${this.path ? "L" : "M"}${x0} ${y0}A${r} ${r} 0 ${Math.abs(to - from) > Math.PI ? 1 : 0} ${back ? 0 : 1} ${x1} ${y1}`;
  }
  clip() {
    const id = `clip${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    this.open++;
  }
  look(kind) {
    const alpha = this.globalAlpha === 1 ? "" : ` opacity="${this.globalAlpha}"`;
    const turn = this.shift ? ` transform="${this.shift.trim()}"` : "";
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return kind === "fill" ? ` fill="${this.fillStyle}"${alpha}${turn}` : ` fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}${alpha}${turn}`;
  }
  fill() { if (this.path) this.parts.push(`<path d="${this.path}"${this.look("fill")}/>`); }
  stroke() { if (this.path) this.parts.push(`<path d="${this.path}"${this.look("stroke")}/>`); }
  fillRect(x, y, w, h) { this.parts.push(`<rect x="${x}" y="${y}" width="${w}" height="${h}"${this.look("fill")}/>`); }
  strokeRect(x, y, w, h) { this.parts.push(`<rect x="${x}" y="${y}" width="${w}" height="${h}"${this.look("stroke")}/>`); }
  measureText(text) { return { width: 6 * text.length }; }
  fillText(text, x, y) {
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] || "start";
    const base = { middle: "central", top: "hanging" }[this.textBaseline] || "auto";
    const size = /(\d+)px/.exec(this.font)[1];
    const safe = String(text).replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
    this.parts.push(`<text x="${x}" y="${y}" font-family="system-ui, sans-serif" font-size="${size}" text-anchor="${anchor}" dominant-baseline="${base}"${this.look("fill")}>${safe}</text>`);
  }
  drawImage(image, x, y, w, h) {
    this.parts.push(`<image x="${x}" y="${y}" width="${w}" height="${h}" preserveAspectRatio="none" style="image-rendering:${this.imageSmoothingEnabled ? "auto" : "pixelated"}" href="${image.toDataURL()}"${this.shift ? ` transform="${this.shift.trim()}"` : ""}/>`);
  }
  text() { return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${this.parts.join("")}</svg>`; }
}

/** Words as a sentence; a name of a file or setting at the start stays as it is. */
export const sentence = (text) => (/^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text) + (/[.!?]$/.test(text) ? "" : ".");

/** Give the user a file. */
export function download(content, name, type) {
  const link = document.createElement("a");
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A card with a title, a canvas, a tooltip, and buttons that save the picture. Subclasses have `draw(ctx, w, h, theme)`. */
export class View {
  constructor(parent, { title, area, name, hint = "" }) {
    this.name = name || title.toLowerCase().replace(/[^a-z]+/g, "-");
    this.card = document.createElement("section");
    this.card.className = "card";
    this.card.id = `view-${this.name}`;
    if (area) this.card.style.gridArea = area;
    this.card.innerHTML = `<header><h2></h2><span class="hint"></span><span class="save"><button type="button" class="tiny" data-save="png">PNG</button><button type="button" class="tiny" data-save="svg">SVG</button></span></header><div class="picture"></div>`;
    this.heading = this.card.querySelector("h2");
    this.heading.textContent = this.title = title;
    this.hint = this.card.querySelector(".hint");
    this.hint.textContent = hint;
    for (const button of this.card.querySelectorAll("[data-save]")) {
      button.setAttribute("aria-label", `Save ${title} as ${button.dataset.save.toUpperCase()}`);
      button.addEventListener("click", () => this.save(button.dataset.save));
    }
    this.box = this.card.querySelector(".picture");
    parent.append(this.card);
    this.build();
    this.observer = new ResizeObserver(([{ contentRect: r }]) => { this.extent = [Math.round(r.width), Math.round(r.height)]; this.redraw(); });
    this.observer.observe(this.box);
  }
  build() {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", this.title);
    this.box.append(this.canvas);
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.box.append(this.tip);
    this.ctx = this.canvas.getContext("2d", { alpha: false });
    this.canvas.addEventListener("pointermove", (e) => this.pointed(e));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; this.left?.(); });
  }
  /** Words for those who do not see the picture. */
  describe(text) { if (this.canvas.getAttribute("aria-label") !== text) this.canvas.setAttribute("aria-label", text); }
  place(event) { const r = this.canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; }
  pointed(event) {
    const [x, y] = this.place(event);
    const text = this.hover?.(x, y, event);
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const w = this.box.clientWidth, wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, w - wide - 4))}px`;
    this.tip.style.top = `${y > this.box.clientHeight / 2 ? y - this.tip.offsetHeight - 8 : y + 16}px`;
  }
  /** Width and height; asking the page for them at every frame would lay it out anew each time. */
  get size() { return this.extent ?? [this.box.clientWidth, this.box.clientHeight]; }
  redraw() {
    const [w, h] = this.size, ratio = Math.min(devicePixelRatio || 1, 2);
    if (w < 20 || h < 20) return;
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
    }
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint(this.ctx, w, h);
  }
  show(frame) { this.data = frame; this.redraw(); }
  paint(ctx, w, h) {
    const t = theme();
    ctx.globalAlpha = 1;
    ctx.fillStyle = t.card;
    ctx.fillRect(0, 0, w, h);
    this.draw(ctx, w, h, t);
  }
  svg() { const [w, h] = this.size; const ctx = new SvgContext(w, h); this.paint(ctx, w, h); return ctx.text(); }
  save(form) {
    if (form === "svg") download(this.svg(), `${this.name}.svg`, "image/svg+xml");
    else this.canvas.toBlob((blob) => download(blob, `${this.name}.png`));
  }
  remove() { this.observer.disconnect(); this.card.remove(); }

  /** Axes with ticks and labels; sets this.scale with x(value), y(value) and their inverses. */
  axes(ctx, w, h, t, { x, y, xlabel, ylabel, square = false, xticks, yticks, xfmt = short, yfmt = short, log = false, xlog = false }) {
    let left = 46, right = 10, top = 8, bottom = 34;
    if (square) {
      const side = Math.min(w - left - right, h - top - bottom);
      const spare = w - left - right - side;
      left += spare / 2; right += spare / 2;
      const over = h - top - bottom - side;
      top += over / 2; bottom += over / 2;
    }
    const [pw, ph] = [w - left - right, h - top - bottom];
    const fy = log ? Math.log10 : (v) => v;
    const gy = log ? (v) => 10 ** v : (v) => v;
    const [y0, y1] = [fy(y[0]), fy(y[1])];
    const [fx, gx] = xlog ? [Math.log10, (v) => 10 ** v] : [(v) => v, (v) => v];
    const [x0, x1] = [fx(x[0]), fx(x[1])];
    this.scale = {
      left, top, right: w - right, bottom: h - bottom,
      x: (v) => left + ((fx(v) - x0) / (x1 - x0)) * pw,
      y: (v) => top + (1 - (fy(v) - y0) / (y1 - y0)) * ph,
      ix: (p) => gx(x0 + ((p - left) / pw) * (x1 - x0)),
      iy: (p) => gy(y0 + (1 - (p - top) / ph) * (y1 - y0)),
    };
    const s = this.scale;
    ctx.font = "11px system-ui, sans-serif";
    ctx.lineWidth = 1;
    ctx.strokeStyle = t.line;
    ctx.fillStyle = t.soft;
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    for (const v of xticks || (xlog ? decades(x[0], x[1]) : ticks(x[0], x[1], Math.max(2, pw / 70)))) {
      const p = Math.round(s.x(v)) + 0.5;
      ctx.beginPath(); ctx.moveTo(p, top); ctx.lineTo(p, top + ph); ctx.stroke();
      ctx.fillText(xfmt(v), p, top + ph + 4);
    }
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    const marks = yticks || (log ? decades(y[0], y[1]) : ticks(y[0], y[1], Math.max(2, ph / 45)));
    for (const v of marks) {
      const p = Math.round(s.y(v)) + 0.5;
      ctx.beginPath(); ctx.moveTo(left, p); ctx.lineTo(left + pw, p); ctx.stroke();
      ctx.fillText(yfmt(v), left - 5, p);
    }
    ctx.textAlign = "center";
    ctx.fillStyle = t.ink;
    if (xlabel) { ctx.textBaseline = "alphabetic"; ctx.fillText(xlabel, left + pw / 2, h - 5 - (square ? Math.max(0, bottom - 34) : 0)); }
    if (ylabel) {
      ctx.save();
      ctx.translate(Math.max(left - 38, 9), top + ph / 2);
      ctx.rotate(-Math.PI / 2);
      ctx.textBaseline = "middle";
      ctx.fillText(ylabel, 0, 0);
      ctx.restore();
    }
    return s;
  }
}

/** Shows frames to views: the first ones every frame, the others in turn while the page plays. */
export class Rota {
  constructor(context, first, others) { Object.assign(this, { context, first, turns: others.map((view) => ({ view, at: 0, stale: false })) }); }
  show(frame) {
    this.frame = frame;
    for (const view of this.first) view.show(frame);
    for (const turn of this.turns) turn.stale = true;
    if (!this.context.playing) { this.rest(); return; }
    const now = performance.now(), longest = this.turns.reduce((a, b) => (a.at <= b.at ? a : b));
    for (const turn of this.turns) if (turn === longest || now - turn.at > 150) this.draw(turn);
  }
  draw(turn) { Object.assign(turn, { at: performance.now(), stale: false }); turn.view.show(this.frame); }
  /** Bring all views up to date, since the page stands still. */
  rest() { for (const turn of this.turns) if (turn.stale) this.draw(turn); }
}

export const decades = (low, high) => {
  const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9), by = Math.max(1, Math.ceil((to - from) / 5));
  const out = [];
  for (let e = from; e <= to; e += by) out.push(10 ** e);
  return out;
};

/** A function value in [-1, 1] -> [r, g, b] from a table, since colours as text are slow to make. */
export function table(colour, size = 256) {
  const entries = Array.from({ length: size + 1 }, (_, i) => colour((2 * i) / size - 1));
  return (v) => entries[Math.round(((Math.min(Math.max(v, -1), 1) + 1) / 2) * size)];
}

/** Pixels of a grid [rows, columns] as a small canvas, coloured by a function value -> [r, g, b]; `used` is drawn over again. */
export function pixels(values, rows, columns, colour, used = null) {
  const canvas = used || document.createElement("canvas");
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  const ctx = canvas.getContext("2d"), image = ctx.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const rgb = colour(values[i]), at = 4 * i;
    image.data[at] = rgb[0];
    image.data[at + 1] = rgb[1];
    image.data[at + 2] = rgb[2];
    image.data[at + 3] = 255;
  }
  ctx.putImageData(image, 0, 0);
  return canvas;
}

/** An upper limit that moves in steps, so that axes stand still while values move. */
export function niceLimit(value) {
  if (!(value > 0)) return 1;
  const base = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((f) => f * base).find((v) => v >= value * 1.0001);
}

export const median = (values) => {
  const finite = [...values].filter(Number.isFinite).sort((a, b) => a - b);
  if (!finite.length) return NaN;
  const half = finite.length >> 1;
  return finite.length % 2 ? finite[half] : (finite[half - 1] + finite[half]) / 2;
};
