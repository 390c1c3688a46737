"""Scores against counting by hand, and what must hold for every answer."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import draws
from tutelage.planted import MethodAnswer
from tutelage.planted.answer import candidates
from tutelage.planted.cases import CASES
from tutelage.planted.methods.reference import oracle, random
from tutelage.planted.registry import METHODS
from tutelage.planted.scores import SCORES, Judged, score
from tutelage.studies.intervals import mean_interval

PERFECT = {
    "recall": 1.0, "average_precision": 1.0, "calibration_error": 0.0, "coverage": 1.0, "count_bias": 0.0,
}  # fmt: skip


def judged(units, inside, m=4):
    units = np.array([units])
    return Judged(units, np.ones_like(units, bool), np.array([inside]), m)


def test_counting_by_hand():
    found = judged([2, -1, 2, 0, -1], inside=3)
    assert found.precision.tolist() == [[1, 1 / 2, 2 / 3, 3 / 4, 3 / 5]]
    assert np.allclose(found.recall, [[1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3]])
    assert found.average_precision() == pytest.approx((1 + 3 / 4) / 3)
    assert found.found(0.1).tolist() == [[False, False, True, False]]
    assert found.found(0.25).tolist() == [[True, False, True, False]]
    assert found.curve()[0, [0, 3, 6, 7, 10]].tolist() == [1, 1, 3 / 4, 0, 0]


def test_a_student_without_units_has_no_recall():
    assert np.isnan(judged([-1, -1], inside=0).average_precision())


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12), st.integers(1, 4))
def test_scores_are_shares(units, inside):
    inside = max(inside, len(set(units) - {-1}))
    found = judged(units, inside)
    assert 0 <= found.average_precision()[0] <= 1
    assert (np.diff(found.curve()[0]) <= 1e-12).all()
    assert found.found(1.0).sum() == len(set(units) - {-1})


def scored(scene, function, case="trained", sees="students", seeds=None, **changes):
    known = scene.truth(case, 1)
    method = replace(METHODS["oracle"], sees=sees)
    view = scene.view(case, 1, method, known)
    answer = replace(function(view, scene.seen), **changes)
    return score(candidates(answer, view, "mine"), known, scene.scoring, seeds or scene.experiment.seeds)


@pytest.mark.parametrize("case", [case for case in CASES if case != "untrained"])
def test_an_oracle_scores_one_everywhere(scene, case):
    values = scored(scene, oracle, case, "truth")
    for name, wanted in PERFECT.items():
        assert np.allclose(values[name], wanted), name
    assert (values["curve"] == 1).all()
    assert (values["found"] == values["inside"]).all()


def test_a_random_order_is_chance_with_the_right_coverage(scene):
    """The 95 % interval of the gain of a random ranking holds 0 in about 95 % of repetitions."""
    known, view = scene.truth("trained", 1), scene.view("trained", 1, METHODS["random"])
    gains = []
    for repetition in range(400):
        key = draws.keys([s + 1_000 * repetition for s in scene.experiment.seeds], "random order")
        answer = candidates(MethodAnswer(ranking=draws.uniforms(key, view.units)), view, "mine")
        gains.append(score(answer, known, scene.scoring, scene.experiment.seeds)["gain"])
    gains = np.concatenate(gains)  # three members a time, 1,200 values of one member of 40 groups of 30
    held = [(i := mean_interval(g, (-1.0, 1.0))).low <= 0 <= i.high for g in gains.reshape(-1, 30)]
    # 40 intervals of 95 %: fewer than 34 that hold 0 have a probability of 0.3 %
    assert sum(held) >= 34


def test_a_random_method_is_not_calibrated(scene):
    assert (scored(scene, random)["calibration_error"] > 0.1).any()


def test_members_may_come_in_any_order(scene):
    order = [2, 0, 1]
    method = METHODS["max-correlation"]
    known, view = scene.truth("trained", 1), scene.view("trained", 1, method)
    before = score(
        candidates(method.function(view, scene.seen), view, "m"), known, scene.scoring, scene.experiment.seeds
    )
    fields = ("state", "certified", "correlation", "explained", "directions", "features")
    other = replace(known, **{name: getattr(known, name)[order] for name in fields})
    turned = replace(view, network=view.network[order], teacher=view.teacher[order], labels=view.labels[order])
    answer = candidates(method.function(turned, scene.seen[order]), turned, "m")
    after = score(answer, other, scene.scoring[order], tuple(scene.experiment.seeds[i] for i in order))
    for name in (*SCORES, "found", "curve"):
        assert np.array_equal(after[name], before[name][order], equal_nan=True), name


def test_units_of_student_and_teacher_may_come_in_any_order(scene):
    method = METHODS["max-correlation"]
    known, view = scene.truth("trained", 1), scene.view("trained", 1, method)
    points, seeds = scene.scoring, scene.experiment.seeds
    before = score(candidates(method.function(view, scene.seen), view, "m"), known, points, seeds)
    units, taught = torch.randperm(view.units), torch.randperm(view.teacher.widths[1])

    def reordered(network, order):
        weights = network.weights[0][:, :, order], network.weights[1][:, order]
        return replace(network, weights=weights, biases=(network.biases[0][:, order], network.biases[1]))

    turned = replace(view, network=reordered(view.network, units), teacher=reordered(view.teacher, taught))
    other = replace(
        known, state=known.state[:, taught], features=known.features[..., taught],
        correlation=known.correlation[:, taught][..., units], directions=known.directions[:, taught][..., units],
    )  # fmt: skip
    after = score(candidates(method.function(turned, scene.seen), turned, "m"), other, points, seeds)
    for name in set(SCORES) - {"chance", "gain"}:  # of which the random orders are others
        assert np.allclose(after[name], before[name], equal_nan=True), name
    assert np.array_equal(after["found"], before["found"][:, taught])


def test_what_a_method_says_of_itself_is_compared_with_what_is_so(scene):
    known = scene.truth("trained", 1)
    m = known.inside.shape[1]
    ones = torch.ones(3, m, dtype=torch.float64)
    said = {"probabilities": 0.7 * ones, "p_values": 0.01 * ones, "count": torch.full((3,), m + 2.0)}
    values = scored(scene, oracle, sees="truth", intervals=torch.stack([2 * ones, 3 * ones], 2), **said)
    share = known.inside.double().mean(1).numpy()
    assert np.allclose(values["calibration_error"], np.abs(0.7 - share))
    assert np.allclose(values["coverage"], 0)
    assert np.allclose(values["count_bias"], m + 2 - m * share)
    wrong = share < 1
    assert np.allclose(values["false_positives"][wrong], 1)
    assert np.isnan(values["false_positives"][~wrong]).all()
