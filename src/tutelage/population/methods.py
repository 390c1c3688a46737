"""Which expectations are closed forms, which are computed by quadrature, and which are not known."""

from typing import Literal

from tutelage.errors import unknown
from tutelage.networks.activations import find
from tutelage.population.averages import closed, stand_in
from tutelage.population.biased import GATES
from tutelage.population.kernels import KINDS

What = Literal["loss", "gradient", "Hessian", "flow", "order parameters"]
Method = Literal["closed form", "one integral", "two integrals", "sum of erfs", "quadrature", "not known"]

QUANTITIES: tuple[What, ...] = ("loss", "gradient", "Hessian", "flow", "order parameters")
"""Expectations whose method is known."""

_BENT = ("hard-swish",)
"""Activations whose slope jumps, so that no quadrature meets its tolerance, and that have no closed form here."""
_BENT_WITH_BIASES = (*_BENT, "squared-relu")


def method(activation: str, what: What, *, biases: bool = False) -> Method:
    """How an expectation under Gaussian inputs is computed.

    Parameters
    ----------
    activation
        Name of an activation.
    what
        "loss", "gradient", "Hessian", "flow" (its slope) or "order parameters" (what single samples add).
    biases
        Whether the networks have biases.

    Returns
    -------
    str
        "closed form", "one integral" (one dimension is left), "two integrals", "sum of erfs" (closed forms of a sum of
        erf units that is near), "quadrature" (with an error that is measured), or "not known".

    Examples
    --------
    >>> method("erf", "Hessian"), method("tanh", "order parameters"), method("gelu", "loss")
    ('closed form', 'sum of erfs', 'quadrature')
    """
    find(activation)
    if what not in QUANTITIES:
        raise unknown("quantity", what, QUANTITIES)
    if activation in (_BENT_WITH_BIASES if biases else _BENT):
        return "not known"
    if biases:
        return _with_biases(activation, what)
    if what == "order parameters":
        if activation in ("erf", "linear") or activation.startswith("hermite-"):
            return "closed form"
        if closed(activation):
            return "one integral"
        return "quadrature" if stand_in(activation) is None else "sum of erfs"
    if what == "Hessian":
        return "closed form" if activation in KINDS else "not known"
    return "closed form" if activation in KINDS or activation == "squared-relu" else "quadrature"


def _with_biases(activation: str, what: What) -> Method:
    if what == "order parameters":
        if activation in ("erf", "linear"):
            return "closed form"
        if activation in GATES:
            return "two integrals"
        return "quadrature" if stand_in(activation) is None else "sum of erfs"
    if what == "Hessian":
        return "closed form" if activation in GATES else "not known"
    return "closed form" if activation in KINDS else "quadrature"
