"""Checks C5.5 to C5.8 and Theorem 5.1: the way of one layer from 0, held and broken."""

import pytest
import torch

from tutelage.certificates import certify
from tutelage.distillation.flows import induced_flow


def test_c5_5_one_layer_from_zero_stays_in_the_span(shallow, deep, moved, verdicts):
    assert verdicts("stays-in-span", shallow) == ["holds"] * 3
    assert verdicts("stays-in-span", deep) == ["not applicable"] * 3
    assert shallow.transfer.across(shallow.w).abs().max() < 1e-12

    def lifted(w):
        w[-1] += 0.01
        return w

    assert verdicts("stays-in-span", moved(shallow, lifted)) == ["fails"] * 3


def test_c5_6_the_loss_falls_at_the_rate_and_at_twice_the_rate(shallow, moved, verdicts):
    certificates = certify("linear-rate", shallow)
    assert [c.verdict for c in certificates] == ["holds"] * 3
    assert all(c.parts[0].conclusion.data["c"] > 0 for c in certificates)

    def stuck(w):
        w[1:] = w[1]
        return w

    assert verdicts("linear-rate", moved(shallow, stuck)) == ["fails"] * 3


def test_c5_7_the_loss_bounds_the_distance(shallow, moved, verdicts):
    assert verdicts("distance-by-loss", shallow) == ["holds"] * 3

    def far(w):
        w[-1] *= 1e12  # far outside the sublevel set the loss grows like the distance, not like its square
        return w

    assert verdicts("distance-by-loss", moved(shallow, far)) == ["fails"] * 3


def test_c5_8_the_loss_falls_by_the_square_of_the_gradient(shallow, deep, moved, verdicts):
    assert verdicts("loss-falls", shallow) == ["holds"] * 3
    assert verdicts("loss-falls", deep) == ["not applicable"] * 3
    assert verdicts("loss-falls", moved(shallow, lambda w: w.flip(0))) == ["fails"] * 3


def test_theorem_5_1_the_end_is_the_projection(shallow, few, many, moved, verdicts):
    assert verdicts("learns-projection", shallow) == ["holds"] * 3
    zero = torch.zeros(3, 3, dtype=torch.float64)
    whole = induced_flow(many, zero, 1, [0.0, 3000.0])
    assert verdicts("learns-projection", whole) == ["holds"] * 3
    assert (whole.w[-1] - many.teacher).abs().max() < 1e-6
    early = induced_flow(few, torch.zeros(3, 8, dtype=torch.float64), 1, [0.0, 1.0])
    assert verdicts("learns-projection", early) == ["not decided"] * 3
    aside = few.across(torch.ones(3, 8, dtype=torch.float64))
    assert verdicts("learns-projection", moved(shallow, lambda w: torch.cat([w[:-1], w[-1:] + aside]))) == ["fails"] * 3


@pytest.mark.parametrize("name", ["stays-in-span", "linear-rate", "learns-projection"])
def test_a_start_elsewhere_is_not_the_theorems(few, name, verdicts):
    course = induced_flow(few, torch.ones(3, 8, dtype=torch.float64), 1, [0.0, 1.0])
    assert verdicts(name, course) == (["holds"] if name == "linear-rate" else ["not applicable"]) * 3
