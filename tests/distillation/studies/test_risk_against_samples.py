"""Curves of a small task: nothing is left at n = d, no bound is broken, and deep students end where they should."""

import numpy as np
import pytest
import torch

from tutelage.distillation import Isotropic, LargeMargin, Polynomial, learned
from tutelage.distillation.bounds import margin_bound, polynomial_bound
from tutelage.distillation.studies.risk_against_samples import (
    BEYOND,
    SHARE,
    _closest,
    _deep,
    bounds,
    curve,
    draw,
    held,
    meaningful,
    never_harmed,
    perfect,
)


@pytest.fixture(scope="module")
def found():
    tasks = {"margin of 30 degrees": LargeMargin(10), "kappa = 1": Polynomial(10), "isotropic": Isotropic(10)}
    return {name: curve(task, range(8), lambda share: None) for name, task in tasks.items()}


def test_nothing_is_left_from_d_on_and_no_input_harms(found):
    for claim in (perfect, never_harmed):
        for values in claim.values(found).values():
            assert (values < 1e-9).all()
    assert all(c.risk.shape == (10 + BEYOND, 8) for c in found.values())


def test_every_bound_is_held_against_the_risks(found):
    values = held.values(found)
    assert {name.split("; ")[1] for name in values} == {
        "Theorem 5.3", "Theorem 5.3, tighter", "Corollary 5.1", "Corollary 5.2",
    }  # fmt: skip
    assert all(v.values.mean() < 0 for v in values.values())
    assert meaningful.values(found)["isotropic"] >= 0.5


def test_bounds_are_the_corollaries_own():
    margin, uniform = LargeMargin(6), Polynomial(6, kappa=2.0)
    assert bounds(margin)["Corollary 5.1"].tolist() == [margin_bound(margin.p, n, margin.limit) for n in range(1, 6)]
    assert bounds(uniform)["Corollary 5.2"].tolist() == [polynomial_bound(2.0, n) for n in range(1, 6)]
    assert set(bounds(Isotropic(6))) == {"Theorem 5.3", "Theorem 5.3, tighter"}


def test_deep_students_end_within_their_share_of_the_projection():
    transfer = Isotropic(12).transfer(range(5), 4)
    goal = learned(transfer)
    off = (_deep(transfer, goal, range(5)) - goal).norm(dim=1) / goal.norm(dim=1)
    assert bool(((off > 0) & (off <= SHARE)).all())
    assert torch.equal(off, off.abs())


def test_the_closest_n_is_taken_by_the_mean():
    risk, bound = np.array([[0.1, 0.1], [0.3, 0.4], [9.0, 9.0]]), np.array([0.4, 0.4])
    closest = _closest(risk, bound)
    assert np.allclose(closest.values, [-0.25, 0.0])
    assert np.isclose(closest.baseline, 0.25)


def test_bounds_that_guessing_meets_do_not_count_beside_others():
    risk, bound = np.array([[0.45, 0.45], [0.1, 0.1]]), np.array([0.6, 0.4])
    assert np.allclose(_closest(risk, bound).values, -0.75)
    alone = _closest(risk[:1], bound[:1])
    assert alone.baseline < 0, "guessing meets the only bound, so the claim is vacuous"


def test_the_figure_holds_every_task(found):
    assert len(draw(found).axes) == 3
