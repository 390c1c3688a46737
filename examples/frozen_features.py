"""
Random features or learned features
===================================

The same students with the first layer frozen, with the last layer frozen, and with both trained.
"""

import tutelage as tt

seeds = range(6)
teacher = tt.teachers.Normal(inputs=30, hidden=4, outputs=1, activation="relu").build(seeds)
inputs = tt.inputs.Gaussian(train=5_000, evaluate=2_000).draw(teacher, seeds)
students = tt.students.FanInNormal(hidden=40).build(teacher, seeds)
for name, frozen in (("random features", (1,)), ("fixed last layer", (-1,)), ("both trained", ())):
    run = tt.train(teacher, students, inputs, steps=5_000, learning_rate=0.05, frozen=frozen)
    report = tt.measure(run, ["evaluate_loss", "best_correlation", "weight_drift"])
    loss, best = report["evaluate_loss"][-1].mean(), report["best_correlation"][-1].mean()
    print(f"{name:17s} loss {loss:.4f}   best correlation {best:.2f}   drift {report['weight_drift'][-1].mean():.2f}")
