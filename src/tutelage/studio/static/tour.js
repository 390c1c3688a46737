// A guided tour of a preset: five steps, each with what to look at and a question whose answer the page can check.

import { element } from "./facts.js";
import { STEPS } from "./tour_steps.js";
import { explained } from "./words.js";

export class Tour {
  /** page: seek(tick), ticks(), pause() */
  constructor(parent, page) {
    Object.assign(this, { page, at: -1, shown: null, preset: null });
    this.box = element("section", "", "tour");
    this.box.setAttribute("aria-live", "polite");
    this.button = element("button", "Take the tour");
    this.button.type = "button";
    this.button.onclick = () => (this.at < 0 ? this.go(0) : this.end());
    parent.insertBefore(this.button, document.getElementById("controls"));
    this.button.after(this.box);
    this.box.hidden = true;
  }
  /** The preset that is open, if any; a tour that runs ends when another one is chosen. */
  offer(preset) {
    if (preset?.name === this.preset?.name && preset?.look === this.preset?.look) return;
    this.preset = preset;
    this.end();
    this.button.hidden = !preset;
  }
  frame(frame) { this.shown = frame; }
  get steps() { return STEPS[document.getElementById("views").className.split(" ")[0]]; }
  end() {
    this.at = -1;
    this.box.hidden = true;
    document.getElementById("look").hidden = false;
    this.button.textContent = "Take the tour";
  }
  go(step) {
    this.at = step;
    const { place, look, ask, answers } = this.steps[step], last = step === this.steps.length - 1;
    this.tick = Math.round(place * this.page.ticks());
    this.page.pause();
    this.page.seek(this.tick);
    this.button.textContent = "End the tour";
    this.box.hidden = false;
    document.getElementById("look").hidden = true; // the first step says it
    this.box.textContent = "";
    const text = element("p"), said = element("p", "", "said"), choices = element("div", "", "choices"), way = element("div", "", "choices");
    explained(text, step ? look : `${this.preset.look} ${look}`.trim());
    answers.forEach((answer, i) => {
      const button = element("button", answer);
      button.type = "button";
      button.onclick = () => this.judge(i, said);
      choices.append(button);
    });
    const back = element("button", "Back"), next = element("button", last ? "Done" : "Next");
    back.type = next.type = "button";
    back.disabled = !step;
    back.onclick = () => this.go(step - 1);
    next.onclick = () => (last ? this.end() : this.go(step + 1));
    way.append(back, next);
    this.box.append(element("h3", `Step ${step + 1} of ${this.steps.length}`), text, element("p", ask, "ask"), choices, said, way);
  }
  /** Whether an answer is right, by the numbers of the frame that is shown. */
  judge(i, said) {
    if (this.shown?.tick !== this.tick) { said.textContent = "This step's picture is not there yet, or you have moved on: wait a moment, or choose the step again."; return; }
    const { answers, right } = this.steps[this.at], [best, why] = right(this.shown);
    said.textContent = `${i === best ? "Yes" : `No: ${answers[best]}`}. ${why}`;
    said.dataset.right = String(i === best);
  }
}
