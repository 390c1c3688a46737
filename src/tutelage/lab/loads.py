"""Packs and loads: what is stored at once, and what is put on a device at once.

An experiment with very many seeds is cut into packs by :func:`packs_of`, from its spec alone. When they are computed,
packs too large for a device are cut further into pieces, and like-shaped small ones are joined. A member's numbers
depend on its own seed and settings alone, but for rounding: the stacked engine's last bits may differ with the members
that are trained side by side (:class:`tutelage.training.stacked.Stacked`), whose number is in the log of a pack.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from tutelage.lab.spec import Spec
from tutelage.settings import of_members, without_members

STREAMS = 3
"""Loads that are at work on a GPU at the same time."""

_SHARE = 0.6  # of the free memory of a GPU that the data of the loads at work may take together
_CPU_BYTES = 2 << 30

PACK_WORK = 6e12
"""Multiplications of the largest pack an experiment makes: about a minute of one core (see docs/speed.md)."""

PACK_MEMBERS = 10_000
"""Members of the largest pack an experiment makes, so that tables of short trainings stay of a size to handle."""


def capacity(device: torch.device) -> int:
    """Bytes of data a load may hold on a device."""
    if device.type == "cuda":
        return int(_SHARE * torch.cuda.mem_get_info(device)[0] / STREAMS)
    return _CPU_BYTES


def work(spec: Spec) -> float:
    """Multiplications of a pack, to weigh packs against each other."""
    widths = spec.student.widths(spec.teacher.widths())
    samples = spec.inputs.train if spec.training.batch == "all" else spec.training.batch
    per_sample = 3.0 * sum(a * b for a, b in pairwise(widths))
    return len(spec.seeds) * spec.steps * samples * per_sample


def packs_of(spec: Spec) -> list[Spec]:
    """A spec as the packs an experiment stores: itself, or specs of some of its members where it is more than a
    minute of work. They follow from the spec alone, so every run of an experiment, anywhere, meets the same ones.
    """
    members = len(spec.seeds)
    most = max(1, min(PACK_MEMBERS, int(PACK_WORK * members / work(spec))))
    if members <= most or spec.inputs.shared:  # shared points are those of the first seed, which other packs would lack
        return [spec]
    parts = math.ceil(members / most)
    ends = [members * part // parts for part in range(parts + 1)]
    return [some(spec, range(*bounds)) for bounds in pairwise(ends)]


@dataclass(frozen=True)
class Piece:
    """Some members of a pack, in order: ``spec`` is the spec of those alone, ``whole`` that of the pack."""

    whole: Spec
    spec: Spec

    @property
    def bytes(self) -> int:
        """Bytes of the points, labels and teacher activations, in training and in evaluation."""
        d, *hidden, c = self.spec.teacher.widths()
        size = torch.finfo(getattr(torch, self.spec.precision)).bits // 8
        train = self.spec.inputs.train * (d + c)
        evaluate = self.spec.inputs.evaluate * (d + c + 2 * sum(hidden))
        return len(self.spec.seeds) * size * (2 * train + 2 * evaluate)  # twice, since pieces are joined

    @property
    def shape(self) -> tuple:
        """What pieces must share to be trained in one stack: students, training but for the rates, recorded steps."""
        student = self.spec.student
        training = without_members(self.spec.training)
        return (
            student.widths(self.spec.teacher.widths()),
            (student.activation, student.slope, student.bias),
            self.spec.inputs.train,
            training,
            self.spec.record.steps(self.spec.steps),
            self.spec.precision,
        )


def loads(specs: Sequence[Spec], device: torch.device) -> list[list[Piece]]:
    """Specs as loads: each a list of pieces that are trained together and fit on the device.

    On a GPU like-shaped pieces are joined, since a few dozen students leave most of it idle. On a CPU a load is one
    piece, since students are worked through core by core anyway and results land sooner.
    """
    room = capacity(device)
    pieces = [piece for spec in specs for piece in cut(spec, room)]
    return join(pieces, room) if device.type == "cuda" else [[piece] for piece in pieces]


def cut(spec: Spec, room: int) -> list[Piece]:
    """A spec as pieces with fewer members, each small enough; the members of all pieces are those of the spec."""
    members = len(spec.seeds)
    if spec.inputs.shared:  # one set of points, that of the first seed: it takes no more room for many members
        return [Piece(spec, spec)]
    most = max(1, room * members // Piece(spec, spec).bytes)
    starts = range(0, members, most)
    return [Piece(spec, some(spec, range(i, min(i + most, members)))) for i in starts]


def join(pieces: Sequence[Piece], room: int) -> list[list[Piece]]:
    """Like-shaped pieces together, as many as there is room for, pieces of one pack in their order."""
    alike: dict[tuple, list[Piece]] = {}
    for piece in pieces:
        alike.setdefault(piece.shape, []).append(piece)
    joined: list[list[Piece]] = []
    for group in alike.values():
        used = room
        for piece in group:
            if used + piece.bytes > room:
                joined.append([])
                used = 0
            joined[-1].append(piece)
            used += piece.bytes
    return joined


def some(spec: Spec, members: Sequence[int]) -> Spec:
    """The spec of some of its members, with their own values of the settings that are given per member."""
    seeds = tuple(spec.seeds[i] for i in members)
    return of_members(spec, members).model_copy(update={"seeds": seeds})
