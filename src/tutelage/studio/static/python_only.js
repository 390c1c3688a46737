// Scenes that need Python: the playground says so in one sentence, with the command.

import { element } from "./facts.js";

const HOW = {
  compare: ["This scene reads network files and proves what it says, which needs Python. Install tutelage and run:", "tutelage studio", "or, without the page:", "tutelage compare FIRST.onnx SECOND.onnx"],
  results: ["This scene reads a folder of results, which needs Python. Install tutelage and run:", "tutelage studio --results results"],
};

/** The page of a scene that cannot be had here. */
export const pythonOnly = (scene) => (parent) => {
  const card = element("section", "", "card python-only");
  for (const text of HOW[scene.name] ?? ["This scene needs Python:", "tutelage studio"]) card.append(element(text.startsWith("tutelage") ? "code" : "p", text));
  parent.append(card);
  return { views: [], remove() { card.remove(); } };
};
