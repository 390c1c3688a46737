"""scikit-learn, where it is installed, called member by member."""

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
from torch import Tensor

from tutelage.errors import TutelageError, how_to_install


def sklearn(module: str) -> ModuleType:
    """A module of scikit-learn; an error says how to install it."""
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise TutelageError(f"this method needs scikit-learn: {how_to_install('planted')}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings that an iteration ended before it converged: its answer is scored as it is."""
    exceptions = sklearn("exceptions")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def each(arrays: Tensor, work: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
    """``work`` on the array of every member."""
    with quiet():
        return [np.asarray(work(array.double().numpy())) for array in arrays]


def padded(directions: list[np.ndarray], scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Directions [K_s, n] and scores [K_s] of every member as [S, K, n] and [S, K].

    A member with fewer has zeros, which hit nothing, with scores below all others.
    """
    count = max(map(len, scores))
    low = min(float(s.min()) for s in scores if len(s)) - 1
    stacked = [np.concatenate([d, np.zeros((count - len(d), d.shape[1]))]) for d in directions]
    return np.stack(stacked), np.stack([np.concatenate([s, np.full(count - len(s), low)]) for s in scores])
