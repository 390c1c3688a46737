"""
Gradients, losses and curricula of your own
===========================================

Feedback alignment, forward gradients and the perceptron rule instead of back-propagation, a robust loss, a
curriculum that begins with short inputs, and a teacher that changes.

On the command line: tutelage run FILE.yaml --with examples/own_gradients.py, where FILE.yaml may then say
``training: {gradient: feedback_alignment}`` or ``training: {curriculum: {name: short_first, start: 0.1}}``.
"""

import torch

import tutelage as tt
from tutelage.networks.activations import value_and_derivative
from tutelage.training import curriculum, gradient, loss


@gradient
def feedback_alignment(students, points, labels, step):
    """Errors are sent back through fixed random weights (Lillicrap et al. 2016); two layers without biases."""
    w, v = students.weights
    active, slopes = value_and_derivative(students.activation, points @ w, students.slope)
    error = (active @ v - labels) / points.shape[1]
    (back,) = step.at(0).normals([v])  # the numbers of step 0, at every step
    return [points.mT @ (error @ back.mT * slopes), active.mT @ error]


@gradient
def forward_gradient(students, points, labels, step):
    """The slope along a random direction, times the direction (Baydin et al. 2022): no pass backwards."""
    arrays = students.parameters
    ahead = step.normals(arrays)
    x, dx = points, torch.zeros_like(points)
    for layer in range(students.depth):
        w, dw = arrays[layer], ahead[layer]
        x, dx = x @ w, dx @ w + x @ dw
        if students.biases is not None:
            b, db = (each[students.depth + layer].unsqueeze(1) for each in (arrays, ahead))
            x, dx = x + b, dx + db
        if layer < students.depth - 1:
            x, slope = value_and_derivative(students.activation, x, students.slope)
            dx = slope * dx
    slopes = ((x - labels) * dx).sum(-1).mean(1)  # of the loss of every member, along its direction
    return [slopes.view(-1, *[1] * (z.ndim - 1)) * z for z in ahead]


@gradient
def perceptron(students, points, labels, step):
    """Rosenblatt's rule for one layer without biases: only samples on the wrong side count; labels are signs."""
    (w,) = students.weights
    signs = labels.sign()
    wrong = points @ w * signs <= 0
    return [-points.mT @ (wrong * signs) / points.shape[1]]


@loss
def huber(labels, outputs):
    """Quadratic for errors below 1, linear beyond."""
    return torch.nn.functional.huber_loss(outputs, labels, reduction="none").sum(-1)


@curriculum
def short_first(points, labels, *, start=0.2):
    """Inputs in the order of their lengths, more and more of them."""
    order = points.square().sum(-1).argsort(1)

    def rows(uniforms, done):
        return order.gather(1, (uniforms * (min(1.0, start + done) * order.shape[1])).long())

    return rows


if __name__ == "__main__":
    seeds = range(8)
    teacher = tt.teachers.Levels(inputs=10, hidden=4, outputs=3).build(seeds)
    second = tt.teachers.Levels(inputs=10, hidden=4, outputs=3).build(range(8, 16))
    inputs = tt.inputs.Gaussian(train=1_000, evaluate=1_000).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=2, scale=0.3, bias=False).build(teacher, seeds)
    settings = {
        "feedback alignment": {"gradient": feedback_alignment, "learning_rate": 0.1},
        "forward gradient": {"gradient": forward_gradient, "learning_rate": 0.01},
        "natural gradient": {"gradient": "natural", "batch": 64, "steps": 100, "learning_rate": 0.2},
        "Huber loss": {"loss": huber, "learning_rate": 0.1},
        "short inputs first": {"curriculum": short_first, "learning_rate": 0.1},
    }
    for name, chosen in settings.items():
        run = tt.train(teacher, students, inputs, **({"steps": 2_000} | chosen))
        after = tt.measure(run, "evaluate_loss")["evaluate_loss"].mean(1)
        print(f"{name:18s} engine {run.engine}  loss {after[0]:.3f} -> {after[-1]:.5f}")

    run = tt.train(teacher, students, inputs, steps=4_000, learning_rate=0.1, later={2_000: second}, record=[2_000])
    for name, known in (("first", teacher), ("second", second)):
        print(f"loss on the {name} teacher", tt.measure(run, "evaluate_loss", teacher=known)["evaluate_loss"].mean(1))
