"""The L-shape of made-up units: where all are specialised nothing can be seen, and a tower away from 1 is seen."""

from types import SimpleNamespace

import numpy as np

from tutelage.specialisation.studies import l_shape, l_shape_deep
from tutelage.studies import judge


def result_of(best, fan_out, before=None):
    """Trained students with one hidden layer whose units have these correlations and fan-outs at the end: [S, n]."""
    first = np.zeros_like(best) if before is None else before
    values = {"specialisation": np.stack([first, best]), "fan_out": np.stack([fan_out, fan_out])}
    report = SimpleNamespace(steps=[0, 10])
    widths = (1, best.shape[1], 1)
    experiment = SimpleNamespace(
        student=SimpleNamespace(widths=lambda taught: widths), teacher=SimpleNamespace(widths=lambda: widths)
    )

    class Report:
        steps = report.steps

        def __getitem__(self, name):
            return values[name]

    return SimpleNamespace(report=Report(), experiment=experiment, setting=lambda name: 1.0)


def test_where_every_unit_is_specialised_the_claim_is_saturated():
    draw = np.random.default_rng(0)
    specialised = result_of(draw.uniform(0.96, 1.0, (20, 10)), draw.uniform(1, 2, (20, 10)))
    (judged,) = judge(l_shape.small_fan_out, [specialised])
    assert judged.verdict == "saturated"


def test_units_of_low_correlation_and_small_fan_out_make_an_l():
    draw = np.random.default_rng(1)
    best = draw.uniform(0, 1, (20, 30))
    (judged,) = judge(l_shape.small_fan_out, [result_of(best, best + draw.uniform(0, 0.1, best.shape))])
    assert judged.verdict == "holds"


def test_a_tower_of_large_fan_out_at_a_low_correlation_is_seen():
    """The rank correlation is high in both, since all other units lie on the L."""
    draw = np.random.default_rng(2)
    best = np.sort(draw.uniform(0.1, 1.0, (8, 100)), axis=1)
    upright, tower = best.copy(), best.copy()
    tower[:, -10:] = 0.35
    before = np.full_like(best, 0.2)
    ranked = best + 0.01 * draw.uniform(size=best.shape)
    verdicts = []
    for x in (upright, tower):
        result = result_of(x, ranked, before)
        verdicts.append(judge(l_shape_deep.tall_are_specialised, [result])[0].verdict)
        assert judge(l_shape_deep.small_fan_out, [result])[0].verdict == "holds"
    assert verdicts == ["holds", "fails"]
