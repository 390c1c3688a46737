"""
Update rules of your own
========================

Sign descent, Lion, gradient clipping, averaging and Langevin noise as functions of all arrays of all members at once.

On the command line: tutelage run FILE.yaml --with examples/own_rules.py, where FILE.yaml may then say
``training: {rule: lion}`` or ``training: {rule: {name: langevin, temperature: 0.01}}``.
"""

import tutelage as tt
from tutelage.training import rule


@rule()
def sign_descent(weights, gradients, memory, rates, step):
    """Steps of one size, in the direction of the signs (Bernstein et al. 2018)."""
    return [w - r * g.sign() for w, g, r in zip(weights, gradients, rates, strict=True)]


@rule(slots=1)
def lion(weights, gradients, memory, rates, step, *, beta_1=0.9, beta_2=0.99):
    """The sign of a momentum, with two decays (Chen et al. 2023)."""
    (kept,) = memory
    moved = [
        w - r * (beta_1 * m + (1 - beta_1) * g).sign()
        for w, g, m, r in zip(weights, gradients, kept, rates, strict=True)
    ]
    return moved, ([beta_2 * m + (1 - beta_2) * g for g, m in zip(gradients, kept, strict=True)],)


@rule()
def clipped(weights, gradients, memory, rates, step, *, largest=1.0):
    """Gradient descent with the length of the whole gradient of each member cut to the largest."""
    length = sum(g.flatten(1).square().sum(1) for g in gradients).sqrt()  # [S]
    factor = (largest / length.clamp_min(largest)).view(-1, 1)
    factors = [factor if g.ndim == 2 else factor.unsqueeze(2) for g in gradients]
    return [w - r * f * g for w, g, r, f in zip(weights, gradients, rates, factors, strict=True)]


@rule(slots=1)
def averaged(weights, gradients, memory, rates, step):
    """Primal averaging: the weights are the mean of a sequence that follows the gradients at the mean."""
    before = weights if step == 0 else memory[0]
    ahead = [z - r * g for z, g, r in zip(before, gradients, rates, strict=True)]
    share = 1 / (step + 1)
    return [w + share * (z - w) for w, z in zip(weights, ahead, strict=True)], (ahead,)


@rule()
def langevin(weights, gradients, memory, rates, step, *, temperature=0.01):
    """Gradient descent with noise of variance 2 T times the rate, drawn from the seed of each member."""
    noise = step.normals(weights)
    return [
        w - r * g + (2 * temperature * r) ** 0.5 * z
        for w, g, r, z in zip(weights, gradients, rates, noise, strict=True)
    ]


if __name__ == "__main__":
    seeds = range(8)
    teacher = tt.teachers.Levels(inputs=10, hidden=4, outputs=3).build(seeds)
    inputs = tt.inputs.Gaussian(train=1_000, evaluate=1_000).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=2, scale=0.1).build(teacher, seeds)
    rates = {sign_descent: 0.001, lion: 0.001, clipped: 0.05, averaged: 0.2, langevin: 0.05}
    for function, rate in rates.items():
        run = tt.train(teacher, students, inputs, steps=2_000, learning_rate=rate, rule=function)
        loss = tt.measure(run, "evaluate_loss")["evaluate_loss"][-1].mean()
        print(f"{function.__name__:13s} engine {run.engine}  loss {loss:.5f}")
