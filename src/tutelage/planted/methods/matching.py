r"""Units matched with the units of another network: by activations, and by weights.

The correlation r of a unit with its match, over N inputs, has by Fisher's transformation the interval
:math:`\tanh(\mathrm{artanh}\, r \pm 1.96/\sqrt{N - 3})`, and the probability that the correlation of all inputs is
above t is :math:`\Phi((\mathrm{artanh}\, r - \mathrm{artanh}\, t)\sqrt{N - 3})` from a flat prior.
"""

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from tutelage.measures import RECOVERED, correlations
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView, incoming

_QUANTILE = 1.959963984540054  # of the normal distribution, for 95 %


@method("max-correlation", sees="teacher")
def max_correlation(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Every student unit is the teacher unit with which its activation correlates most."""
    return _by_correlation(students, inputs)


@method("twin-correlation", sees="twins")
def twin_correlation(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """A student unit is real if a unit of a twin, trained from another start, correlates with it."""
    return _by_correlation(students, inputs)


def _by_correlation(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    rho = correlations(students.activations(inputs), students.reference(inputs)).abs()
    z = torch.atanh(rho.amax(2).double().clamp(max=1 - 1e-12))
    spread = 1 / max(inputs.shape[1] - 3, 1) ** 0.5
    threshold = torch.atanh(torch.tensor(RECOVERED, dtype=torch.float64))
    above = torch.special.ndtr((z - threshold) / spread)
    ends = [torch.tanh((z + sign * _QUANTILE * spread).clamp_min(0)) for sign in (-1, 1)]
    return MethodAnswer(similarity=rho, probabilities=above, p_values=1 - above, intervals=torch.stack(ends, 2))


@method("weight-matching", sees="teacher", first_layer=True)
def weight_matching(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Units with the most similar weights, one to one (Ainsworth et al. 2023).

    The similarity of two units is the cosine of their input weights and biases; one student unit is assigned to every
    teacher unit so that the sum is largest, and the other student units come after all of those.
    """
    assert students.teacher is not None
    mine, other = (
        torch.nn.functional.normalize(w, dim=2) for w in (students.incoming(), incoming(students.teacher, 1))
    )
    cosine = (mine @ other.mT).double()  # [S, n, m]
    scores = cosine.amax(2) - 2  # below every assigned unit
    similarity = cosine.clone()
    for member, matrix in enumerate(cosine):
        rows, columns = (torch.as_tensor(i) for i in linear_sum_assignment(-matrix.numpy()))
        scores[member, rows] = matrix[rows, columns]
        similarity[member, rows, columns] += 2  # the unit it is claimed to be
    return MethodAnswer(similarity=similarity, scores=scores)
