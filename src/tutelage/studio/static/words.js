// Words of the field with their meaning on hover or focus, in the texts of the page.

const WORDS = {
  "fan-out": "the length of a hidden unit's outgoing weights: how much it can move the outputs",
  "strength decay": "how fast the teacher's units get weaker: the strength of unit j is proportional to 1/(j+1)^p",
  recovered: "some student unit has a correlation above 0.95 with this teacher unit",
  "learning rate": "how far one step moves the weights along the gradient",
  saddle: "a place where the gradient is 0 and some direction still leads down",
  "max-margin": "of all w with w.x >= 1 on every point of a class, the shortest",
  "orthogonally separable": "points of one class at acute angles with one another, points of different classes at right or obtuse ones",
  boundaries: "the places where a unit switches between active and inactive",
  kink: "the place where a relu unit switches on",
  diverge: "weights grow without bound, because the steps are too long",
  risk: "how often the student gives another class than the teacher",
  bound: "a number that the expected risk cannot exceed",
  fingerprint: "eight letters that stay the same when units are put into another order or scaled",
  basins: "the starts from which the flow leads to the same end",
  loss: "half the mean squared distance of the student's outputs from the teacher's",
  seed: "the number that starts the random draws: the same seed gives the same pictures",
};
const PATTERN = new RegExp(`\\b(${Object.keys(WORDS).join("|")})\\b`, "i");

/** Put a text into an element; the first occurrence of every known word gets its meaning. */
export function explained(parent, text) {
  parent.textContent = "";
  const told = new Set();
  let rest = text;
  for (let found = PATTERN.exec(rest); found; found = PATTERN.exec(rest)) {
    const word = found[1].toLowerCase();
    parent.append(rest.slice(0, found.index));
    if (told.has(word)) parent.append(found[1]);
    else {
      const mark = document.createElement("abbr");
      Object.assign(mark, { textContent: found[1], title: WORDS[word], tabIndex: 0 });
      mark.setAttribute("aria-label", `${found[1]}: ${WORDS[word]}`);
      parent.append(mark);
      told.add(word);
    }
    rest = rest.slice(found.index + found[1].length);
  }
  parent.append(rest);
}
