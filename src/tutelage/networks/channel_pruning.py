"""Structured pruning of layered networks: whole channels or units go, the function stays that of the masked network.

The strength of a unit is how much of what it says reaches the layer above: the deviation of its activation over the
samples (pixels counted as samples), times the length of its outgoing weights.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.layered import Layered


def unit_strengths(model: Layered, batches: Iterable[Tensor]) -> list[Tensor]:
    """Strength of every unit of every hidden layer: [S, width] each."""
    sums: list[list[Tensor]] = []
    count = 0
    with torch.no_grad():
        for x in batches:
            layers, _ = model.features(x)
            moments = [_moments(f) for f in layers]
            before = sums or [[torch.zeros_like(m) for m in layer] for layer in moments]
            sums = [[a + b for a, b in zip(old, new, strict=True)] for old, new in zip(before, moments, strict=True)]
            count += x.shape[-len(model.architecture.inputs) - 1]
        if not count:
            raise TutelageError("there are no samples: give at least one batch")
        return [
            (square / number - (total / number).square()).clamp_min(0).sqrt().float() * _outgoing(model, layer)
            for layer, (total, square, number) in enumerate(sums)
        ]


def _moments(f: Tensor) -> list[Tensor]:
    places = f.flatten(3).transpose(2, 3).flatten(1, 2) if f.ndim > 3 else f
    count = torch.tensor(float(places.shape[1]), dtype=torch.float64, device=f.device)
    return [places.sum(1, dtype=torch.float64), places.double().square().sum(1), count]


def _outgoing(model: Layered, layer: int) -> Tensor:
    """Length of the weights that leave each unit: [S, width]."""
    w = model.weights[layer + 1]
    if w.ndim == 5:
        return w.square().sum((1, 3, 4)).sqrt()
    width = model.architecture.widths()[layer]
    return w.unflatten(1, (width, -1)).square().sum((2, 3)).sqrt()


def strongest(strengths: Sequence[Tensor], widths: Sequence[int]) -> list[Tensor]:
    """The strongest units of every layer, so many of each, in their order: int64 [S, kept] each."""
    for layer, (s, kept) in enumerate(zip(strengths, widths, strict=True), start=1):
        if not 1 <= kept <= s.shape[1]:
            raise TutelageError(f"layer {layer} has {s.shape[1]} units, and {kept} were to be kept: keep at least one")
    return [s.topk(kept, dim=1).indices.sort(dim=1).values for s, kept in zip(strengths, widths, strict=True)]


def masked(model: Layered, kept: Sequence[Tensor]) -> Layered:
    """The network in which all other units are silent: their outgoing weights are 0."""
    result = _copy(model)
    with torch.no_grad():
        for layer, index in enumerate(kept):
            keep = torch.zeros(model.members, model.architecture.widths()[layer], device=index.device)
            keep.scatter_(1, index, 1.0)
            w = result.weights[layer + 1]
            if w.ndim == 5:
                w.mul_(keep[:, None, :, None, None])
            else:
                w.mul_(keep.repeat_interleave(w.shape[1] // keep.shape[1], dim=1).unsqueeze(2))
    return result


def pruned(model: Layered, kept: Sequence[Tensor]) -> Layered:
    """The smaller network of the kept units alone: the function of :func:`masked`, without its silent units."""
    small = Layered(model.architecture.with_widths([index.shape[1] for index in kept]), model.seeds)
    small = small.to(model.weights[0].device, model.weights[0].dtype)
    with torch.no_grad():
        for layer, (w, b) in enumerate(zip(model.weights, model.biases, strict=True)):
            out = kept[layer] if layer < len(kept) else None
            into = kept[layer - 1] if layer > 0 else None
            small.weights[layer].copy_(_chosen_weights(w, into, out, model, layer))
            small.biases[layer].copy_(b if out is None else b.gather(1, out))
        for layer, (small_norm, norm) in enumerate(zip(small.norms, model.norms, strict=True)):
            for name, value in norm.state_dict().items():
                small_norm.state_dict()[name].copy_(value.gather(1, kept[layer]))
    return small.train(model.training)


def _chosen_weights(w: Tensor, into: Tensor | None, out: Tensor | None, model: Layered, layer: int) -> Tensor:
    """The rows and columns of a layer's weights that the kept units use."""
    members = torch.arange(w.shape[0], device=w.device)[:, None]
    if w.ndim == 5:
        w = w if out is None else w[members, out]
        return w if into is None else w.transpose(1, 2)[members, into].transpose(1, 2)
    if into is not None:
        width = model.architecture.widths()[layer - 1]
        w = w.unflatten(1, (width, -1))[members, into].flatten(1, 2)
    return w if out is None else w.mT[members, out].mT


def _copy(model: Layered) -> Layered:
    result = Layered(model.architecture, model.seeds).to(model.weights[0].device, model.weights[0].dtype)
    result.load_state_dict(model.state_dict())
    return result.train(model.training)
