"""Claims as packs land: what can be judged already, study by study."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tutelage.runs import Pack
from tutelage.studies.claims import Claim, judge
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan


@dataclass(frozen=True)
class Standing:
    """How far a study is: packs landed of all, verdicts so far, and claims that still wait for packs."""

    study: str
    landed: int
    packs: int
    verdicts: Counter[str] = field(default_factory=Counter)
    waiting: int = 0


class Landing:
    """Collects packs as they land, from any thread, and says how the studies stand."""

    def __init__(self, planned: dict[str, Plan]) -> None:
        self.planned = planned
        self._packs: dict[str, Pack] = {}
        self._lock = threading.Lock()

    def add(self, pack: Pack) -> None:
        with self._lock:
            self._packs[pack.experiment.hash] = pack

    def packs(self) -> list[Pack]:
        """All packs that have landed."""
        with self._lock:
            return list(self._packs.values())

    def standings(self) -> list[Standing]:
        with self._lock:
            landed = dict(self._packs)
        return [_standing(name, plan, landed) for name, plan in self.planned.items()]


def _standing(name: str, plan: Plan, landed: dict[str, Pack]) -> Standing:
    packs = [landed[e.hash] for e in plan.experiments if e.hash in landed]
    complete = len(packs) == len(plan.experiments)
    seen = plan.view(Packs(packs)) if plan.view and complete else Packs(packs)
    verdicts: Counter[str] = Counter()
    waiting = 0
    for claim in plan.claims:
        so_far = None if plan.evidence or (plan.view and not complete) else _so_far(claim, seen)
        waiting += so_far is None
        verdicts.update(so_far or [])
    return Standing(name, len(packs), len(plan.experiments), verdicts, waiting)


def _so_far(claim: Claim, packs: Any) -> list[str] | None:
    """Verdicts of a claim on the packs that are there, or None when it needs one that is not."""
    if isinstance(packs, Packs) and not len(packs):
        return None
    try:
        return [v.verdict for v in judge(claim, packs)] or None
    except (LookupError, ValueError, StopIteration):
        return None
