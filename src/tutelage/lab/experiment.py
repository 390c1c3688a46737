"""The experiment: typed settings with a kind, a numerics version and a hash, and a function that computes its results.

A kind of experiment is one class::

    class Departure(Experiment, kind="departure", numerics=1):
        '''Time that a student opposite to its teacher needs to leave.'''

        gap: float
        seeds: tuple[int, ...]

        def run(self, context: Context) -> Arrays:
            return {"time": departure_times(self.gap, self.seeds)}  # [S]

Whatever the numbers depend on is a setting. ``numerics`` is raised when a change of the code changes the numbers, so
that stored results of the old code are not taken for those of the new.

One rule keeps hashes: a setting that is added to a record is marked ``ADDED``, and nothing else of a record that is in
use is changed (no name, type or default). See :attr:`Experiment.hash`; a test has the hash of one experiment per kind.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import yaml

from tutelage.errors import TutelageError, unknown
from tutelage.printing import printed
from tutelage.settings import ADDED, Settings, per_member_names

if TYPE_CHECKING:
    from tutelage.lab.context import Context
    from tutelage.lab.results import Result


@printed
@dataclass(frozen=True, eq=False)
class Shared:
    """An array without a member axis, such as the times at which all members were recorded.

    Parameters
    ----------
    value
        The array.
    """

    value: np.ndarray


Arrays = Mapping[str, "np.ndarray | Shared"]
"""Results of an experiment by name: arrays whose first axis is the member, and shared ones."""


KINDS: dict[str, type["Experiment"]] = {}
"""Every kind of experiment by its name."""


class Experiment(Settings):
    """Base class of experiments: typed settings that decide the numbers, and :meth:`run`, which computes them.

    A subclass names its ``kind`` and the version of its numerics: ``class Mine(Experiment, kind="mine", numerics=1)``.
    Settings that do not change the numbers (device, threads, where it runs) are in the :class:`Context`.
    """

    kind: ClassVar[str] = ""
    numerics: ClassVar[int] = 1
    kinds: ClassVar[dict[str, type["Experiment"]]] = KINDS
    reports_shares: ClassVar[bool] = True
    """Whether progress is told as a share of each experiment; a kind that computes several in one stack does not."""

    @classmethod
    def _title(cls) -> str:
        return "experiment"

    def __init_subclass__(cls, kind: str = "", numerics: int = 1, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not kind:
            return
        known = Experiment.kinds.get(kind)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"two kinds of experiment are called '{kind}': {known.__name__} and {cls.__name__}")
        cls.kind, cls.numerics = kind, numerics
        Experiment.kinds[kind] = cls

    def run(self, context: "Context") -> Arrays:
        """The results: arrays with the member as first axis, and :class:`Shared` ones."""
        raise NotImplementedError(f"the experiment '{self.kind}' does not say how it is run")

    @property
    def members(self) -> int:
        """The length of the first axis of the results: as many as there are seeds, where there are seeds."""
        return len(getattr(self, "seeds", (0,)))

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly; progress bars weigh experiments by it."""
        return 1.0

    def needs(self) -> tuple["Experiment", ...]:
        """Experiments whose results this one reads with ``context.result``: those among its settings."""
        return tuple(value for value in _values(self, deep=False) if isinstance(value, Experiment))

    def files(self) -> tuple[Path, ...]:
        """Files that are read; what they contain enters the hash. By default those of the recipes in the settings."""
        return tuple(path for value in _values(self) for path in getattr(value, "reads", tuple)())

    def description(self) -> dict[str, Any]:
        """What the hash is taken of, as plain data: kind, numerics, settings, contents of files, plugins."""
        from tutelage.plugins import used_by  # plugins know experiments, which know them

        out: dict[str, Any] = {"kind": self.kind, "numerics": self.numerics, "settings": complete(self)}
        if files := {path.name: content_hash(path) for path in self.files()}:
            out["files"] = files
        if needed := [experiment.hash for experiment in self.needs()]:
            out["needs"] = needed
        if plugins := used_by(self):
            out["plugins"] = plugins
        return out

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the results.

        Every setting enters, at its default too: a default that is changed later gives later experiments another hash,
        and stored results stay those of the settings they were computed with. The one exception is a setting that was
        added to a record when results were stored already. It is marked ``Annotated[TYPE, ADDED] = DEFAULT``, with a
        default under which the numbers are those of before, and is left out at that default, so that the hashes of
        older experiments stay.
        """
        return digest(canonical(self.description()))

    @classmethod
    def run_all(cls, experiments: Sequence["Experiment"], context: "Context") -> Iterator[tuple["Experiment", Arrays]]:
        """Results of several experiments of this kind as they are finished; a kind may compute them side by side."""
        for experiment in experiments:
            with context.of(experiment) as inner:
                yield experiment, experiment.run(inner)

    def encode(self, results: Any) -> dict[str, bytes]:
        """Results as the contents of files, by name."""
        from tutelage.lab.arrays import to_files

        return to_files(results, self.members, getattr(self, "seeds", None))

    def decode(self, folder: Path) -> "Result":
        """The stored results."""
        from tutelage.lab.results import Result

        return Result(self, folder)


def find(kind: str) -> type[Experiment]:
    """The class of experiments of a kind."""
    if kind not in Experiment.kinds:
        raise unknown("kind of experiment", kind, Experiment.kinds)
    return Experiment.kinds[kind]


def plain(settings: Settings) -> dict[str, Any]:
    """Settings as plain data: kinds, and every value that differs from its default.

    Parameters
    ----------
    settings
        An experiment or one of its sections.

    Returns
    -------
    dict
        Values that YAML and JSON can write.
    """
    out: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if name != "kind" and value == field.get_default(call_default_factory=True):
            continue
        out[name] = _plain(value)
    return out


def complete(settings: Settings) -> dict[str, Any]:
    """Settings as plain data with every default, so that a default that is changed later changes nothing stored.

    Settings marked as ``ADDED`` are left out at their default: hashes from before they existed stay as they were.
    """
    return {
        name: _plain(getattr(settings, name), complete)
        for name, field in type(settings).model_fields.items()
        if ADDED not in field.metadata or getattr(settings, name) != field.get_default(call_default_factory=True)
    }


def to_yaml(experiment: Experiment, defaults: bool = False) -> str:
    """Write an experiment as YAML; :func:`from_yaml` reads one of trained students back to the same hash.

    Parameters
    ----------
    experiment
        The settings.
    defaults
        Whether its kind and every default are written too, as they are in the store.

    Returns
    -------
    str
        YAML; plugins that it needs are named in a comment.

    Examples
    --------
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal"}, inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=2,
    ... )
    >>> print(to_yaml(experiment), end="")
    teacher:
      kind: levels
      inputs: 5
      hidden:
      - 3
      outputs: 2
    student:
      kind: small-normal
    inputs:
      kind: gaussian
      train: 50
      evaluate: 20
    training:
      steps: 100
    seeds:
    - 0
    - 1
    """
    from tutelage.plugins import describe, used_by  # plugins know experiments, which know them

    needs = "".join(f"# needs --with {name}\n" for name in describe(used_by(experiment)))
    values = {"kind": experiment.kind, **complete(experiment)} if defaults else plain(experiment)
    return needs + yaml.safe_dump(values, sort_keys=False)


def flat(settings: Settings) -> dict[str, Any]:
    """All settings by dotted name, defaults too, as plain data.

    Settings marked as ``ADDED`` are left out at their default, so that short names of columns stay those of before.
    """
    return {name: _plain(value) for name, value in named(settings, added=False).items()}


def named(settings: Settings, prefix: str = "", added: bool = True) -> dict[str, Any]:
    """All settings by dotted name, defaults too; ``added``: with those marked as ``ADDED`` at their default."""
    out: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if not added and ADDED in field.metadata and value == field.get_default(call_default_factory=True):
            continue
        inner = named(value, f"{prefix}{name}.", added) if isinstance(value, Settings) else {f"{prefix}{name}": value}
        out |= inner
    return out


def per_member_settings(settings: Settings, prefix: str = "") -> list[str]:
    """Dotted names of the settings that are given as a list with one value per member."""
    out = [f"{prefix}{n}" for n in per_member_names(type(settings)) if isinstance(getattr(settings, n), tuple)]
    for name, value in settings:
        if isinstance(value, Settings):
            out += per_member_settings(value, f"{prefix}{name}.")
    return out


def setting(settings: Settings, name: str) -> Any:
    """A setting by its dotted name, or by the end of it where no other setting ends alike.

    A name that several settings end in is an error and never one of them: a noise and a distribution both have a
    ``std``, and which of them is nearer says nothing about which is meant.
    """
    every = named(settings)
    ends = [name] if name in every else [dotted for dotted in every if dotted.endswith(f".{name}")]
    if not ends:
        raise unknown("setting", name, every)
    if len(ends) > 1:
        raise TutelageError(f"'{name}' may be {' or '.join(ends)}: give the whole name")
    return every[ends[0]]


def canonical(description: Any) -> str:
    """Plain data as the text that a hash is taken of."""
    return json.dumps(description, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    """The hash of an experiment with this description."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def content_hash(path: Path) -> str:
    """SHA-256 of what a file contains."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _plain(value: Any, settings: Callable[[Settings], dict[str, Any]] = plain) -> Any:
    """A value as plain data; ``settings`` says how sections within it are written."""
    if isinstance(value, Settings):
        return settings(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), settings) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(entry, settings) for entry in value]
    if isinstance(value, dict):
        return {key: _plain(entry, settings) for key, entry in value.items()}
    return str(value) if isinstance(value, Path) else value


def _values(settings: Settings, deep: bool = True) -> Iterator[Settings]:
    """Settings held by settings, in tuples too; deep: at any depth, else the nearest."""
    for _, value in settings:
        for entry in value if isinstance(value, tuple) else (value,):
            if isinstance(entry, Settings):
                yield entry
                if deep:
                    yield from _values(entry)
