"""The inputs are those that are printed, and every claim reads the experiment that it names."""

from types import SimpleNamespace

import numpy as np

from tutelage.specialisation.studies.printed_inputs import INPUTS, printed_inputs, wide_recover, wider_recover_more


def test_the_inputs_are_those_of_the_paper():
    experiments = printed_inputs.plan("paper").experiments
    assert {e.inputs.std for e in experiments if e.inputs.kind == "gaussian"} == {10.0}
    assert {e.inputs.half_width for e in experiments if e.inputs.kind == "uniform"} == {1.0}
    assert {e.seeds if isinstance(e.seeds, int) else len(e.seeds) for e in experiments} == {32}


def test_claims_compare_widths_on_the_same_inputs():
    def result(kind, factor, share):
        best = np.zeros((2, 3, 10))
        best[1, :, : round(10 * share)] = 0.99
        report = SimpleNamespace(steps=(0, 9))
        return SimpleNamespace(
            experiment=SimpleNamespace(inputs=SimpleNamespace(kind=kind)),
            setting=lambda name: factor,
            report=_Report(best, report.steps),
        )

    kinds = [law.kind for law, _ in INPUTS.values()]
    shares = dict(zip(kinds, (1.0, 0.5), strict=True))
    found = [result(kind, k, shares[kind] * k / 10) for kind in kinds for k in (1, 2, 5, 10)]
    assert np.allclose(wider_recover_more.values(found)["N(0, 10^2)"].values, 0.9)
    assert np.allclose(wide_recover.values(found)["U[-1, 1], 10x"].values, 0.5)


class _Report(dict):
    def __init__(self, best, steps):
        super().__init__(best_correlation=best)
        self.steps = steps
