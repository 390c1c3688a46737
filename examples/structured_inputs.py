"""
Structured inputs
=================

One teacher, students trained on inputs from five distributions, judged on points of the same kind.
"""

import tutelage as tt

seeds = range(4)
teacher = tt.teachers.Normal(inputs=50, hidden=3, outputs=1, activation="erf", scale=2.0).build([0])
students = tt.students.FanInNormal(hidden=6, activation="erf").build(teacher, seeds)
distributions = {
    "Gaussian": tt.inputs.Gaussian(train=1, evaluate=1_000),
    "power-law covariance": tt.inputs.GaussianCovariance(decay=1.0, train=1, evaluate=1_000),
    "mixture": tt.inputs.Mixture(clusters=4, distance=3.0, train=1, evaluate=1_000),
    "corners of a cube": tt.inputs.Hypercube(train=1, evaluate=1_000),
    "hidden manifold": tt.inputs.HiddenManifold(latent=5, train=1, evaluate=1_000),
}
for name, distribution in distributions.items():
    inputs = distribution.draw(teacher, seeds)
    run = tt.train(teacher, students, inputs, steps=4_000, batch=8, sampling="online", learning_rate=0.05)
    report = tt.measure(run, ["evaluate_loss", "label_power", "participation_ratio"])
    share = (report["evaluate_loss"][-1] / report["label_power"][-1]).mean()
    print(f"{name:21s} unexplained {100 * share:5.1f} %   dimension {report['participation_ratio'][-1].mean():.2f}")
