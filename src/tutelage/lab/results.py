"""Stored results: those of one experiment, and those of a study, found by their settings."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from tutelage.errors import TutelageError, unknown
from tutelage.lab.arrays import SHARED, VALUES, read_arrays
from tutelage.lab.experiment import Experiment, flat, setting
from tutelage.printing import describe

E = TypeVar("E", bound=Experiment)


class Result(Generic[E]):
    """Stored result of an experiment; arrays are read when first used: ``result["loss"]``.

    Attributes
    ----------
    experiment
        The settings.
    folder
        Folder of the result.
    """

    def __init__(self, experiment: E, folder: Path) -> None:
        self.experiment, self.folder = experiment, folder

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        out: dict[str, np.ndarray] = {}
        if (self.folder / VALUES).is_file():
            out |= read_arrays(self.folder / VALUES)
        if (self.folder / SHARED).is_file():
            out |= {name: array[0] for name, array in read_arrays(self.folder / SHARED).items()}
        return out

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def get(self, name: str) -> np.ndarray | None:
        """An array, None where there is none of that name."""
        return self.arrays.get(name)

    def setting(self, name: str) -> Any:
        """A setting by name, wherever it stands in the experiment's settings."""
        return _setting(self.experiment, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.experiment.kind} {self.folder.name}, {self.experiment.members} members)"


class Results:
    """Results in the order of the experiments of a plan, selected by class or by settings.

    Parameters
    ----------
    results
        The results.
    """

    def __init__(self, results: Iterable[Any]) -> None:
        self._results = tuple(results)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(str(r.experiment.kind) for r in self))
        return f"Results({len(self)} of {kinds or 'nothing'})"

    def of(self, *kinds: type[Experiment]) -> "Results":
        """The results of experiments of these classes."""
        return Results(r for r in self if isinstance(r.experiment, kinds))

    def where(self, **settings: Any) -> "Results":
        """The results whose experiments have these settings; a name that none of them has is an error."""
        for name in settings:
            if self._results and not any(_names(r.experiment, name) for r in self):
                raise _unknown(name, (r.experiment for r in self))
        return Results(r for r in self if all(_has(r, name, value) for name, value in settings.items()))

    def one(self, **settings: Any) -> Any:
        """The single result whose experiment has these settings."""
        chosen = list(self.where(**settings))
        if len(chosen) != 1:
            shown = ", ".join(f"{name} = {describe(value)}" for name, value in settings.items())
            raise TutelageError(f"{len(chosen)} of {len(self)} results have {shown or 'any settings'}, expected one")
        return chosen[0]

    def values(self, name: str) -> list[Any]:
        """The different values of a setting, in order."""
        return sorted({_setting(r.experiment, name) for r in self})


def _has(result: Any, name: str, value: Any) -> bool:
    return _names(result.experiment, name) and bool(setting(result.experiment, name) == value)


def _names(experiment: Experiment, name: str) -> bool:
    """Whether an experiment has a setting of this name."""
    try:
        setting(experiment, name)
    except KeyError:
        return False
    return True


def _setting(experiment: Experiment, name: str) -> Any:
    if not _names(experiment, name):
        raise _unknown(name, [experiment])
    return setting(experiment, name)


def _unknown(name: str, experiments: Iterable[Experiment]) -> TutelageError:
    return unknown("setting", name, {known.rpartition(".")[2] for e in experiments for known in flat(e)})
