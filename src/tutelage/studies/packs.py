"""The finished packs of a study, found by their settings."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tutelage.runs import Pack
from tutelage.studies.kept import Kept


def setting(pack: Pack, name: str) -> Any:
    """A setting of a pack by name, wherever in its spec it stands: multiple, polarity, hidden, train, ..."""
    for part in (pack.spec.teacher, pack.spec.student, pack.spec.inputs, pack.spec.training):
        if name in type(part).model_fields:
            return getattr(part, name)
    raise KeyError(name)


class Packs:
    """Packs in the order of their specs; kept: finished parts of what is worked out beside them."""

    def __init__(self, packs: Iterable[Pack], kept: Kept | None = None) -> None:
        self._packs = tuple(packs)
        self.kept = kept or Kept()

    def __iter__(self) -> Iterator[Pack]:
        return iter(self._packs)

    def __len__(self) -> int:
        return len(self._packs)

    def where(self, **settings: Any) -> "Packs":
        """The packs with these settings."""
        found = (p for p in self if all(setting(p, name) == value for name, value in settings.items()))
        return Packs(found, self.kept)

    def one(self, **settings: Any) -> Pack:
        """The one pack with these settings."""
        found = list(self.where(**settings))
        if len(found) != 1:
            raise KeyError(f"{len(found)} packs have the settings {settings}, wanted one")
        return found[0]

    def values(self, name: str) -> list[Any]:
        """The different values of a setting, in order."""
        return sorted({setting(p, name) for p in self})


def at_step(pack: Pack, measure: str, step: int | None = None) -> np.ndarray:
    """A measure [S, ...] at a recorded step, the last one unless told."""
    steps = pack.report.steps
    return pack.report[measure][-1 if step is None else steps.index(step)]
