// Messages of the server: see frames.py for the format.

const utf8 = new TextDecoder();

/** Header and float32 arrays of a message that starts at an offset of a buffer. */
export function decode(buffer, offset = 0) {
  const view = new DataView(buffer, offset);
  if (view.getUint32(0, false) !== 0x54544631) throw new Error("this is not a frame of tutelage");
  const length = view.getUint32(4, true);
  const header = JSON.parse(utf8.decode(new Uint8Array(buffer, offset + 8, length)));
  const arrays = {};
  let begin = offset + 8 + length;
  for (const [name, shape] of header.arrays) {
    const count = shape.reduce((a, b) => a * b, 1);
    const aligned = begin % 4 === 0;
    const values = aligned
      ? new Float32Array(buffer, begin, count)
      : new Float32Array(buffer.slice(begin, begin + 4 * count));
    arrays[name] = { values, shape };
    begin += 4 * count;
  }
  return { ...header, arrays, end: begin };
}
