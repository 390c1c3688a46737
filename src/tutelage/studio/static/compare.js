// Scene 6: two network files, dropped on the page and compared.

import { download, sentence, short } from "./draw.js";
import { element } from "./facts.js";

export function compare(parent, context) {
  const files = [null, null];
  const box = element("section", "", "card drops");
  const result = element("section", "", "card verdict");
  result.setAttribute("aria-live", "polite");
  result.hidden = true;
  box.innerHTML = `<header><h2>Two networks</h2><span class="hint">.safetensors or .onnx; nothing is unpickled, nothing leaves this machine</span></header><div class="pair"></div><form class="row"><label><input type="checkbox" name="boxed"> only inputs between</label><label><span class="unseen">lower bound</span><input type="number" name="low" value="-1" step="any"></label><label>and <span class="unseen">upper bound</span><input type="number" name="high" value="1" step="any"></label><button type="submit" disabled>Compare</button></form>`;
  parent.append(box, result);
  const pair = box.querySelector(".pair"), form = box.querySelector("form"), go = form.querySelector("button");
  const zones = [0, 1].map((which) => {
    const zone = element("div", "", "zone");
    zone.innerHTML = `<p class="name">Drop ${which ? "the second" : "the first"} network here</p><label class="pick">or choose a file<input type="file" accept=".safetensors,.onnx" class="unseen"></label><label class="member" hidden>member <input type="number" min="0" value="0"></label>`;
    zone.querySelector("input[type=file]").id = `file-${which}`;
    zone.querySelector("input[type=file]").onchange = (e) => { if (e.target.files[0]) take(which, e.target.files[0]); e.target.value = ""; };
    zone.addEventListener("dragover", (e) => { e.preventDefault(); zone.classList.add("over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (e) => {
      e.preventDefault();
      zone.classList.remove("over");
      const dropped = [...e.dataTransfer.files];
      if (dropped[0]) take(which, dropped[0]);
      if (dropped[1]) take(1 - which, dropped[1]);
    });
    pair.append(zone);
    return zone;
  });
  async function take(which, file) {
    const zone = zones[which];
    result.hidden = true; // it is about other files
    context.message("");
    zone.querySelector(".name").textContent = `reading ${file.name}`;
    try {
      if (file.size > 32 << 20) throw new Error(`${file.name} is larger than 32 MiB, the most that is taken: use tutelage compare`);
      const found = await (await context.post(`/upload?name=${encodeURIComponent(file.name)}`, file, true)).json();
      files[which] = found;
      const units = found.assumed ? `read as ${found.units}, since the file does not say` : found.units;
      const many = found.members > 1 ? `, ${found.members} members` : "";
      zone.querySelector(".name").textContent = `${found.name}: ${found.widths.join("-")}${many}, ${units}`;
      zone.querySelector(".member").hidden = found.members < 2;
      zone.querySelector(".member input").max = found.members - 1;
      zone.classList.add("full");
    } catch (error) {
      files[which] = null;
      zone.classList.remove("full");
      zone.querySelector(".name").textContent = `Drop ${which ? "the second" : "the first"} network here`;
      context.message(sentence(error.message));
    }
    go.disabled = !(files[0] && files[1]);
    if (!go.disabled) work();
  }
  const ends = () => (form.elements.boxed.checked ? [Number(form.elements.low.value), Number(form.elements.high.value)] : null);
  const member = (which) => Number(zones[which].querySelector(".member input").value) || 0;
  form.onsubmit = (e) => { e.preventDefault(); work(); };
  async function work() {
    go.disabled = true;
    go.textContent = "comparing";
    context.message("");
    const asked = [...files];
    try {
      const question = { about: "compare", first: files[0].key, second: files[1].key, first_member: member(0), second_member: member(1), box: ends() };
      const found = await (await context.post("/ask", question)).json();
      if (files.every((file, which) => file === asked[which])) show(found);
    } catch (error) { result.hidden = true; context.message(sentence(error.message)); }
    go.textContent = "Compare";
    go.disabled = !(files[0] && files[1]);
  }
  function show(found) {
    result.hidden = false;
    result.textContent = "";
    const head = element("header"), kind = found.verdict.startsWith("same") ? "holds" : found.verdict === "different" ? "fails" : "open";
    head.append(element("h2", `${found.verdict.charAt(0).toUpperCase()}${found.verdict.slice(1)} on ${found.domain}`, kind));
    result.append(head, element("p", sentence(found.reason)));
    for (const line of found.sentences) result.append(element("p", line));
    if (found.witness) result.append(element("p", `Witness: (${found.witness.slice(0, 8).map(short).join(", ")}${found.witness.length > 8 ? ", ..." : ""}), where the outputs are ${found.values.map((v) => `(${v.slice(0, 4).map(short).join(", ")}${v.length > 4 ? ", ..." : ""})`).join(" and ")}.`));
    if (found.picture) { const picture = element("img"); picture.src = found.picture; picture.alt = "Both networks on a plane through the witness, and their difference"; result.append(picture); }
    const sizes = element("div", "", "sizes");
    found.pruned.forEach((p, which) => {
      const part = element("div");
      part.append(element("h3", found.names[which]));
      if (p.error) part.append(element("p", p.error));
      else {
        const fewer = p.before.join("-") !== p.after.join("-");
        part.append(element("p", `Hidden units: ${p.before.join("-")}, after pruning ${p.after.join("-")}. ${fewer ? sentence(p.proof) : "Nothing can be removed."}`));
        const button = element("button", "Download the pruned network");
        button.type = "button";
        button.onclick = async () => {
          const response = await context.post("/ask", { about: "pruned", first: files[which].key, first_member: member(which), box: ends() });
          download(await response.blob(), `${found.names[which].replace(/\.\w+$/, "")}-pruned.safetensors`);
        };
        part.append(button);
      }
      const rows = found.units.filter((u) => u.network === which);
      const table = element("table");
      table.innerHTML = `<thead><tr><th>layer</th><th>unit</th>${which ? "<th>matches unit</th><th>class</th>" : ""}<th>redundant</th></tr></thead>`;
      const body = element("tbody");
      for (const u of rows) {
        const row = element("tr", "", u.redundant ? "redundant" : "");
        row.append(element("td", u.layer), element("td", u.unit));
        if (which) row.append(element("td", u.match ?? "none"), element("td", u.class ?? ""));
        row.append(element("td", u.redundant));
        body.append(row);
      }
      table.append(body);
      const scroll = element("div", "", "scroll");
      scroll.tabIndex = 0;
      scroll.setAttribute("role", "region");
      scroll.setAttribute("aria-label", `Units of ${found.names[which]}`);
      scroll.append(table);
      part.append(scroll);
      sizes.append(part);
    });
    result.append(sizes);
  }
  return { views: [], remove() {} };
}
