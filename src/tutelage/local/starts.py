"""Teachers and students to begin with: separated teachers, and the three regimes of Fig. 1 of Zhou et al. 2021."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.draws import as_seeds, indices, keys, normals, uniforms
from tutelage.errors import TutelageError
from tutelage.local.initialise import check_enough, teachers_of
from tutelage.local.setting import LocalSetting
from tutelage.population.kernels import pairs
from tutelage.whole import positive

_TRIES = 1000


def plane_teachers(degrees: Sequence[float], lengths: Sequence[float] | None = None) -> Tensor:
    """Teachers in the plane at these angles, of length 1 by default: [1, r, 2].

    >>> plane_teachers([0, 90]).round(decimals=6).abs().tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    angle = torch.tensor(degrees, dtype=torch.float64) * math.pi / 180
    size = torch.ones_like(angle) if lengths is None else torch.tensor(lengths, dtype=torch.float64)
    return (size.unsqueeze(1) * torch.stack([angle.cos(), angle.sin()], 1)).unsqueeze(0)


def separated_teachers(
    r: int, d: int, seeds: Sequence[int], *, separation: float = 0.5, lengths: tuple[float, float] = (1.0, 1.0)
) -> Tensor:
    """Random teachers whose lines are at least a given angle apart.

    Parameters
    ----------
    r, d
        Teachers and dimensions.
    seeds
        One per member; each takes its first draw that is separated enough.
    separation
        Smallest angle between two lines.
    lengths
        Ends of the uniform distribution of lengths.

    Returns
    -------
    Tensor
        [S, r, d].

    Examples
    --------
    >>> teachers = separated_teachers(2, 3, [0, 1], separation=1.0)
    >>> (teachers[:, 0] * teachers[:, 1]).sum(1).abs() <= math.cos(1.0)
    tensor([True, True])
    """
    r, d = positive(r, "r"), positive(d, "d")
    if not 0 < lengths[0] <= lengths[1] < math.inf:
        raise TutelageError(f"lengths must be positive and in order, got {lengths}")
    streams = keys(seeds, "local teachers")
    sizes = uniforms(keys(seeds, "local teacher lengths"), r)
    sizes = lengths[0] + (lengths[1] - lengths[0]) * sizes
    out = torch.zeros(len(streams), r, d, dtype=torch.float64)
    waiting = torch.arange(len(streams))
    # Rejection, member by member: each member uses draws of its own stream in order, so its teachers do not depend on
    # who else is waiting. Invariant: `waiting` are the members without teachers so far.
    for number in range(_TRIES):
        drawn = normals(streams[waiting], r * d, start=number * r * d).view(-1, r, d)
        drawn = drawn / drawn.norm(dim=2, keepdim=True)
        cosine = pairs(drawn, drawn).cosine.abs() - torch.eye(r, dtype=torch.float64)
        good = cosine.amax((1, 2)) <= math.cos(separation)
        out[waiting[good]] = drawn[good]
        waiting = waiting[~good]
        if not len(waiting):
            return out * sizes.unsqueeze(2)
    raise TutelageError(
        f"{_TRIES} draws gave no {r} lines in {d} dimensions that are {separation:.3g} apart: lower the separation"
    )


def local_students(teachers: Tensor, m: int, seeds: Sequence[int], *, spread: float = 0.4) -> Tensor:
    """Students near teachers, at least one per teacher (Zhou et al. 2021, Fig. 1c).

    Parameters
    ----------
    teachers
        [S, r, d] or [1, r, d].
    m
        Number of students, at least r.
    seeds
        One per member.
    spread
        Size of the noise on the directions; masses of a teacher's students add up to |w*_i|, signs are random.

    Returns
    -------
    Tensor
        [S, m, d].

    Examples
    --------
    >>> local_students(separated_teachers(2, 3, [0, 1]), 4, [0, 1]).shape
    torch.Size([2, 4, 3])
    """
    teachers = teachers_of(teachers, seeds).expand(len(as_seeds(seeds)), -1, -1)
    members, r, d = teachers.shape
    check_enough(m, r)
    # The first r students have a teacher each, so that none is without; the others choose at random.
    first = torch.arange(r).expand(members, r)
    mine = torch.cat([first, indices(keys(seeds, "local groups"), m - r, r)], 1) if m > r else first
    lengths = teachers.norm(dim=2)
    near = (teachers / lengths.unsqueeze(2)).gather(1, mine.unsqueeze(2).expand(-1, -1, d))
    noise = normals(keys(seeds, "local directions"), m * d).view(members, m, d) / math.sqrt(d)
    chance = uniforms(keys(seeds, "local masses"), 3 * m).view(members, 3, m)
    near = near + spread * noise * chance[:, 0].unsqueeze(2)
    near = near / near.norm(dim=2, keepdim=True)
    # Exponential shares, divided by their sum: uniform on the simplex of masses.
    share = -chance[:, 1].log()
    total = torch.zeros(members, r, dtype=torch.float64).scatter_add(1, mine, share)
    mass = share / total.gather(1, mine) * lengths.gather(1, mine)
    sign = torch.where(chance[:, 2] < 0.5, -1.0, 1.0)
    return (mass.sqrt() * sign).unsqueeze(2) * near


def normal_students(m: int, d: int, seeds: Sequence[int], *, scale: float = 0.3) -> Tensor:
    """Students from a normal distribution; small ones are the mean-field start (Zhou et al. 2021, Fig. 1b).

    Parameters
    ----------
    m, d
        Students and dimensions.
    seeds
        One per member.
    scale
        Standard deviation of every coordinate.

    Returns
    -------
    Tensor
        [S, m, d].
    """
    m, d = positive(m, "m"), positive(d, "d")
    return scale * normals(keys(seeds, "local students"), m * d).view(-1, m, d)


def split_students(teachers: Tensor, shares: Sequence[Sequence[float]]) -> Tensor:
    """Students of loss 0 that share the teachers' masses (Zhou et al. 2021, Theorem 2).

    Parameters
    ----------
    teachers
        [S, r, d] or [1, r, d].
    shares
        For each teacher, the shares of |w*_i| that its students carry: not negative, with the sum 1.

    Returns
    -------
    Tensor
        [S, m, d].
    """
    teachers = (teachers[None] if teachers.ndim == 2 else teachers).double()
    if len(shares) != teachers.shape[1]:
        raise TutelageError(
            f"there are shares for {len(shares)} teachers of {teachers.shape[1]}: give one list for each"
        )
    for i, of_teacher in enumerate(shares):
        if not (all(share >= 0 for share in of_teacher) and math.isclose(sum(of_teacher), 1, rel_tol=1e-9)):
            raise TutelageError(
                f"the shares of teacher {i} must not be negative and must add up to 1, got {list(of_teacher)}"
            )
    parts = [
        teachers[:, i : i + 1] * torch.tensor(of_teacher, dtype=torch.float64)[:, None].sqrt()
        for i, of_teacher in enumerate(shares)
    ]
    lengths = teachers.norm(dim=2).repeat_interleave(torch.tensor([len(s) for s in shares]), 1)
    return torch.cat(parts, 1) / lengths.sqrt().unsqueeze(2)


def opposite_pair(delta: float, d: int = 2) -> LocalSetting:
    r"""One teacher e_1, two students at +-delta whose average is the teacher (Zhou et al. 2021, Claim 2 and Fig. 2).

    :math:`L = (\delta - \sin\delta\cos\delta) / (\pi \cos^2\delta)`, of order delta^3; one student alone has delta^2.
    """
    teachers = torch.zeros(1, 1, d, dtype=torch.float64)
    teachers[..., 0] = 1
    students = torch.zeros(1, 2, d, dtype=torch.float64)
    students[..., 0] = math.cos(delta)
    students[..., 1] = torch.tensor([math.sin(delta), -math.sin(delta)], dtype=torch.float64)
    return LocalSetting(teachers, students / math.sqrt(2 * math.cos(delta)))


def lazy_students(m: int, d: int, seeds: Sequence[int], alpha: float) -> tuple[Tensor, Tensor]:
    """Students [S, m, d] and factors [m] of the lazy model f = alpha sum_j s_j |w_j| |w_j.x| (Zhou et al. 2021, Fig.
    1a).

    The second half are copies of the first with s = -1, so f = 0 at the start (Chizat et al. 2019). The rate that goes
    with it is :func:`.descent.lazy_rate`: above twice of that students move far at first, however large alpha is.
    """
    if m % 2:
        raise TutelageError(f"the lazy model takes its students in pairs, and {m} is odd: give an even number")
    half = normals(keys(seeds, "local students"), m // 2 * d).view(-1, m // 2, d)
    sign = torch.ones(m, dtype=torch.float64)
    sign[m // 2 :] = -1
    return torch.cat([half, half], 1), alpha * sign
