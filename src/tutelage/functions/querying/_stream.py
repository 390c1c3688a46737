"""One stream of counter-based draws, taken one after another by a search."""

import numpy as np

from tutelage import draws


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
