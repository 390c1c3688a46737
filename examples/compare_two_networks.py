"""
Are two networks the same function?
===================================

Is a trained student the same function as its teacher? A verdict, a witness, and the exact largest difference.
"""

import tutelage as tt
from tutelage.functions import canonical, exhibit, match_parameters, orbit_size

teacher = tt.teachers.Levels(inputs=2, hidden=3, outputs=1, bias=-0.2).build(seeds=[3])
inputs = tt.inputs.Gaussian(std=1.5, train=4_000, evaluate=1_000).draw(teacher, seeds=[3])
students = tt.students.UniformFanIn(width_factor=2).build(teacher, seeds=[3])
student = tt.train(teacher, students, inputs, steps=20_000, learning_rate=0.05).students

found = tt.same_function(teacher, student, (-3, 3))
print(f"teacher and student: {found.verdict}; {found.reason}")
print(f"they differ by {found.difference:.2g} at {found.witness.numpy().round(3)}, and nowhere by more")

copy = canonical(teacher)  # the same function with other weights: units in a fixed order, of length 1
found = tt.same_function(teacher, copy)
print(f"teacher and its canonical form: {found.verdict}; {found.reason}")
print(f"its units are those of the teacher in the order {match_parameters(copy, teacher).permutations[0][0].tolist()}")
size = orbit_size(teacher)
print(f"{size.permutations} orders and a {size.scalings}-dimensional family of scales give the same function")

shown = exhibit("sign-flip")
found = tt.same_function(shown.first, shown.second)
print(f"two networks that neither order nor scale relates: {found.verdict}; {found.reason}")
