"""
Convergence near the optimum
============================

What over-parameterisation does near the optimum: the bound of Zhou et al. 2021, its certificate, and descent to
1e-25.
"""

import tutelage as tt
from tutelage.local import LocalSetting, descend, groups, local_students, loss, random_start, separated_teachers

seeds = range(5)
teachers = separated_teachers(3, 4, seeds)  # f*(x) = sum |w*.x|, x ~ N(0, I)
print("one certificate in full:")
print(tt.certify("descent-direction", LocalSetting(teachers, local_students(teachers, 9, seeds)))[0])

print("\nstudents   loss after 3,000 steps of gradient descent, and the least |grad L| / L on the way")
for m in (3, 9, 30):
    run = descend(LocalSetting(teachers, local_students(teachers, m, seeds)), [0, *range(10, 3001, 10)], keep=False)
    print(f"{m:8}   {run.losses[-1].median():.1e}   {run.constant.min():.1f}")

start = LocalSetting(teachers, random_start(teachers, 100, seeds))  # Algorithm 1: random directions, best lengths
end = descend(start, [0, 3000]).end
print(f"\nAlgorithm 1 with 100 students: loss {loss(start).median():.1e}, after descent {loss(end).median():.1e},")
print(f"mass-weighted squared angle to the teachers' lines {groups(end).angle_energy().max():.1e}")
