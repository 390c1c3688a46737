"""
Students deeper than their teacher
==================================

A teacher of one hidden layer, students of one, two and three: in which layer is each teacher unit found?
"""

import tutelage as tt

seeds = range(4)
teacher = tt.teachers.Normal(inputs=12, hidden=4, outputs=3).build(seeds)
inputs = tt.inputs.Gaussian(train=3_000, evaluate=1_000).draw(teacher, seeds)
for hidden in ((16,), (16, 16), (16, 16, 16)):
    students = tt.students.FanInNormal(hidden=hidden, scale=1.4).build(teacher, seeds)
    run = tt.train(teacher, students, inputs, steps=4_000, learning_rate=0.05)
    report = tt.measure(run, ["evaluate_loss", "rho_mean"])
    layers = ", ".join(f"{rho:.2f}" for rho in report["rho_mean"][-1].mean(0))
    print(f"{len(hidden)} hidden layers: loss {report['evaluate_loss'][-1].mean():.4f}, rho_mean per layer {layers}")
