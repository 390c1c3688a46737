"""Bounds on the difference of two dense networks over a whole box: one strategy after the other until one is enough."""

import numpy as np
import torch

from tutelage.deadline import NEVER, Deadline, OutOfTime
from tutelage.functions.answers import Question
from tutelage.functions.bounds.branch_shares import bounded_by_shares
from tutelage.functions.bounds.carried import carried, put_in
from tutelage.functions.bounds.intervals import backward_ranges, interval_bounds
from tutelage.functions.interruptible import interruptible
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.search.hunt import Hunt

_UNITS = 4096  # it trades time for tightness; the most hidden units whose ranges are bounded backwards
_STEPS = 8  # of the gradient for the ranges of f: more of them narrow few ranges further
_HOPE = 2.0  # times its limit that a bound may be for shares to be cut; every cut lowers a bound by a hundredth or two
_SHARE = 0.7  # of the time that is left for that


def bounded_at_once(
    layers: list[LayerPair], question: Question, hunt: Hunt, deadline: Deadline = NEVER
) -> torch.Tensor:
    """Bounds [C] on the difference over the whole box: by intervals, then with better ranges of f where these help.

    A deadline that passes before the intervals are done raises OutOfTime; later it leaves out the better ranges.
    """
    low, high = hunt.low.numpy(), hunt.high.numpy()
    bounds = interval_bounds(layers, low, high, deadline=deadline)
    limits = question.limits.numpy()
    if (bounds <= limits).all():
        return torch.from_numpy(bounds)
    try:
        bounds = np.minimum(bounds, carried(layers, low, high, None, deadline))
        # Backward ranges take one product of matrices per pair of layers, quadratic in the depth: they are worth it
        # only where intervals leave the question open.
        if (bounds <= limits).all() or sum(len(layer.bf) for layer in layers[:-1]) > _UNITS:
            return torch.from_numpy(bounds)
        for steps in (0, _STEPS):
            with interruptible(deadline, sum(layer.wf.size for layer in layers)):
                ranges = backward_ranges(layers, low, high, steps, deadline)
            if ranges is None:
                break
            bounds = np.minimum(bounds, interval_bounds(layers, low, high, ranges, deadline))
            bounds = np.minimum(bounds, carried(layers, low, high, ranges, deadline))
            if (bounds <= limits).all():
                return torch.from_numpy(bounds)
        if ranges is not None and (bounds <= _HOPE * limits).all():
            put = put_in(layers, low, high, ranges, deadline, any_share=True)
            share = Deadline(None if deadline.seconds is None else _SHARE * max(0.0, deadline.left))
            bounds = bounds if put is None else bounded_by_shares(put, bounds, limits, share)
    except OutOfTime:
        pass
    return torch.from_numpy(bounds)
