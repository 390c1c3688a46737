"""Can students of one teacher in the plane stand still without being aligned with it (Zhu et al. 2021)?

Under the population loss, the gradient of students with fan-out 1 depends on angles alone. Start with
:func:`determinants` (the signs that decide), ``relu_theorem.covariance_bounds`` (why not, for relu) and
``tutelage.certify("determinants", teacher, students)``.

To read, in this order: :mod:`.angular` (kernels of the angle), :mod:`.determinants`, :mod:`.relu_theorem` (a proof of
Conjecture 5.5 for relu), :mod:`.counterexamples` (for other kernels it is false), :mod:`.conjecture_search`.
"""

from tutelage.alignment.determinants import determinants

__all__ = ["determinants"]
