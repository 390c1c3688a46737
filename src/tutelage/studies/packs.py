"""The stored results of a study, found by their settings."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tutelage.lab.experiment import setting as find_setting
from tutelage.lab.results import Results
from tutelage.runs import Pack
from tutelage.studies.kept import Kept


def setting(pack: Any, name: str) -> Any:
    """A setting of a result by name, wherever in its experiment it stands: multiple, polarity, hidden, train, ..."""
    return find_setting(pack.experiment, name)


class Packs(Results):
    """Results in the order of their experiments; kept: finished parts of what is worked out beside them."""

    def __init__(self, packs: Iterable[Any], kept: Kept | None = None) -> None:
        super().__init__(packs)
        self.kept = kept or Kept()

    def where(self, **settings: Any) -> "Packs":
        return Packs(super().where(**settings), self.kept)


def at_step(pack: Pack, measure: str, step: int | None = None) -> np.ndarray:
    """A measure [S, ...] at a recorded step (default: the last)."""
    steps = pack.report.steps
    return pack.report[measure][-1 if step is None else steps.index(step)]
