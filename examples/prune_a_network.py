"""
Pruning a trained student
=========================

Prune a trained student: the same function with fewer units and a proof, or a smaller one with a bound.
"""

import tutelage as tt

teacher = tt.teachers.Levels(inputs=20, hidden=4, outputs=10).build([0])
inputs = tt.inputs.Gaussian(train=3_000, evaluate=1_000).draw(teacher, [0])
students = tt.students.SmallNormal(width_factor=6).build(teacher, [0])
run = tt.train(teacher, students, inputs, steps=20_000, learning_rate=0.05)
box = (-4, 4)  # what is proved holds for all inputs in here

for tolerance in (0.0, 0.001, 0.01, 0.1):
    small = tt.prune(run.students, box=box, tolerance=tolerance)
    print(f"tolerance {tolerance:5}: {students.widths[1]} units become {small.widths.item():2d}; {small.proof}")
    print(f"{'':17}the largest difference found is {small.deviation.value.item():.2g}")

for step in small.steps[:5]:
    print(f"unit {step.unit} was {step.action}: {step.reason} ({step.valid})")
