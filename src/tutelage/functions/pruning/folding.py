"""Units on one branch of their activation over the whole domain are affine: together they need no more units than rank.

Over a box their joint contribution is written with as many units as it has rank, shifted so that they stay on. Over all
inputs no shift lasts, and some of the units themselves are kept: those that span the contribution.
"""

import torch
from scipy import linalg
from torch import Tensor

from tutelage.functions.bounds.ranges import affine
from tutelage.functions.checks import slopes
from tutelage.functions.pruning.redundancy import VALID, Step, Work
from tutelage.functions.relaxations import activated
from tutelage.functions.rounding import cancelled, gamma

_LARGEST = 1e140  # and its inverse: lengths whose squares float64 can hold
_MARGIN = 1e-9  # by how much of its range a new unit is kept away from its kink


def folded(work: Work, layer: int) -> bool:
    """Fold the affine units of a layer into as few as possible; one member at a time, as each has its own ranks."""
    gate, valid, overshoot = _affine_units(work, layer)
    length = work.network.weights[layer - 1].norm(dim=1)
    groups = work.alive[layer - 1] & (gate != 0) & (length > 1 / _LARGEST) & (length < _LARGEST)
    changed = False
    for member in (groups.sum(1) > 1).nonzero().flatten().tolist():
        units = groups[member].nonzero().flatten()
        code = int(valid[member, units].max())
        changed |= _fold(work, layer, member, units, gate[member, units], code, overshoot[member, units])
    return changed


def _affine_units(work: Work, layer: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gate of every unit that stays on one branch (0 elsewhere), where that holds (codes), and how far it may not.

    [S, n] each. Units seen on one branch on the points count when ``on_samples`` says so.
    """
    left, right = slopes(work.network)
    gate = torch.zeros_like(work.alive[layer - 1], dtype=torch.float64)
    valid, overshoot = torch.zeros_like(gate, dtype=torch.int64), torch.zeros_like(gate)
    if left == right:
        return gate + right, valid, overshoot
    low, high = work.view.known[layer - 1]
    u = work.view.on_points(layer) if work.on_samples else None
    if u is not None:
        code = 1 if work.box.bounded else 2
        for on, slope, past in (((u >= 0).all(1), right, -low), ((u <= 0).all(1), left, high)):
            gate, valid = torch.where(on, slope, gate), torch.where(on, code, valid)
            overshoot = torch.where(on, (right - left) * past.clamp_min(0), overshoot)
    for code, ends in ((1, work.view.known), (0, work.view.everywhere)):
        for on, slope in ((ends[layer - 1][0] >= 0, right), (ends[layer - 1][1] <= 0, left)):
            gate, valid = torch.where(on, slope, gate), torch.where(on, code, valid)
            overshoot = torch.where(on, 0, overshoot)
    return gate, valid, overshoot


def _fold(work: Work, layer: int, member: int, units: Tensor, gate: Tensor, code: int, past: Tensor) -> bool:
    """Write what some affine units of a member do together with fewer of them; whether that could be done."""
    w, b, v, above = work.arrays(layer)
    w_k, b_k, v_k = w[member][:, units] * gate, b[member, units] * gate, v[member, units]
    joint, sizes = w_k @ v_k, w_k.abs() @ v_k.abs()
    if not joint.isfinite().all():
        return False
    basis, s, _ = (torch.from_numpy(a) for a in linalg.svd(joint.numpy(), full_matrices=False))
    noise = work.eps * max(*joint.shape, len(units)) * sizes.norm().item()
    # Below this a singular value may be rounding of the joint map, and what it stands for is in `delta`.
    rank = int((s > max(work.tolerance * s[0].item(), noise)).sum())
    spanning = _spanning(w_k, basis[:, :rank], work)
    straight = work.network.activation == "linear"  # has no kink to stay away from
    # Units that are kept round nothing: they are preferred wherever as many of them do, and over all inputs are the
    # only way.
    if code == 0 and not straight and (len(spanning) == rank or not work.box.bounded):
        # Units that are kept as they are; an abs unit below its kink is turned round, and is then above it.
        turned = torch.where(gate[spanning] < 0, -torch.ones_like(gate[spanning]), 1)
        a, offset, kept = w[member][:, units[spanning]] * turned, b[member, units[spanning]] * turned, units[spanning]
        value, start = w_k[:, spanning], b_k[spanning]
        c = torch.linalg.pinv(value) @ joint
        c = cancelled(c, noise / torch.linalg.svdvals(value)[-1:], 1.0)[0] if len(spanning) else c
    else:
        a = work.stored(cancelled(basis[:, :rank], noise / s[:rank], 1.0)[0])
        c = cancelled(basis[:, :rank].mT @ joint, torch.full_like(joint[:1], noise), 1.0)[0]
        offset, kept = _offsets(work, layer, member, a), units[:rank]
        value, start, code = a, offset, max(code, int(not straight))
    if len(kept) >= len(units) or not offset.isfinite().all():
        return False
    c = work.stored(c)
    summed = above[member] + b_k @ v_k - start @ c
    joined = work.stored(summed)
    below = work.view.reach[layer - 1][member]
    terms = (below @ w_k.abs() + b_k.abs()) @ v_k.abs() + (below @ value.abs() + start.abs()) @ c.abs()
    delta = below @ (joint - value @ c).abs() + 2 * gamma(sum(w_k.shape)) * (terms + above[member].abs())
    delta = delta + (joined - summed).abs() + torch.where(v_k == 0, 0, past.unsqueeze(1) * v_k.abs()).sum(0)
    cost = (delta @ work.view.gains[layer][member] + work.slack).nan_to_num(torch.inf, torch.inf)
    each = (cost / (len(units) - len(kept))).view(1, 1, -1).expand(work.network.members, 1, -1)
    if not work.accepted(each)[member, 0] or not (c.isfinite().all() and joined.isfinite().all()):
        return False
    above[member] = joined
    w[member][:, kept], b[member, kept], v[member, kept] = a, offset, c
    exact = work.tolerance == 0 and not past.any() and bool(work.within(each)[member, 0])
    _tell(work, layer, member, units, kept, cost, code, exact)
    moved = torch.zeros_like(above)
    moved[member] = delta
    work.put(layer, w, b, v, above, _mask(work, layer, member, units, kept), moved)
    return True


def _spanning(w: Tensor, basis: Tensor, work: Work) -> Tensor:
    """Columns of w [in, q] that span a space [in, r]: r that lie in it if there are, else as many as w has rank."""
    if not basis.shape[1]:
        return torch.zeros(0, dtype=torch.int64)
    unit = w / w.norm(dim=0)
    small = work.eps * max(w.shape)
    inside = ((unit - basis @ (basis.mT @ unit)).norm(dim=0) <= small).nonzero().flatten()
    for candidates in (inside, torch.arange(w.shape[1])):
        if len(candidates):
            _, triangle, order = linalg.qr(unit[:, candidates].numpy(), mode="economic", pivoting=True)
            rank = int((abs(triangle.diagonal()) > small).sum())
            if rank >= basis.shape[1]:
                return candidates[torch.from_numpy(order[:rank].astype("int64"))]
    return torch.arange(w.shape[1])


def _offsets(work: Work, layer: int, member: int, a: Tensor) -> Tensor:
    """Biases that keep new units of incoming weights a [in, r] above their kink: [r]; infinite where none does."""
    if work.network.activation == "linear":
        return a.new_zeros(a.shape[1])
    if work.box.bounded:
        below = (work.box.low, work.box.high) if layer == 1 else activated(work.network, work.view.known[layer - 2])
        f = below[0][member : member + 1], below[1][member : member + 1]
        low, high = (end[0] for end in affine(f, a.unsqueeze(0), a.new_zeros(1, a.shape[1])))
        rounding = 4 * torch.finfo(work.dtype).eps * low.abs()  # the bias is stored in this precision
        offset = work.stored((_MARGIN * (high - low) + rounding - low).clamp_min(0))
        safe = affine(f, a.unsqueeze(0), offset.unsqueeze(0))[0][0] >= 0
        return torch.where(safe, offset, torch.inf)
    values = work.view.features[layer - 1][member] @ a  # [N, r]
    return work.stored(((values.amax(0) - values.amin(0)) / 2 - values.amin(0)).clamp_min(0))


def _mask(work: Work, layer: int, member: int, units: Tensor, kept: Tensor) -> Tensor:
    """The units that go: bool [S, n]."""
    gone = torch.zeros_like(work.alive[layer - 1])
    gone[member, units] = True
    gone[member, kept] = False
    return gone


def _tell(work: Work, layer: int, member: int, units: Tensor, kept: Tensor, cost: Tensor, code: int, exact: bool):
    """One step per unit that goes; what all of them move together, cost [C], is recorded with each."""
    work.moved[member] += cost
    where = "on the points" if code == 2 else "throughout"
    reason = f"affine {where}, as are {len(units) - 1} others; together they need {len(kept)}"
    bound = cost.max().item() if cost.max() < torch.inf else None
    for unit in sorted(set(units.tolist()) - set(kept.tolist())):
        work.steps.append(Step(member, layer, unit, "folded", reason, VALID[code], bound, exact, tuple(kept.tolist())))
