// Settings from a link are anybody's: every value is checked against the description of its scene before it is used.

/**
 * All settings of a scene, defaults filled in; an error in one sentence for anything else.
 * @param {{name: string, fields: {name: string, type: string, choices: any[], min: number | null, max: number | null, open: boolean[], default: any}[]}} about
 */
export function checked(about, given, hidden) {
  if (!given || typeof given !== "object" || Array.isArray(given)) throw new Error("settings must be a table: copy the link again");
  const known = new Map(about.fields.map((field) => [field.name, field])), out = {};
  for (const name of Object.keys(given)) if (!known.has(name) && !hidden.includes(name)) throw new Error(`unknown setting '${String(name).slice(0, 40)}' of the scene '${about.name}': open the link in tutelage studio`);
  for (const [name, field] of known) out[name] = name in given ? value(field, given[name]) : field.default;
  for (const name of hidden) out[name] = given[name] ?? null;
  return out;
}

function value(field, given) {
  const { name, type, choices, min, max, open } = field, shown = String(given).slice(0, 40);
  if (type === "choice") {
    if (!choices.includes(given)) throw new Error(`${name} must be one of ${choices.join(", ")}, got ${shown}`);
    return given;
  }
  if (type === "boolean") {
    if (typeof given !== "boolean") throw new Error(`${name} must be true or false, got ${shown}`);
    return given;
  }
  if (typeof given !== "number" || !Number.isFinite(given)) throw new Error(`${name} must be a number, got ${shown || "nothing"}`);
  if (type === "integer" && !Number.isInteger(given)) throw new Error(`${name} must be a whole number, got ${shown}`);
  if (min !== null && (open[0] ? !(given > min) : given < min)) throw new Error(`${name} must be ${open[0] ? "above" : "at least"} ${min}, got ${shown}`);
  if (max !== null && (open[1] ? !(given < max) : given > max)) throw new Error(`${name} must be ${open[1] ? "below" : "at most"} ${max}, got ${shown}`);
  return given;
}
