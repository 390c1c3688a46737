"""What every claim of every study measures at smoke scale, kept in ``record.json``.

python tests/studies/record.py [STUDY ...]    measure, print what differs from the record, and write it anew

At smoke scale the numbers prove nothing about a paper; they tie the statistic of every claim to what it computes. Of
each setting the record holds how many values are finite, their mean and their standard deviation.
"""

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.lab import Store, schedule
from tutelage.lab.results import Results
from tutelage.studies import STUDIES, Measured, Plan
from tutelage.studies.reproduce import distinct_experiments

RECORD = Path(__file__).with_name("record.json")
CLOSE = 0.05
"""Relative to the size of the values. Machines round differently, and training spreads that; a changed sign, a sum for
a difference or another quantile move a statistic by more."""
SENSITIVE = {
    "exits-latency": "its values are seconds",
    "reconstruction": "what is left of the error is rounding",
}
"""Studies whose statistics rounding may move, with the reason: of them only the number of finite values is compared."""

Summary = tuple[int, float, float]


def measured(name: str, store: Store) -> dict[str, dict[str, Summary]]:
    """Summaries of all values of a study's claims, by claim and setting."""
    plan, _, viewed = computed(name, store)
    return {
        claim.sentence: {setting: summary(values) for setting, values in claim.values(viewed).items()}
        for claim in plan.claims
    }


def computed(name: str, store: Store) -> tuple[Plan, Results, Any]:
    """The plan of a study, its results, and what figure and claims take of them."""
    plan = STUDIES[name].plan("smoke")
    stored = {r.experiment.hash: r for r in schedule(distinct_experiments({name: plan}), store, "local")}
    results = Results(stored[e.hash] for e in plan.experiments)
    return plan, results, plan.view(results) if plan.view else results


def summary(values) -> Summary:
    """Number of finite values, their mean and standard deviation, in six digits."""
    values = np.asarray(values.values if isinstance(values, Measured) else values, float).ravel()
    values = values[np.isfinite(values)]
    if not len(values):
        return 0, 0.0, 0.0
    return len(values), float(f"{values.mean():.6g}"), float(f"{values.std():.6g}")


def differences(name: str, now: dict, before: dict) -> list[str]:
    """What differs from the record, a line each."""
    lines = [f"{name}: the claim '{sentence}' is gone" for sentence in before if sentence not in now]
    for sentence, settings in now.items():
        kept = before.get(sentence)
        if kept is None:
            lines.append(f"{name}: the claim '{sentence}' is new")
            continue
        every = [*settings, *(setting for setting in kept if setting not in settings)]
        lines += [
            f"{name}: {sentence} [{setting}]: {kept.get(setting)} -> {settings.get(setting)}"
            for setting in every
            if not _close(name, settings.get(setting), kept.get(setting))
        ]
    return lines


def _close(name: str, now: Summary | None, before: Summary | None) -> bool:
    if now is None or before is None or now[0] != before[0]:
        return False
    if name in SENSITIVE:
        return True
    room = CLOSE * (abs(before[1]) + before[2]) + 1e-7
    return all(math.isclose(a, b, rel_tol=CLOSE, abs_tol=room) for a, b in zip(now[1:], before[1:], strict=True))


def main() -> None:
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or STUDIES:
            now = json.loads(json.dumps(measured(name, Store(folder))))
            print(*differences(name, now, record.get(name, {})), sep="\n", end="")
            record[name] = now
    kept = {name: record[name] for name in sorted(STUDIES) if name in record}
    RECORD.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
