"""
Lazy or rich training
=====================

How far the neural tangent kernel moves in the NTK and in the maximal update parameterisation, at two widths.
"""

import tutelage as tt

seeds = range(3)
teacher = tt.teachers.Normal(inputs=10, hidden=3, outputs=1, activation="tanh").build(seeds)
inputs = tt.inputs.Gaussian(train=500, evaluate=200).draw(teacher, seeds)
for name, rate in (("ntk", 0.5), ("mup", 0.05)):
    for width in (30, 300):
        recipe = tt.students.FanInNormal(hidden=width, activation="tanh", parameterisation=name)
        students = recipe.build(teacher, seeds)
        run = tt.train(teacher, students, inputs, steps=1_000, batch=32, learning_rate=rate, parameterisation=name)
        report = tt.measure(run, ["evaluate_loss", "kernel_drift", "sharpness"])
        values = {key: value[-1].mean() for key, value in report.values.items()}
        print(f"{name}, width {width:3d}: " + "   ".join(f"{key} {value:.3f}" for key, value in values.items()))
