// A small parser of formulas in x and y: text in, a function out; nothing is ever evaluated as code.
//   sum = product (("+" | "-") product)*      product = sign (("*" | "/") sign)*     sign = "-"* power
//   power = atom ("^" sign)?                  atom = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

const ONE = {
  sin: Math.sin, cos: Math.cos, tan: Math.tan, exp: Math.exp, log: Math.log, sqrt: Math.sqrt, abs: Math.abs, tanh: Math.tanh,
  sign: Math.sign, floor: Math.floor, relu: (v) => Math.max(0, v), step: (v) => (v > 0 ? 1 : 0),
};
const TWO = { max: Math.max, min: Math.min };
const CONSTANTS = { pi: Math.PI, e: Math.E };
const LONGEST = 200, DEEPEST = 60; // letters, and brackets within brackets
export const FUNCTIONS = [...Object.keys(ONE), ...Object.keys(TWO)];

/**
 * The function that a formula says: (x, y) -> number.
 * @param {string} text
 * @param {number} inputs 1: only x may occur
 */
export function parsed(text, inputs) {
  if (typeof text !== "string" || !text.trim()) throw new Error("type a formula in x, such as sin(2*x)");
  if (text.length > LONGEST) throw new Error(`a formula has at most ${LONGEST} letters, got ${text.length}`);
  const tokens = text.match(/\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|[a-zA-Z]+|\S/g);
  let place = 0, depth = 0;
  const next = () => tokens[place], take = (token) => (tokens[place] === token ? (place += 1, true) : false);
  const wanted = (token) => { if (!take(token)) throw new Error(`the formula needs '${token}' ${next() === undefined ? "at its end" : `before '${next()}'`}`); };

  function sum() {
    if (++depth > DEEPEST) throw new Error(`a formula has at most ${DEEPEST} brackets within brackets`);
    let left = product();
    for (;;) {
      if (take("+")) { const [a, b] = [left, product()]; left = (x, y) => a(x, y) + b(x, y); }
      else if (take("-")) { const [a, b] = [left, product()]; left = (x, y) => a(x, y) - b(x, y); }
      else { depth -= 1; return left; }
    }
  }
  function product() {
    let left = sign();
    for (;;) {
      if (take("*")) { const [a, b] = [left, sign()]; left = (x, y) => a(x, y) * b(x, y); }
      else if (take("/")) { const [a, b] = [left, sign()]; left = (x, y) => a(x, y) / b(x, y); }
      else return left;
    }
  }
  function sign() {
    let negative = false;
    while (next() === "-" || next() === "+") negative = tokens[place++] === "-" ? !negative : negative;
    const inner = power();
    return negative ? (x, y) => -inner(x, y) : inner;
  }
  function power() {
    const base = atom();
    if (!take("^")) return base;
    const exponent = sign();
    return (x, y) => base(x, y) ** exponent(x, y);
  }
  function atom() {
    const token = tokens[place++];
    if (token === undefined) throw new Error("the formula ends too early: a number, x or a bracket is missing");
    if (token === "(") { const inner = sum(); wanted(")"); return inner; }
    if (/^[\d.]/.test(token)) { const value = Number(token); if (!Number.isFinite(value)) throw new Error(`'${token}' is no number`); return () => value; }
    const name = token.toLowerCase();
    if (name === "x") return (x) => x;
    if (name === "y") { if (inputs < 2) throw new Error("y needs two inputs: set inputs to 2, or use x alone"); return (x, y) => y; }
    if (Object.hasOwn(CONSTANTS, name)) { const value = CONSTANTS[name]; return () => value; }
    if (Object.hasOwn(ONE, name)) { wanted("("); const a = sum(), f = ONE[name]; wanted(")"); return (x, y) => f(a(x, y)); }
    if (Object.hasOwn(TWO, name)) { wanted("("); const a = sum(); wanted(","); const b = sum(), f = TWO[name]; wanted(")"); return (x, y) => f(a(x, y), b(x, y)); }
    throw new Error(`'${token.slice(0, 20)}' is not known in a formula: use x${inputs > 1 ? ", y" : ""}, numbers, + - * / ^ and ${FUNCTIONS.join(", ")}`);
  }
  const f = sum();
  if (place < tokens.length) throw new Error(`the formula cannot be read from '${tokens.slice(place).join("").slice(0, 20)}' on`);
  return f;
}
