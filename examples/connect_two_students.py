"""
A path of low loss between two students
=======================================

Two students of one teacher: a path of low loss between them, and the hill on the straight line.
"""

import tutelage as tt
from tutelage.functions import loss_along, match, straight, straight_after_matching
from tutelage.measures import CLASSES
from tutelage.networks import outputs

teacher = tt.teachers.Levels(inputs=20, hidden=4, outputs=10).build([0])
inputs = tt.inputs.Gaussian(std=1.5, train=3_000, evaluate=1_000).draw(teacher, [0])
one, other = (
    tt.train(teacher, tt.students.SmallNormal(width_factor=4).build(teacher, [seed]), inputs, steps=20_000).students
    for seed in (1, 2)
)

for name, student in (("one", one), ("other", other)):
    found = match(teacher, student, inputs.evaluate.double(), by="both")
    count = {kind: int((found.classes[0] == code).sum()) for code, kind in enumerate(CLASSES)}
    print(f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in count.items() if n))

labels = outputs(teacher, inputs.evaluate)
for name, path in (
    ("constructed path", tt.connect(one, other, inputs.train, teacher)),
    ("straight line", straight(one, other)),
    ("straight line after matching", straight_after_matching(one, other, inputs.train)),
):
    _, losses = loss_along(path, inputs.evaluate, labels)
    print(f"{name:>28}: ends {losses[0].item():.1e} and {losses[-1].item():.1e}, highest {losses.max().item():.1e}")
