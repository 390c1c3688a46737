"""What blocks recovery can be seen only where something is blocked."""

from types import SimpleNamespace

import numpy as np

from tutelage.specialisation.studies import one_output as study


def _result(strength, best):
    measures = {"strength": np.array(strength), "best_correlation": np.array(best)}
    report = type("Report", (), {"steps": (0,), "__getitem__": lambda self, name: measures[name][None]})()
    return SimpleNamespace(report=report)


def test_members_that_recover_all_units_are_at_the_limit():
    strength = [[0.1, 0.2, 0.3, 0.0]] * 2
    ranked = study._ranked(_result(strength, [[0.2, 0.96, 0.99, 0.1], [0.97, 0.98, 0.99, 0.1]]))
    assert ranked.at_limit.tolist() == [False, True]  # the unit of weight 0 is no part of the function
    assert ranked.values[0] == 1.0
    assert np.isnan(ranked.values[1])  # nothing is blocked there
