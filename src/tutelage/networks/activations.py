r"""Activations: piecewise linear ones, which are a gate times the pre-activation, and any other function.

For relu, leaky, abs and linear :math:`\sigma(u) = z(u)\, u` with a gate z that is all the theory of the papers needs
(Tian 2020, section 3): back-propagation multiplies by z. The others have a value and a derivative. erf stands for
:math:`\mathrm{erf}(u / \sqrt 2)` (Saad and Solla 1995), and hermite-k for the k-th Hermite polynomial
:math:`He_k(u) / \sqrt{k!}`, which has mean square 1 under N(0, 1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from pydantic import AfterValidator, BeforeValidator
from torch import Tensor
from torch.nn import functional

from tutelage.errors import TutelageError, unknown
from tutelage.networks.gelus import GELUS, value_and_slope

SLOPE = 0.01
"""Slope of leaky units below 0, unless another one is given."""

Gate = Callable[[Tensor, float], Tensor]
Both = Callable[[Tensor, float], tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class Activation:
    """A function that acts on each hidden unit alone.

    Attributes
    ----------
    name
        Name in Python and in YAML.
    function
        sigma(u), any shape; the second argument is the slope of "leaky" and ignored by all others.
    both
        sigma(u) and sigma'(u).
    gate
        z with sigma(u) = z(u) u for piecewise linear activations, None for the others.
    """

    name: str
    function: Gate
    both: Both
    gate: Gate | None = None


ACTIVATIONS: dict[str, Activation] = {}
"""Known activations by name."""

_GATES: dict[str, Gate] = {
    "relu": lambda u, slope: (u > 0).to(u.dtype),
    "leaky": lambda u, slope: torch.where(u > 0, torch.ones_like(u), torch.full_like(u, slope)),
    "abs": lambda u, slope: torch.sign(u),
    "linear": lambda u, slope: torch.ones_like(u),
}


def _gated(name: str, z: Gate) -> Activation:
    def both(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        derivative = z(u, slope)
        return u * derivative, derivative

    return Activation(name, lambda u, slope: u * z(u, slope), both, z)


def _smooth(name: str, both: Both) -> Activation:
    return Activation(name, lambda u, slope: both(u, slope)[0], both)


def _erf(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    return torch.erf(u / math.sqrt(2)), math.sqrt(2 / math.pi) * torch.exp(-u * u / 2)


def _tanh(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    f = torch.tanh(u)
    return f, 1 - f * f


def _sigmoid(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    f = torch.sigmoid(u)
    return f, f * (1 - f)


def _softplus(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    return functional.softplus(u), torch.sigmoid(u)


def _gelu(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    below = torch.special.ndtr(u)
    return u * below, below + u * torch.exp(-u * u / 2) / math.sqrt(2 * math.pi)


def _silu(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    s = torch.sigmoid(u)
    return u * s, s * (1 + u * (1 - s))


def _hard_swish(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    inner = u.abs() < 3
    return u * (u + 3).clamp(0, 6) / 6, torch.where(inner, (2 * u + 3) / 6, (u > 0).to(u))


def _squared_relu(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    f = u.relu()
    return f * f, 2 * f


def hermite(u: Tensor, order: int) -> Tensor:
    """The normalised Hermite polynomial He_k(u) / sqrt(k!), any shape.

    >>> hermite(torch.tensor([3.0]), 1)
    tensor([3.])
    """
    before, now = torch.zeros_like(u), torch.ones_like(u)
    for k in range(order):
        before, now = now, (u * now - math.sqrt(k) * before) / math.sqrt(k + 1)
    return now


def _hermite(order: int) -> Both:
    return lambda u, slope: (hermite(u, order), math.sqrt(order) * hermite(u, order - 1))


_SMOOTH: dict[str, Both] = {
    "erf": _erf,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "gelu": _gelu,
    "silu": _silu,
    "hard-swish": _hard_swish,
    "squared-relu": _squared_relu,
} | {f"hermite-{order}": _hermite(order) for order in range(1, 7)}

ACTIVATIONS |= {name: _gated(name, z) for name, z in _GATES.items()}
ACTIVATIONS |= {name: _smooth(name, both) for name, both in _SMOOTH.items()}


def _stored(name: str) -> Activation:
    return _smooth(name, lambda u, slope: value_and_slope(name, u))


_STORED = {name: _stored(name) for name in GELUS}
"""Units of files, which are not offered for training."""


def activation(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Register a function of a tensor as an activation under its own name; also a decorator.

    Parameters
    ----------
    function
        From pre-activations, any shape, to activations of the same shape, entry by entry, in torch operations; its
        derivative is found by automatic differentiation.

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> @activation
    ... def softsign(u):
    ...     return u / (1 + u.abs())
    >>> value_and_derivative("softsign", torch.tensor([1.0]))
    (tensor([0.5000]), tensor([0.2500]))
    """
    _check(function)
    name = _name_of(function)
    if name in ACTIVATIONS and _source(name) is not function:
        raise TutelageError(f"an activation called '{name}' exists already: rename the function")
    _register(name, function)
    return function


def named(function: str | Callable[[Tensor], Tensor]) -> str:
    """The name of an activation; a function that is not registered yet is, under its name or one with a number."""
    if isinstance(function, str):
        return function
    _check(function)
    name, number = _name_of(function), 1
    while (known := ACTIVATIONS.get(name)) and _source(known.name) is not function:
        number += 1
        name = f"{_name_of(function)}-{number}"
    if name not in ACTIVATIONS:
        _register(name, function)
    return name


def find(name: str) -> Activation:
    """The activation of this name; an error names the nearest known one."""
    if name not in ACTIVATIONS and name not in _STORED:
        raise unknown("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name] if name in ACTIVATIONS else _STORED[name]


def check_slope(activation: str, slope: float) -> None:
    """Reject a slope that has no effect: it belongs to leaky units alone."""
    if activation != "leaky" and slope != SLOPE:
        raise TutelageError(
            f"slope={slope:g} has no effect on {activation} units: leave it out, or use activation='leaky'"
        )


def slope_of(activation: str, slope: float) -> float:
    """The slope of a network of these units, where settings or files have one for every activation.

    >>> slope_of("leaky", 0.2), slope_of("relu", 0.2)
    (0.2, 0.01)
    """
    return slope if activation == "leaky" else SLOPE


def gate(name: str, u: Tensor, slope: float) -> Tensor:
    """z(u) with sigma(u) = z(u) u, any shape; an error for activations that are not piecewise linear.

    At u = 0 the gate is 0 for relu and abs and the slope for leaky, as in torch's derivatives.

    >>> gate("leaky", torch.tensor([-2.0, 3.0]), 0.1)
    tensor([0.1000, 1.0000])
    """
    z = find(name).gate
    if z is None:
        raise TutelageError(
            f"the activation '{name}' is not piecewise linear: this needs one of {', '.join(piecewise_linear())}"
        )
    return z(u, slope)


def value_and_derivative(name: str, u: Tensor, slope: float = SLOPE) -> tuple[Tensor, Tensor]:
    """sigma(u) and sigma'(u), any shape."""
    return find(name).both(u, slope)


def piecewise_linear() -> list[str]:
    """Names of the activations that are a gate times the pre-activation."""
    return [name for name, known in ACTIVATIONS.items() if known.gate is not None]


def registered_by_user(name: str) -> bool:
    """Whether an activation is a function that was registered, with a derivative by automatic differentiation."""
    return _source(name) is not None


def _check(function: object) -> None:
    """Raise an error for what is no function of a tensor."""
    if not callable(function) or isinstance(function, type):
        what = "the class" if isinstance(function, type) else "a value of type"
        kind = function.__name__ if isinstance(function, type) else type(function).__name__
        raise TutelageError(f"an activation must be a name or a function of a tensor, got {what} {kind}")


def _name_of(function: Callable[[Tensor], Tensor]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "function" if name == "<lambda>" else name


def _source(name: str) -> Any:
    return getattr(find(name).function, "source", None)


def _register(name: str, function: Callable[[Tensor], Tensor]) -> None:
    def value(u: Tensor, slope: float) -> Tensor:
        return function(u)

    def both(u: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = u.detach().requires_grad_()
            f = function(leaf)
            if f.shape != u.shape:
                raise TutelageError(
                    f"the activation '{name}' must act entry by entry and keep the shape {list(u.shape)}, got "
                    f"{list(f.shape)}"
                )
            (derivative,) = torch.autograd.grad(f.sum(), leaf) if f.requires_grad else (torch.zeros_like(u),)
        return f.detach(), derivative

    value.source = function  # type: ignore[attr-defined]
    value.__module__ = getattr(function, "__module__", "")
    ACTIVATIONS[name] = Activation(name, value, both)


def _known(name: str) -> str:
    find(name)
    return name


ActivationName = Annotated[str, BeforeValidator(named), AfterValidator(_known)]
"""Type of a setting that names an activation; a function is accepted and registered under its name."""
