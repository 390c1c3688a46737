"""Curricula of a user: which points a step sees.

A curriculum is a function of the points and labels, called once, that returns what picks the rows of a step::

    @curriculum
    def short_first(points, labels, *, start=0.2):
        order = points.square().sum(-1).argsort(1)  # [S, N]

        def rows(uniforms, done):
            share = min(1.0, start + done)
            return order.gather(1, (uniforms * (share * order.shape[1])).long())

        return rows

``tt.train(..., curriculum=short_first)``, or ``training: {curriculum: {name: short_first, start: 0.1}}`` in YAML.
"""

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.training.own_functions import Called, Function, OwnFunction, OwnFunctions


class OwnCurriculum(OwnFunction):
    """A registered curriculum."""


CURRICULA = OwnFunctions("curriculum", OwnCurriculum)


def curriculum(function: Function) -> Function:
    """Decorator that registers a curriculum under the name of its function.

    Parameters
    ----------
    function
        Called once as ``function(points, labels, **options)`` with the training points [S, N, d] and labels [S, N, C].
        It returns a function that is called at every step as ``rows(uniforms, done)``, with independent numbers [S, B]
        between 0 and 1 of each member's seed and the share of the training that is done, and returns the rows of the
        batch, whole numbers [S, B]. Members must not touch one another.

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> @curriculum
    ... def all_of_them(points, labels):
    ...     return lambda uniforms, done: (uniforms * points.shape[1]).long()
    >>> CURRICULA.pop("all_of_them").name
    'all_of_them'
    """
    return CURRICULA.register(function)


class Curriculum(Called):
    """Which points a step sees: a registered function and its options."""

    functions = CURRICULA

    def checked(self, rows: Tensor, shape: tuple[int, ...], samples: int) -> Tensor:
        """Rows of a step, int64 [S, B]; an error where they are no rows of the training set."""
        fits = isinstance(rows, Tensor) and tuple(rows.shape) == shape and rows.dtype == torch.int64
        if not fits or bool(((rows < 0) | (rows >= samples)).any()):
            raise TutelageError(
                f"the curriculum '{self.name}' must return whole numbers from 0 to {samples - 1} of shape {list(shape)}"
            )
        return rows
