"""Claims as results land: what can be judged already, study by study."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tutelage.lab.results import Results
from tutelage.studies.claims import Check, Claim
from tutelage.studies.judging import judge
from tutelage.studies.study import Plan


@dataclass(frozen=True)
class Landed:
    """How far a study is: results stored of all, verdicts so far, and claims that still wait for results."""

    study: str
    landed: int
    experiments: int
    verdicts: Counter[str] = field(default_factory=Counter)
    waiting: int = 0


class Landing:
    """Collects results as they are stored, from any thread, and says how the studies stand."""

    def __init__(self, planned: dict[str, Plan]) -> None:
        self.planned = planned
        self._results: dict[str, Any] = {}
        self._lock = threading.Lock()

    def add(self, result: Any) -> None:
        with self._lock:
            self._results[result.experiment.hash] = result

    def results(self) -> list[Any]:
        """All results that are stored."""
        with self._lock:
            return list(self._results.values())

    def standings(self) -> list[Landed]:
        with self._lock:
            landed = dict(self._results)
        return [_standing(name, plan, landed) for name, plan in self.planned.items()]


def _standing(name: str, plan: Plan, landed: dict[str, Any]) -> Landed:
    results = Results(landed[e.hash] for e in plan.experiments if e.hash in landed)
    complete = len(results) == len(plan.experiments)
    viewed: Any = results
    if plan.view:
        viewed = plan.view(results) if complete else None
    verdicts: Counter[str] = Counter()
    waiting = 0
    for claim in plan.claims:
        so_far = _so_far(claim, viewed) if viewed is not None and len(results) else None
        waiting += so_far is None
        verdicts.update(so_far or [])
    return Landed(name, len(results), len(plan.experiments), verdicts, waiting)


def _so_far(claim: Claim | Check, viewed: Any) -> list[str] | None:
    """Verdicts of a claim on the results that are there, or None when it needs one that is not."""
    try:
        return [v.verdict for v in judge(claim, viewed)] or None
    except (LookupError, ValueError, StopIteration):
        return None
