"""Students of one teacher in the plane (Zhu et al. 2021, Analysis of Alignment Phenomenon, anonymous).

Under the population loss, the gradient of students with fan-out 1 depends on angles alone. The package has kernels of
the angle (:mod:`.angular`), the determinants whose signs decide whether students can stand still
(:mod:`.determinants`), a proof of Conjecture 5.5 for relu (:mod:`.relu_theorem`), searches for a counterexample
(:mod:`.conjecture_search`), and a proof on boxes with a checker. Theorems: ``certificates``; figures: ``studies``.
"""

from tutelage.alignment.determinants import determinants

__all__ = ["determinants"]
