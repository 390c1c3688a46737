"""Stored results: those of one experiment, and those of a study, found by their settings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from tutelage.errors import TutelageError, unknown
from tutelage.lab.arrays import SHARED, VALUES, read_arrays
from tutelage.lab.experiment import Experiment, named, setting
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
        """A setting by its dotted name, or by the end of it where no other setting ends alike.

        >>> import tutelage as tt
        >>> training = {"steps": 5, "label_noise": {"kind": "gaussian", "std": 0.1}}
        >>> data = tt.inputs.Gaussian(std=2.0)
        >>> teacher = tt.teachers.Levels(inputs=4, hidden=2, outputs=1)
        >>> experiment = tt.TeacherStudent(
        ...     teacher=teacher, student=tt.students.SmallNormal(), inputs=data, training=training, seeds=1
        ... )
        >>> result = Result(experiment, Path())
        >>> result.setting("training.label_noise.std"), result.setting("inputs.std"), result.setting("polarity")
        (0.1, 2.0, 0.0)
        """
        return setting(self.experiment, name)

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

    def where(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> "Results":
        """The results whose experiments have these settings; a name that none of them has is an error.

        Parameters
        ----------
        settings
            Values by dotted name, such as ``{"training.label_noise.std": 0.1}``.
        more
            Values by the last part of a name, where no other setting ends alike: ``polarity=1``.
        """
        wanted = {**(settings or {}), **more}
        for name in wanted:
            _check_name(name, [r.experiment for r in self])
        return Results(r for r in self if all(_has(r.experiment, name, value) for name, value in wanted.items()))

    def one(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        """The single result whose experiment has these settings, named as in :meth:`where`."""
        chosen = list(self.where(settings, **more))
        if len(chosen) != 1:
            wanted = {**(settings or {}), **more}
            shown = ", ".join(f"{name} = {describe(value)}" for name, value in wanted.items())
            raise TutelageError(f"{len(chosen)} of {len(self)} results have {shown or 'any settings'}, expected one")
        return chosen[0]

    def values(self, name: str) -> list[Any]:
        """The different values of a setting, in order."""
        return sorted({setting(r.experiment, name) for r in self})


def _check_name(name: str, experiments: Sequence[Experiment]) -> None:
    """Raise an error unless some experiment has a setting of this name, or there are no experiments."""
    every = {dotted for experiment in experiments for dotted in named(experiment)}
    if every and not any(dotted == name or dotted.endswith(f".{name}") for dotted in every):
        raise unknown("setting", name, every)


def _has(experiment: Experiment, name: str, value: Any) -> bool:
    """Whether a setting has a value; an experiment that lacks the setting, such as the noise of another, has not."""
    if not any(dotted == name or dotted.endswith(f".{name}") for dotted in named(experiment)):
        return False
    return bool(setting(experiment, name) == value)
