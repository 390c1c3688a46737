// Thousands of points as pixels: a browser without a GPU draws them so in a fraction of the time that paths take.

const OPACITY = 90; // of a point, out of 256

/** The colour `over` laid on the colour `under`, both 0xbbggrr, with a weight out of 256. */
function blend(under, over, weight) {
  const rb = under & 0xff00ff, g = under & 0xff00;
  const mixedRb = (rb + (Math.imul((over & 0xff00ff) - rb, weight) >>> 8)) & 0xff00ff;
  const mixedG = (g + (Math.imul((over & 0xff00) - g, weight) >>> 8)) & 0xff00;
  return mixedRb | mixedG;
}

const packed = (hex) => parseInt(hex.slice(5, 7) + hex.slice(3, 5) + hex.slice(1, 3), 16);

/** A picture of points over a background that changes rarely. */
export class Cloud {
  constructor() {
    this.sheet = document.createElement("canvas");
    this.ctx = this.sheet.getContext("2d", { alpha: false, willReadFrequently: true });
    this.stamps = new Map();
  }

  /** Draw the background by `paint(ctx)` unless it is there already, which a key says; start from it. */
  begin(key, width, height, ratio, paint) {
    if (key !== this.key) {
      Object.assign(this, { key, width, height, ratio });
      Object.assign(this.sheet, { width, height });
      this.stamps.clear();
      this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint(this.ctx);
      this.base = new Uint32Array(this.ctx.getImageData(0, 0, width, height).data.buffer);
      this.image = this.ctx.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.set(this.base);
  }

  /** Squares at x0 + dx * xs[i], y0 + dy * ys[i] in the colours of `who`; of one colour alone where `only` is given. */
  points(xs, ys, who, colours, { x0, y0, dx, dy }, only) {
    const { pixels, width, height, ratio } = this, side = Math.max(2, Math.round(2 * ratio)), ink = colours.map(packed);
    const [px, py, sx, sy] = [x0 * ratio - side / 2 + 0.5, y0 * ratio - side / 2 + 0.5, dx * ratio, dy * ratio];
    for (let i = 0; i < xs.length; i++) {
      const x = (px + sx * xs[i]) | 0, y = (py + sy * ys[i]) | 0, colour = ink[who[i]];
      if (x < 0 || x > width - side || y < 0 || y > height - side || colour === undefined || (only !== undefined && only !== who[i])) continue;
      for (let row = y * width + x, end = row + side * width; row < end; row += width)
        for (let at = row; at < row + side; at++) pixels[at] = blend(pixels[at], colour, OPACITY) | 0xff000000;
    }
  }

  /** A disc with a rim, as a list of pixels: made once for each colour. */
  stamp(colour, rim) {
    if (this.stamps.has(colour)) return this.stamps.get(colour);
    const size = 2 * Math.ceil(5.5 * this.ratio), small = document.createElement("canvas");
    Object.assign(small, { width: size, height: size });
    const ctx = small.getContext("2d", { willReadFrequently: true });
    ctx.setTransform(this.ratio, 0, 0, this.ratio, size / 2, size / 2);
    Object.assign(ctx, { fillStyle: colour, strokeStyle: rim, lineWidth: 1 });
    ctx.beginPath(); ctx.arc(0, 0, 4, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
    const data = new Uint32Array(ctx.getImageData(0, 0, size, size).data.buffer);
    const found = { size, data };
    this.stamps.set(colour, found);
    return found;
  }

  /** A disc at a place. */
  disc(x, y, colour, rim) {
    const { size, data } = this.stamp(colour, rim), { pixels, width, height } = this;
    const left = Math.round(x * this.ratio - size / 2), top = Math.round(y * this.ratio - size / 2);
    if (!(left >= 0 && top >= 0 && left + size <= width && top + size <= height)) return;
    for (let r = 0; r < size; r++) for (let c = 0; c < size; c++) {
      const over = data[r * size + c], weight = over >>> 24;
      if (!weight) continue;
      const at = (top + r) * width + left + c;
      pixels[at] = blend(pixels[at], over & 0xffffff, weight + (weight >> 7)) | 0xff000000;
    }
  }

  /** Put the picture on a canvas of the same size. */
  end(ctx) { ctx.putImageData(this.image, 0, 0); }
}
