"""A black box asked for values (and gradients, where it gives them): checked, counted, in double precision.

The draws that decide where it is asked come from one stream of a seed, so that a search asks the same points again.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tutelage import draws
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.checks import as_number

ROUNDING = 1e-14
"""What double precision leaves open of a network's value, as a share of the largest value met."""

_NOISE_ROOM = 2  # over the noise: told bounds hold, measured ones nearly always; more room hides small bends
_ROUNDING_ROOM = 8  # over rounding, which grows with the depth of the network: it hides nothing that matters
_ROWS = 1 << 17  # points sent in one call
_CALL = 0.5  # seconds that a call may take, by the speed of the last one
_TRIAL, _FEW = 256, 64  # points of the first call, and the fewest that tell the speed
_PROBES = 64  # segments on which the precision of values is measured


class Spent(Exception):
    """The time or the queries of a search are spent."""


class Oracle:
    """A function of points [N, d] that answers with values [N, C], and how often it was asked.

    ask: takes a float64 tensor [N, d] and returns values [N, C]; with ``gradients`` a pair of values [N, C] and
    gradients [N, C, d]. noise: a bound on the error of a value. NaN, infinities and wrong shapes raise an error, and a
    question after the deadline, or one for more points than ``most`` leaves, raises Spent.

    >>> oracle = Oracle(lambda x: x.relu(), inputs=2, outputs=2)
    >>> oracle.values(np.array([[1.0, -3.0]])), oracle.queries
    (array([[1., 0.]]), 1)
    """

    def __init__(
        self,
        ask: Callable[[torch.Tensor], Any],
        inputs: int,
        outputs: int,
        *,
        gradients: bool = False,
        noise: float = 0.0,
    ) -> None:
        if inputs < 1 or outputs < 1:
            raise TutelageError(f"inputs and outputs of a black box must be at least 1, got {inputs} and {outputs}")
        noise = as_number(noise, "noise")
        if not 0 <= noise < float("inf"):
            raise TutelageError(f"noise must be a finite bound of at least 0 on the error of a value, got {noise}")
        self.ask, self.inputs, self.outputs, self.gradients, self.noise = ask, inputs, outputs, gradients, noise
        self.queries = 0
        self.largest = 0.0
        self.deadline = Deadline(None)
        self.most: int | None = None
        self.refused = self.late = False
        self.speed = float("inf")  # points per second, of the last calls

    @property
    def spent(self) -> bool:
        """Whether no time is left, or a question was refused because too few are."""
        return self.refused or self.deadline.passed

    @property
    def rounding(self) -> float:
        """A bound on the error of a value: the noise, or the rounding of values as large as those met."""
        return max(self.noise, ROUNDING * self.largest)

    @property
    def allowed(self) -> float:
        """What a value may be off by, with room for a noise that was told or measured too small."""
        return max(_NOISE_ROOM * self.noise, _ROUNDING_ROOM * ROUNDING * self.largest)

    @property
    def clear(self) -> float:
        """A change of values that no error makes, and that tests of a bend can build on."""
        return 12.5 * self.allowed

    def values(self, points: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, C]."""
        return self._asked(points)[0]

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, C, d], for a black box that gives gradients."""
        return self._asked(points)[1]

    def _asked(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        begin = 0
        while not parts or begin < len(points):
            # Calls of about half a second by the speed of the last one: a limit is looked at between calls, and a black
            # box that is slow or fast is asked as many points as it takes.
            rows = max(1, min(_ROWS, int(min(self.speed * _CALL, 1e9)))) if self.queries else _TRIAL
            parts.append(self._once(points[begin : begin + rows]))
            begin += rows
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def affordable(self, count: int) -> int:
        """As many points as wanted; once a time limit was reached those that half a second answers, but a few."""
        if not self.late:
            return count
        return min(count, max(_FEW, int(self.speed * _CALL) if self.speed < float("inf") else 0))

    def _once(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.most is not None and self.queries + len(points) > self.most:
            self.refused = True
            raise Spent
        if self.deadline.passed:
            raise Spent
        begin = time.monotonic()
        answer = self.ask(torch.from_numpy(np.ascontiguousarray(points, dtype=np.float64)))
        self.queries += len(points)
        if len(points) >= _FEW:  # fewer tell what a call costs, and not what a point does
            self.speed = len(points) / max(time.monotonic() - begin, 1e-9)
        n, d, c = len(points), self.inputs, self.outputs
        if not self.gradients:
            values, gradients = _array(answer, (n, c), "values"), np.zeros((0, c, d))
        elif isinstance(answer, tuple) and len(answer) == 2:
            values, gradients = _array(answer[0], (n, c), "values"), _array(answer[1], (n, c, d), "gradients")
        else:
            raise TutelageError(
                "with gradients=True the black box must return a pair (values, gradients): return both, or use "
                "gradients=False"
            )
        self.largest = max(self.largest, float(np.abs(values).max(initial=0.0)))
        return values, gradients


def single_precision(oracle: Oracle, low: np.ndarray, high: np.ndarray, draw: np.random.Generator) -> float | None:
    """The largest error of values that are given in single precision, measured; None where they are not.

    Values that float32 holds exactly are taken for such; how far they are from linear along short segments, most of
    which no fold crosses, tells their error.
    """
    points = draw.uniform(low, high, (_PROBES, len(low)))
    # A thousandth of the box: so short that most segments meet no fold, along which exact values would be linear.
    steps = np.linspace(0, 1e-3, 9)[:, None, None] * draw.uniform(-1, 1, points.shape) * (high - low)
    values = oracle.values((points + steps).reshape(-1, len(low))).reshape(9, _PROBES, -1)
    if not values.any() or (values.astype(np.float32) != values).any():
        return None
    if (values == np.round(values, 3)).all():
        return None  # whole numbers and the like tell nothing of the precision
    t = np.linspace(-1, 1, 9)[:, None, None]
    line = values.mean(0) + t * (t * values).sum(0) / np.square(t).sum()
    rest = np.abs(values - line).max((0, 2))
    return 4 * float(np.median(rest)) + 2.0**-24 * oracle.largest


def _array(answer: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The answer as float64 of that shape."""
    try:
        out = answer.detach().cpu().to(torch.float64).numpy() if isinstance(answer, torch.Tensor) else answer
        out = np.asarray(out, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TutelageError(f"the black box must return {what} as an array of numbers ({error})") from None
    if out.shape != shape:
        raise TutelageError(f"the black box must return {what} of shape {list(shape)}, got {list(out.shape)}")
    if not np.isfinite(out).all():
        raise TutelageError(f"the black box returned {what} that are not finite: keep the box where it is defined")
    return out


class QueryDraws:
    """Draws of a seed, each taken once.

    >>> one, two = QueryDraws(3), QueryDraws(3)
    >>> bool((one.normals(2, 2) == two.normals(2, 2)).all()), one.index(5) == two.index(5)
    (True, True)
    """

    def __init__(self, seed: int) -> None:
        self._key = draws.keys([seed], "search")
        self._taken = 0

    def normals(self, *shape: int) -> np.ndarray:
        """Standard normal numbers of a shape."""
        return draws.normals(self._key, self._count(int(np.prod(shape))), self._start).numpy().reshape(shape)

    def index(self, bound: int) -> int:
        """A number from 0 to bound - 1."""
        return int(draws.indices(self._key, self._count(1), bound, self._start)[0, 0])

    def generator(self) -> np.random.Generator:
        """A generator of NumPy's for many numbers, started from one draw."""
        return np.random.default_rng(self.index(1 << 31))

    def permutation(self, size: int) -> np.ndarray:
        """The numbers from 0 to size - 1 in some order."""
        return np.argsort(draws.uniforms(self._key, self._count(size), self._start).numpy()[0], kind="stable")

    def _count(self, count: int) -> int:
        self._start, self._taken = self._taken, self._taken + count
        return count
