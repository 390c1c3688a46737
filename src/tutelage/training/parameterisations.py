r"""Parameterisations: how initial scales and learning rates of the layers depend on their widths.

Networks here are written with plain weights, :math:`f_l = \sigma(f_{l-1} w_l + b_l)`. A parameterisation that puts
factors in front of its weights is the same network with other initial scales and other learning rates, layer by layer:

============  ==========================  ==============================  ==============================
              standard deviation of w     learning rate of w, SGD         learning rate of w, Adam
============  ==========================  ==============================  ==============================
standard      as the student recipe says  1                               1
ntk           1/sqrt(in)                  1/in                            1/sqrt(in)
mup, first    1/sqrt(in)                  out                             1
mup, middle   1/sqrt(in)                  1                               1/in
mup, last     1/in                        1/in                            1/in
============  ==========================  ==============================  ==============================

ntk: w = W/sqrt(in) with W trained at the rate of the table's caption (Jacot et al. 2018). mup: the maximal update
parameterisation (Yang and Hu 2021; Yang et al. 2022, Table 3). Biases have the rate 1, with mup under SGD the width of
their layer, the outputs excepted.
"""

from itertools import pairwise
from typing import Literal

Parameterisation = Literal["standard", "ntk", "mup"]


def rate_factors(name: Parameterisation, widths: tuple[int, ...], adaptive: bool) -> list[tuple[float, float]]:
    """Factors on the learning rate of weights and biases of every layer; adaptive: for Adam and AdamW.

    >>> rate_factors("ntk", (100, 25, 1), adaptive=False)
    [(0.01, 1.0), (0.04, 1.0)]
    >>> rate_factors("mup", (100, 25, 1), adaptive=True)
    [(1.0, 1.0), (0.04, 1.0)]
    """
    layers, out = len(widths) - 1, []
    for layer, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
        weight, bias = 1.0, 1.0
        if name == "ntk":
            weight = fan_in**-0.5 if adaptive else 1 / fan_in
        elif name == "mup":
            if layer == layers:
                weight = 1 / fan_in
            elif layer == 1:
                weight = 1.0 if adaptive else float(fan_out)
            else:
                weight = 1 / fan_in if adaptive else 1.0
            bias = 1.0 if adaptive or layer == layers else float(fan_out)
        out.append((weight, bias))
    return out


def initial_scale(name: Parameterisation, fan_in: int, last: bool) -> float:
    """Standard deviation of the weights of a layer at the start.

    >>> initial_scale("mup", 100, last=True), initial_scale("ntk", 100, last=True)
    (0.01, 0.1)
    """
    return 1 / fan_in if name == "mup" and last else fan_in**-0.5
