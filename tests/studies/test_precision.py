"""No statistic of trained students is a matter of the last digits: in float64 it is what it is in float32.

A rank among units that all correlate above 0.999 is not: it differs between precisions, engines and machines.
"""

from dataclasses import replace

import numpy as np
import pytest

from tutelage.lab import Results, Store, TeacherStudent, execute
from tutelage.studies import STUDIES
from tutelage.studies.judging import as_measured

TRAINED = sorted(
    name
    for name, study in STUDIES.items()
    if all(type(e) is TeacherStudent and e.precision == "float32" for e in study.plan("smoke").experiments)
)
SHARE_OF_RANGE = 0.1
"""Both precisions start alike, and training spreads their rounding; a unit that is found or not moves a share."""


def settings_of(plan, experiments, folder):
    """The mean over members of every claim in every setting."""
    results = Results(execute(experiments, Store(folder), device="cpu"))
    viewed = plan.view(results) if plan.view else results
    return {
        (claim.sentence, setting): as_measured(values).values
        for claim in plan.claims
        for setting, values in claim.values(viewed).items()
    }


@pytest.mark.parametrize("name", TRAINED)
def test_statistics_do_not_depend_on_precision(name, tmp_path):
    plan = STUDIES[name].plan("smoke")
    single = settings_of(plan, plan.experiments, tmp_path)
    finer = [e.model_copy(update={"precision": "float64"}) for e in plan.experiments]
    double = settings_of(replace(plan, experiments=finer), finer, tmp_path)
    for where, values in single.items():
        other = double[where]
        assert np.array_equal(np.isfinite(values), np.isfinite(other)), where
        both = np.isfinite(values)
        room = SHARE_OF_RANGE * max(1.0, np.abs(other[both]).max(initial=0))
        assert np.abs(values[both].mean() - other[both].mean()) < room if both.any() else True, where
