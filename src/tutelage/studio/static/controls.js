// The settings of a scene as form controls.

import { short } from "./draw.js";

/** Build the controls; `changed(name, value, live)` is called when the user has chosen a value. */
export function buildControls(parent, fields, changed) {
  parent.textContent = "";
  const groups = new Map();
  for (const field of fields) {
    if (!groups.has(field.group)) {
      const group = document.createElement("fieldset");
      group.innerHTML = `<legend></legend>`;
      group.firstChild.textContent = field.group || "Settings";
      groups.set(field.group, group);
      parent.append(group);
    }
    groups.get(field.group).append(control(field, changed));
  }
}

function control(field, changed) {
  const row = document.createElement("div");
  row.className = "field";
  const id = `field-${field.name}`;
  const label = document.createElement("label");
  label.htmlFor = id;
  label.textContent = field.label;
  label.title = field.help;
  let input;
  if (field.type === "choice") {
    input = document.createElement("select");
    for (const choice of field.choices) input.add(new Option(String(choice).replace(/-/g, " "), choice));
  } else {
    input = document.createElement("input");
    input.type = field.type === "boolean" ? "checkbox" : "number";
    if (field.min !== null) input.min = field.min;
    if (field.max !== null) input.max = field.max;
    input.step = "any";
    input.inputMode = "decimal";
  }
  input.id = id;
  input.name = field.name;
  input.title = [field.help, bounds(field), field.live ? "Can change while the students learn." : ""].filter(Boolean).join(" ");
  if (field.live) row.classList.add("live");
  input.addEventListener("change", () => {
    let value = input.value;
    if (field.type === "boolean") value = input.checked;
    else if (field.type !== "choice") {
      value = Number(input.value);
      if (input.value.trim() === "" || !Number.isFinite(value)) value = input.value;
    }
    changed(field, value);
  });
  if (field.type === "number" || field.type === "integer") input.addEventListener("keydown", (event) => {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!way || !field.step) return;
    event.preventDefault();
    const next = Number(input.value) + way * field.step;
    if ((field.min !== null && next < field.min) || (field.max !== null && next > field.max)) return;
    input.value = +next.toPrecision(12);
    input.dispatchEvent(new Event("change"));
  });
  row.append(label, input);
  return row;
}

const bounds = (field) => (field.min === null && field.max === null ? "" : `From ${short(field.min ?? -Infinity)} to ${short(field.max ?? Infinity)}.`);

/** Show these values, without telling anyone. */
export function fillControls(parent, values) {
  for (const [name, value] of Object.entries(values)) {
    const input = parent.querySelector(`[name="${name}"]`);
    if (!input || input === document.activeElement && input.type !== "select-one" && Number(input.value) === value) continue;
    if (input.type === "checkbox") input.checked = value;
    else input.value = value;
  }
}
