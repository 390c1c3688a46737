// Curves over time, drawn by uPlot on the screen and by the calls of a view into SVG files.

import uPlot from "./uplot.js";
import { View, decades, download, short, theme } from "./draw.js";

/** Series over a common axis: `show(x, series)` with series {values, colour, width, label}. */
export class CurveView extends View {
  constructor(parent, options) {
    super(parent, options);
    this.options = options;
  }
  build() {
    this.canvas = document.createElement("div");
    this.canvas.className = "chart";
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", this.title);
    this.box.append(this.canvas);
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.box.append(this.tip);
    this.x = [];
    this.series = [];
  }
  show(x, series) {
    const same = this.chart && this.series.length === series.length && series.every((s, i) => s.colour === this.series[i].colour && s.width === this.series[i].width);
    this.x = x;
    this.series = series;
    if (!same) this.rebuild();
    else this.chart.setData(this.data());
  }
  data() {
    const log = this.options.log;
    const clean = (v) => (Number.isFinite(v) && (!log || v > 0) ? v : null);
    return [Array.from(this.x), ...this.series.map((s) => Array.from(s.values, clean))];
  }
  rebuild() {
    this.chart?.destroy();
    this.chart = null;
    const [w, h] = this.size;
    if (w < 40 || h < 40 || !this.series.length) return;
    const t = theme(), font = "11px system-ui, sans-serif";
    const axis = { stroke: t.soft, font, labelFont: font, grid: { stroke: t.line, width: 1 }, ticks: { show: false }, labelSize: 16, labelGap: 0, gap: 3 };
    const o = this.options;
    this.chart = new uPlot({
      width: w, height: h, legend: { show: false }, padding: [8, 18, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false }, y: false },
      scales: { x: { time: false, distr: o.xlog ? 3 : 1, range: o.xrange }, y: { distr: o.log ? 3 : 1, range: o.yrange } },
      axes: [
        { ...axis, label: o.xlabel, size: 22, values: (_, v) => v.map((n) => (n == null ? "" : short(n))) },
        { ...axis, label: o.ylabel, size: 42, ...(o.log ? { splits: (u) => decades(u.scales.y.min, u.scales.y.max) } : {}), values: (_, v) => v.map((n) => (n == null ? "" : short(n))) },
      ],
      series: [{}, ...this.series.map((s) => ({ stroke: s.colour, width: s.width || 1, dash: s.dash, points: { show: !!s.points, size: 4, fill: s.colour }, spanGaps: false }))],
      hooks: { setCursor: [(u) => this.cursor(u)] },
    }, this.data(), this.canvas);
  }
  cursor(u) {
    const i = u.cursor.idx;
    const named = this.series.filter((s) => s.label);
    if (i == null || u.cursor.left < 0 || !named.length) { this.tip.hidden = true; return; }
    this.tip.hidden = false;
    this.tip.textContent = [`${this.options.xlabel} ${short(this.x[i])}`, ...named.slice(0, 12).map((s) => `${s.label}: ${short(s.values[i])}`)].join("\n");
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(u.cursor.left + 60, this.box.clientWidth - wide - 4))}px`;
    this.tip.style.top = "8px";
  }
  redraw() {
    const [w, h] = this.size;
    if (!this.chart || w < 40 || h < 40) { this.rebuild(); return; }
    if (this.chart.width !== w || this.chart.height !== h) this.chart.setSize({ width: w, height: h });
  }
  retheme() { this.rebuild(); }
  draw(ctx, w, h, t) {
    const all = this.series.flatMap((s) => Array.from(s.values)).filter((v) => Number.isFinite(v) && (!this.options.log || v > 0));
    if (!all.length) return;
    const low = Math.min(...all), high = Math.max(...all);
    const y = this.options.yrange && !this.options.log ? this.options.yrange(null, low, high) : this.options.log ? [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))] : [Math.min(0, low), high];
    const x = [Math.min(...this.x), Math.max(...this.x)];
    const s = this.axes(ctx, w, h, t, { x, y, xlabel: this.options.xlabel, ylabel: this.options.ylabel, log: this.options.log });
    for (const one of this.series) {
      ctx.beginPath();
      let pen = false;
      Array.from(one.values).forEach((v, i) => {
        if (!Number.isFinite(v) || (this.options.log && v <= 0)) { pen = false; return; }
        if (pen) ctx.lineTo(s.x(this.x[i]), s.y(v));
        else ctx.moveTo(s.x(this.x[i]), s.y(v));
        pen = true;
      });
      ctx.strokeStyle = one.colour;
      ctx.lineWidth = one.width || 1;
      ctx.setLineDash(one.dash || []);
      ctx.stroke();
      ctx.setLineDash([]);
    }
  }
  save(form) {
    if (form === "svg") return super.save(form);
    const source = this.canvas.querySelector("canvas");
    if (!source) return;
    const copy = document.createElement("canvas");
    copy.width = source.width;
    copy.height = source.height;
    const ctx = copy.getContext("2d");
    ctx.fillStyle = theme().card;
    ctx.fillRect(0, 0, copy.width, copy.height);
    ctx.drawImage(source, 0, 0);
    copy.toBlob((blob) => download(blob, `${this.name}.png`));
  }
}
