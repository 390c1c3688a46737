"""Networks from the arrays of a torch model of linear layers: names such as 0.weight, 0.bias, 2.weight.

Arrays do not tell how layers are joined. What they leave open is an error, never a guess.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.network import Network

_SKIPS = {"shortcut", "skip", "residual", "downsample"}


def from_state_dict(arrays: Mapping[str, Tensor], activation: str = "relu", slope: float = 0.01) -> Network:
    """One network from the arrays of a torch state dict.

    The arrays do not tell what stands between the layers: it is taken to be the activation, and nothing after the last.

    Parameters
    ----------
    arrays
        NAME.weight [out, in] and NAME.bias [out], in the order of the layers.
    activation, slope
        As in :class:`Network`.

    Returns
    -------
    Network
        One member.

    Raises
    ------
    TutelageError
        If the numbers in the names give another order that fits as well, or a part of the model could add its input to
        its output.

    Examples
    --------
    >>> import torch
    >>> arrays = {"0.weight": torch.ones(4, 3), "0.bias": torch.ones(4), "2.weight": torch.ones(1, 4)}
    >>> from_state_dict(arrays).widths
    (3, 4, 1)
    """
    return network_of(arrays, activation, slope, ordered=True)


def network_of(arrays: Mapping[str, Tensor], activation: str, slope: float, ordered: bool) -> Network:
    """As :func:`from_state_dict`; ordered: whether the order of the arrays means anything, which files do not keep."""
    names = layer_names(arrays, ordered)
    _warn_of_neighbours(names, activation)
    weights, biases = [], []
    for name in names:
        w = arrays[f"{name}.weight"]
        weights.append(w.T.contiguous().unsqueeze(0))
        biases.append(arrays.get(f"{name}.bias", w.new_zeros(len(w))).unsqueeze(0))
    some = any(f"{name}.bias" in arrays for name in names)
    return Network(tuple(weights), tuple(biases) if some else None, activation, slope)


def layer_names(arrays: Mapping[str, Tensor], ordered: bool) -> Sequence[str]:
    """NAME of every layer, from the first to the last; ordered: as in :func:`network_of`."""
    given = [n.removesuffix(".weight") for n in arrays if n.endswith(".weight")]
    if not given:
        raise TutelageError("there is no array called NAME.weight: these are not the arrays of a torch model")
    sizes = {name: _size(name, arrays[f"{name}.weight"]) for name in given}
    used = {f"{name}.{part}" for name in given for part in ("weight", "bias")}
    for other in sorted(set(arrays) - used):
        raise TutelageError(_unlike(other, "is neither the weight nor the bias of a linear layer"))
    names = _in_order(given, sizes) if ordered else _by_names_or_sizes(given, sizes)
    _refuse_skips(names, sizes)
    return names


def to_state_dict(network: Network, names: Sequence[str] | None = None) -> dict[str, Tensor]:
    """The arrays of a torch model of linear layers, for its ``load_state_dict``.

    Parameters
    ----------
    network
        One member.
    names
        NAME of every layer; default: those of a ``Sequential`` of linear layers with activations in between.

    Returns
    -------
    dict
        NAME.weight [out, in] and NAME.bias [out], in the order of the layers.

    Raises
    ------
    TutelageError
        If there are several members, or not as many names as layers.

    Examples
    --------
    >>> import torch
    >>> arrays = {"0.weight": torch.ones(4, 3), "0.bias": torch.ones(4), "2.weight": torch.ones(1, 4)}
    >>> sorted(to_state_dict(from_state_dict(arrays), ["first", "last"]))
    ['first.bias', 'first.weight', 'last.bias', 'last.weight']
    """
    if network.members != 1:
        raise TutelageError(f"a torch model holds one member, got {network.members}: choose one")
    names = [str(2 * layer) for layer in range(network.depth)] if names is None else names
    if len(names) != network.depth:
        raise TutelageError(f"names must be one per layer, got {len(names)} for {network.depth} layers")
    arrays = {f"{name}.weight": w[0].T.contiguous() for name, w in zip(names, network.weights, strict=True)}
    for name, b in zip(names, network.biases or (), strict=network.biases is not None):
        arrays[f"{name}.bias"] = b[0].clone()
    return {key: arrays[key] for name in names for key in (f"{name}.weight", f"{name}.bias") if key in arrays}


def _warn_of_neighbours(names: Sequence[str], activation: str) -> None:
    """Say what is assumed where some layers, not all, have consecutive numbers: a Sequential has nothing in between."""
    parents, places = zip(*(name.rpartition(".")[::2] for name in names), strict=True)
    if len(set(parents)) > 1 or not all(re.fullmatch(r"\d{1,9}", place) for place in places):
        return
    steps = [int(b) - int(a) for a, b in pairwise(places)]
    close = [pair for pair, step in zip(pairwise(names), steps, strict=True) if step == 1]
    if close and max(steps) == 2:
        direct = " and ".join(f"{a}, {b}" for a, b in close[:3])
        warnings.warn(
            f"the layers {direct} have consecutive numbers, as in a Sequential without an activation in between; read "
            f"with {activation} after each of {_listed(names[:-1])} and none after {names[-1]}: if that is not the "
            "model, convert it with to_network or export it to ONNX",
            stacklevel=4,
        )


Sizes = Mapping[str, tuple[int, int]]
"""Of every layer, how many numbers it takes and how many it gives."""


def _size(name: str, w: Tensor) -> tuple[int, int]:
    if w.ndim != 2:
        raise TutelageError(_unlike(name, f"has shape {list(w.shape)}"))
    if not w.numel():
        raise TutelageError(f"the array {name}.weight has shape {list(w.shape)}: a layer needs at least one unit")
    return w.shape[1], w.shape[0]


def _in_order(given: Sequence[str], sizes: Sizes) -> Sequence[str]:
    """The order given, unless it does not fit and the numbers in the names do."""
    numbered = _numbered(given)
    if numbered is None or list(numbered) == list(given):
        _check_chain(given, sizes)
        return given
    if _break(given, sizes) is None and _break(numbered, sizes) is None:
        raise TutelageError(
            f"the layers come in the order {_listed(given)} and are numbered {_listed(numbered)}, and both orders fit: "
            "give them in the order of their numbers, or convert the model with from_module"
        )
    order = given if _break(given, sizes) is None else numbered
    _check_chain(order, sizes)
    return order


def _by_names_or_sizes(given: Sequence[str], sizes: Sizes) -> Sequence[str]:
    """The order of the numbers in the names, or else the only one that the sizes allow."""
    numbered = _numbered(given)
    if numbered is not None:
        _check_chain(numbered, sizes)
        return numbered
    above = {sizes[name][0]: name for name in given}
    outs = {sizes[name][1] for name in given}
    firsts = [name for name in given if sizes[name][0] not in outs]
    if len(above) < len(given) or len(outs) < len(given) or len(firsts) != 1:
        raise TutelageError(
            f"the names {_listed(given)} and the sizes of these layers do not tell their order: number the names, such "
            "as 0.weight and 1.weight, or export the model to ONNX"
        )
    order = firsts
    while (width := sizes[order[-1]][1]) in above:
        order.append(above[width])
    _check_chain([*order, *(name for name in given if name not in order)], sizes)
    return order


def _numbered(names: Sequence[str]) -> Sequence[str] | None:
    """Names in the order of the numbers in them; None where they differ in more than numbers."""
    if len({re.sub(r"\d+", "#", name) for name in names}) > 1:
        return None
    return sorted(names, key=lambda name: [_number(n) for n in re.findall(r"\d+", name)])


def _number(digits: str) -> tuple[int, str]:
    """A key that sorts numbers of any length as numbers."""
    short = digits.lstrip("0")
    return len(short), short


def _break(names: Sequence[str], sizes: Sizes) -> tuple[str, str] | None:
    """The first two layers that do not fit on one another."""
    return next(((a, b) for a, b in pairwise(names) if sizes[a][1] != sizes[b][0]), None)


def _check_chain(names: Sequence[str], sizes: Sizes) -> None:
    if gap := _break(names, sizes):
        below, above = gap
        raise TutelageError(
            f"{above}.weight takes {sizes[above][0]} numbers and {below}.weight gives {sizes[below][1]}: name the "
            "layers in their order, or convert the model with from_module and save it"
        )


def _refuse_skips(names: Sequence[str], sizes: Sizes) -> None:
    """A part of a model that gives as many numbers as it takes may add the two: a residual block, which is no chain."""
    for name in names:
        if _SKIPS & set(re.split(r"[._\d]+", name.lower())):
            raise TutelageError(_unlike(f"{name}.weight", "looks like a path around other layers"))
    parents = [name.split(".")[:-1] for name in names]
    shared = len(parents[0]) if len({tuple(p) for p in parents}) == 1 else _common(parents)
    for depth in range(shared + 1, max(map(len, parents)) + 1):
        for part, inside in groupby(zip(names, parents, strict=True), key=lambda pair: tuple(pair[1][:depth])):
            layers = [name for name, _ in inside]
            if len(part) == depth and sizes[layers[0]][0] == sizes[layers[-1]][1]:
                what = f"belongs to the part {'.'.join(part)}, which gives as many numbers as it takes"
                raise TutelageError(_unlike(f"{layers[0]}.weight", f"{what} and may add them (a residual block)"))


def _common(parents: Sequence[Sequence[str]]) -> int:
    """How many names all paths begin with."""
    return next(
        (i for i, level in enumerate(zip(*parents, strict=False)) if len(set(level)) > 1), min(map(len, parents))
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _unlike(name: str, what: str) -> str:
    return (
        f"the array {name} {what}, and arrays alone tell chains of linear layers only: convert the model with "
        "from_module, or export it to ONNX, which holds convolutions and normalisations completely"
    )
