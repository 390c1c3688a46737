r"""Units ranked by integrated gradients of the outputs (Sundararajan et al. 2017).

.. math:: \mathrm{IG}_k(f) = f_k \int_0^1 \frac{\partial y}{\partial f_k}(\alpha f)\, d\alpha

from the baseline 0 to the activations f of the layer; a unit's score is the mean of its size over inputs and outputs.
"""

import torch
from torch import Tensor

from tutelage.networks import Network, outputs
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView

_POINTS = 8  # of the midpoint rule
_INPUTS = 256


@method("integrated-gradients")
def integrated_gradients(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Units by the mean size of the integrated gradients of the outputs with respect to them."""
    f = students.activations(inputs[:, :_INPUTS])
    network, layer = students.network, students.layer
    biases = None if network.biases is None else network.biases[layer:]
    above = Network(network.weights[layer:], biases, network.activation, network.slope)
    total = torch.zeros_like(f[:, 0])
    for output in range(network.outputs):
        slope = torch.zeros_like(f)
        for place in range(_POINTS):
            with torch.enable_grad():
                at = ((place + 0.5) / _POINTS * f).requires_grad_()
                (gradient,) = torch.autograd.grad(outputs(above, at)[..., output].sum(), at)
            slope += gradient / _POINTS
        total += (f * slope).abs().mean(1)
    return MethodAnswer(ranking=total)
