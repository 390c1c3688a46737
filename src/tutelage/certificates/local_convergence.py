"""Everything that seed 003 says of students by themselves, in one call."""

from tutelage.certificates.descent_direction import descent_direction
from tutelage.certificates.hermite_bound import hermite_bound
from tutelage.certificates.lojasiewicz import lojasiewicz, polyak
from tutelage.certificates.records import Certificate
from tutelage.certificates.slab_bound import slab_bound
from tutelage.certificates.smoothness import smoothness
from tutelage.certificates.teacher_matrix import teacher_matrix
from tutelage.certificates.zero_loss import zero_loss
from tutelage.theory.local.setting import Setting

STATEMENTS = {
    "zero loss": zero_loss,
    "lojasiewicz": lojasiewicz,
    "polyak": polyak,
    "descent direction": descent_direction,
    "slab bound": slab_bound,
    "hermite bound": hermite_bound,
    "teacher matrix": teacher_matrix,
    "smoothness": smoothness,
}


def local_convergence(setting: Setting) -> dict[str, list[Certificate]]:
    """Hold every member against Theorems 2 and 3 and Lemmas 7 to 13 and C.4: name -> one certificate a member.

    Theorem 4 wants a descent (:func:`.descent_rate.descent_rate`), Theorem 5 directions
    (:func:`.covering_start.covering_start`), Theorem 6 batches (:func:`.descent_rate.sampled_gradient`).
    """
    return {name: statement(setting) for name, statement in STATEMENTS.items()}
