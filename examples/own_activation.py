"""
Your own activation
===================

Students with tanh, with a function of your own, and with erf, on the labels of one erf teacher.
"""

import tutelage as tt

seeds = range(4)
teacher = tt.teachers.Normal(inputs=20, hidden=3, outputs=1, scale=2.0, activation="erf").build([0])
inputs = tt.inputs.Gaussian(train=2_000, evaluate=2_000).draw(teacher, seeds)


def smooth_step(u):
    return u / (1 + u.square()).sqrt()


for activation in ("erf", "tanh", smooth_step):
    students = tt.students.FanInNormal(hidden=9, activation=activation).build(teacher, seeds)
    run = tt.train(teacher, students, inputs, steps=3_000, learning_rate=0.1)
    loss = tt.measure(run, ["evaluate_loss"])["evaluate_loss"][-1].mean()
    print(f"{run.students.activation:12s} loss {loss:.4f}   engine {run.engine}")
