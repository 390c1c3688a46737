"""Networks from and to `torch.nn.Sequential`."""

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from tutelage.errors import TutelageError
from tutelage.networks.black_box import BlackBox
from tutelage.networks.network import Network

_INERT = (nn.Flatten, nn.Identity, nn.Dropout)  # change nothing for a stack of layers in evaluation
_SMOOTH: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "hard-swish": nn.Hardswish,
}


CHAINED = (nn.Linear, nn.ReLU, nn.LeakyReLU, nn.BatchNorm1d, *_SMOOTH.values(), *_INERT)
"""Layers that :func:`from_module` knows."""


def from_module(*modules: nn.Sequential) -> Network:
    """Stack ``torch.nn.Sequential`` modules of one architecture.

    Parameters
    ----------
    *modules
        One module per member. Supported layers: Linear, ReLU, LeakyReLU, Tanh, Sigmoid, Softplus, GELU, SiLU,
        Hardswish, BatchNorm1d right after a Linear (folded in with its running statistics), Flatten, Identity, Dropout.

    Returns
    -------
    Network
        One member per module; in float64 where a BatchNorm1d was folded in, whose product with the weights float32
        would round.

    Raises
    ------
    TutelageError
        For any other layer, with its name.

    Examples
    --------
    >>> from_module(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))).widths
    (3, 4, 2)
    """
    if not modules:
        raise TutelageError("from_module needs at least one torch module")
    read = [_read(module) for module in modules]
    (_, activation, slope) = read[0]
    shapes = [[w.shape for w, _ in layers] for layers, _, _ in read]
    if any(s != shapes[0] for s in shapes) or any(r[1:] != (activation, slope) for r in read):
        raise TutelageError("the modules differ in widths or activations: import them one by one")
    weights = tuple(torch.stack(ws) for ws in zip(*([w for w, _ in layers] for layers, _, _ in read), strict=True))
    biases = tuple(torch.stack(bs) for bs in zip(*([b for _, b in layers] for layers, _, _ in read), strict=True))
    if not any(b.any() for b in biases) and all(m.bias is None for s in modules for m in s if isinstance(m, nn.Linear)):
        return Network(weights, None, activation, slope)
    return Network(weights, biases, activation, slope)


def to_module(network: Network, member: int = 0) -> nn.Sequential:
    """One member as a ``torch.nn.Sequential`` with copied weights.

    Parameters
    ----------
    network
        S members.
    member
        Which one.

    Returns
    -------
    torch.nn.Sequential
        Linear layers and activations.

    Examples
    --------
    >>> to_module(Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1))))
    Sequential(
      (0): Linear(in_features=3, out_features=4, bias=False)
      (1): ReLU()
      (2): Linear(in_features=4, out_features=1, bias=False)
    )
    """
    single = network[member]
    layers: list[nn.Module] = []
    for layer, w in enumerate(single.weights):
        module = nn.Linear(w.shape[1], w.shape[2], bias=single.biases is not None, dtype=w.dtype, device=w.device)
        with torch.no_grad():
            module.weight.copy_(w[0].T)
            if single.biases is not None:
                module.bias.copy_(single.biases[layer][0])
        layers.append(module)
        if layer < single.depth - 1:
            layers.append(_activation(single))
    return nn.Sequential(*layers)


def _activation(network: Network) -> nn.Module:
    match network.activation:
        case "relu":
            return nn.ReLU()
        case "leaky":
            return nn.LeakyReLU(network.slope)
        case "linear":
            return nn.Identity()
        case "gelu-tanh":
            return nn.GELU("tanh")
        case other if other in _SMOOTH:
            return _SMOOTH[other]()
        case other:
            raise TutelageError(
                f"torch.nn has no layer for the activation '{other}': only relu, leaky, linear and "
                f"{', '.join(_SMOOTH)} convert"
            )


def _read(module: nn.Sequential) -> tuple[list[tuple[Tensor, Tensor]], str, float]:
    """Layers as (W [in, out], b [out]), the hidden activation and its slope."""
    if not isinstance(module, nn.Sequential):
        raise TutelageError(
            f"from_module needs a torch.nn.Sequential, got {type(module).__name__}: use to_network for other modules"
        )
    _check_plain(module, "the module")
    layers: list[tuple[Tensor, Tensor]] = []
    hidden: list[tuple[str, float]] = []  # what stands after each Linear but the last
    for place, part in enumerate(module):
        _check_plain(part, f"layer {place}")
        if isinstance(part, nn.Linear):
            if len(hidden) < len(layers):
                hidden.append(("linear", 0.01))
            w = part.weight.detach().T.clone(memory_format=torch.contiguous_format)
            layers.append((w, w.new_zeros(w.shape[1]) if part.bias is None else part.bias.detach().clone()))
        elif isinstance(part, nn.BatchNorm1d) and layers and len(hidden) < len(layers):
            layers[-1] = _folded(*layers[-1], part)
        elif isinstance(part, nn.LeakyReLU) and len(hidden) < len(layers):
            hidden.append(("leaky", part.negative_slope))
        elif isinstance(part, nn.ReLU) and len(hidden) < len(layers):
            hidden.append(("relu", 0.01))
        elif len(hidden) < len(layers) and (name := _smooth(part)):
            hidden.append((name, 0.01))
        elif isinstance(part, nn.Flatten) and (part.start_dim, part.end_dim) != (1, -1):
            raise TutelageError(
                f"layer {place} is a Flatten of some axes only: a plain Flatten() keeps one row per sample"
            )
        elif not isinstance(part, _INERT):
            raise TutelageError(
                f"layer {place} is a {type(part).__name__}, which cannot be imported there: only Linear, ReLU, "
                "LeakyReLU, Tanh, Sigmoid, Softplus, GELU, SiLU, Hardswish, BatchNorm1d after Linear, Flatten, "
                "Identity and Dropout are supported"
            )
    if not layers:
        raise TutelageError("the module has no Linear layer")
    if len(hidden) == len(layers):
        raise TutelageError(
            f"the last layer of the module must be Linear, got {hidden[-1][0]}: remove the activation at the end"
        )
    if len(set(hidden)) > 1:
        names = ", ".join(
            sorted({f"{name} with slope {slope:g}" if name == "leaky" else name for name, slope in hidden})
        )
        raise TutelageError(f"the module mixes activations ({names}): use one throughout")
    activation, slope = hidden[0] if hidden else ("linear", 0.01)
    if any(w.dtype == torch.float64 for w, _ in layers):  # one precision throughout
        layers = [(w.double(), b.double()) for w, b in layers]
    return layers, activation, slope


def _smooth(part: nn.Module) -> str | None:
    """The name of a smooth activation as torch computes it by default; an error for other options of it.

    A GELU has a name for its other option too.
    """
    if isinstance(part, nn.GELU) and part.approximate == "tanh":
        return "gelu-tanh"
    for name, kind in _SMOOTH.items():
        if isinstance(part, kind):
            if part.extra_repr() != kind().extra_repr():
                raise TutelageError(f"{type(part).__name__} with options ({part.extra_repr()}) cannot be imported")
            return name
    return None


def _check_plain(part: nn.Module, which: str) -> None:
    """A class may compute something else than the class it is derived from, and a hook may change what it computes."""
    kinds: tuple[type[nn.Module], ...] = (nn.Sequential, nn.Linear, nn.BatchNorm1d, nn.LeakyReLU, nn.ReLU)
    every: tuple[type[nn.Module], ...] = (*kinds, *_SMOOTH.values(), *_INERT)
    for kind in every:
        if isinstance(part, kind) and (type(part).forward is not kind.forward or "forward" in vars(part)):
            raise TutelageError(
                f"{which} is a {type(part).__name__} with a forward of its own, not that of {kind.__name__}: a "
                "chain of layers is all that can be imported"
            )
    if part._forward_hooks or part._forward_pre_hooks:
        raise TutelageError(f"{which} has hooks, which may change what it computes: remove them")
    if any(isinstance(p, UninitializedParameter) for p in part.parameters()):
        raise TutelageError(f"{which} has no weights yet: run the module on some inputs first")


def _folded(w: Tensor, b: Tensor, norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """A Linear and the BatchNorm1d after it as one Linear, in evaluation mode."""
    if norm.running_mean is None or norm.running_var is None:
        raise TutelageError("a BatchNorm1d without running statistics cannot be folded in")
    scale = 1 / (norm.running_var.double() + norm.eps).sqrt()
    if norm.affine:
        scale = scale * norm.weight.detach().double()
    shift = norm.bias.detach().double() if norm.affine else torch.zeros_like(scale)
    return w.double() * scale, (b.double() - norm.running_mean.double()) * scale + shift


def stack_of(teacher: Network | BlackBox | nn.Module) -> Network | BlackBox:
    """A torch module that is a plain stack of layers as a network of one member; anything else but a module as it is.

    >>> stack_of(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))).widths
    (3, 4, 2)
    """
    if isinstance(teacher, nn.Sequential):
        return from_module(teacher)
    if isinstance(teacher, nn.Module):
        raise TutelageError(
            f"a teacher that is a {type(teacher).__name__} does not tell its widths: give an nn.Sequential of linear "
            "layers and activations, or a Network of the same inputs and outputs"
        )
    return teacher
