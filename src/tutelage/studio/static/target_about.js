// What the page needs to know of the scene of one's own target: there is no such scene in Python.

const field = (name, group, type, value, min, max, help, rest = {}) => ({ name, label: name.replace(/_/g, " "), help, group, live: false, type, choices: [], min, max, open: [false, false], step: type === "integer" ? 1 : null, default: value, drops: [], ...rest });

export const TARGET = {
  name: "target", title: "Your own target", about: "Type a formula, or draw a function: it becomes the teacher.",
  clock: "step", unit: "", pace: 60, forms: [], plays: true,
  presets: [
    { name: "sine", title: "A wave", look: "Each relu unit bends the student's curve once, at its kink. Watch the kinks move to where the wave turns.", source: "", settings: { formula: "sin(2*x)" } },
    { name: "kinks", title: "A target made of relu units", look: "The target itself has three kinks: watch on which of them the student's units end.", source: "", settings: { formula: "relu(x+1)-2*relu(x)+2*relu(x-1.5)", units: 12 } },
    { name: "step", title: "A jump", look: "No relu network can jump: units crowd at the jump, and the curve gets steeper there.", source: "", settings: { formula: "sign(x)", units: 20 } },
    { name: "saddle", title: "A saddle of two inputs", look: "The boundaries of the units turn until the pieces between them follow the saddle.", source: "", settings: { inputs: 2, formula: "x*y/2", units: 24 } },
    { name: "ring", title: "A ring", look: "Drag on the picture to raise the target by a bump, with shift to lower it.", source: "", settings: { inputs: 2, formula: "exp(-2*(sqrt(x^2+y^2)-1.5)^2)", units: 40, learning_rate: 0.03 } },
  ],
  fields: [
    field("inputs", "Target", "integer", 1, 1, 2, "Number of inputs: x, or x and y.", { drops: ["formula", "curve", "bumps"] }),
    field("noise", "Target", "number", 0, 0, 10, "Standard deviation of the noise on every label.", { label: "label noise", step: 0.1 }),
    field("train", "Target", "integer", 200, 2, 5000, "Training points, drawn evenly from -3 to 3.", { label: "training points", step: 50 }),
    field("units", "Students", "integer", 16, 1, 200, "Hidden relu units of every student."),
    field("members", "Students", "integer", 6, 1, 64, "Number of students; each has its own start, points and batches.", { label: "students" }),
    field("seed", "Students", "integer", 0, 0, 1e9, "Seed of the first student; the others follow.", { label: "first seed" }),
    field("learning_rate", "Training", "number", 0.01, 0, 10, "Learning rate.", { open: [true, false], live: true, step: 0.005 }),
    field("batch", "Training", "integer", 16, 1, 512, "Samples per step.", { live: true }),
    field("optimiser", "Training", "choice", "adam", null, null, "Plain SGD, SGD with momentum 0.9, or Adam.", { choices: ["sgd", "momentum", "adam"], live: true }),
    field("steps", "Training", "integer", 20_000, 1, 200_000, "Length of the training."),
    field("every", "Training", "integer", 20, 1, 1000, "Steps between two places of the timeline.", { label: "steps per tick" }),
  ],
};
