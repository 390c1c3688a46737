"""The study's judgement of networks made by hand, and its claims on invented shares."""

from fractions import Fraction

import numpy as np

from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.generality import generality
from tutelage.functions.studies._random_relu import random_relu
from tutelage.functions.studies.how_often_identifiable import (
    JudgedNetworks,
    TaughtIdentifiability,
    by_training,
    judged,
    judged_networks,
    learnt_alike,
    rarer_with_depth,
)
from tutelage.lab import Results, Store
from tutelage.lab.execute import execute
from tutelage.networks import concatenate
from tutelage.studies import judge


def test_constructed_networks_are_judged_identifiable_and_bias_free_ones_are_not():
    made = construct((2, 2, 2, 1), (-1, 1))
    both = judged(concatenate([made, random_relu((2, 2, 2, 1), 0.0, [0])]))
    assert {name: values.tolist() for name, values in both.items()} == {
        "general": [True, False],
        "transparent": [True, False],
        "identifiable": [True, False],
    }


def test_a_domain_twice_as_wide_is_biases_half_as_large():
    """Scaling inputs and all biases alike changes none of the conditions."""
    wide = random_relu((2, 2, 1), 1.0, range(30))
    narrow = random_relu((2, 2, 1), 0.5, range(30))
    scaled = [b / 2 for b in wide.biases]
    assert all((a == b).all() for a, b in zip(scaled, narrow.biases, strict=True))
    assert 0 < judged(narrow)["transparent"].sum() < 30


def test_depth_is_judged_on_networks_that_were_transparent():
    flat = JudgedNetworks("random", (2, 2, 1), 1.0, {"transparent": np.array([True, True, False])})
    deep = JudgedNetworks("random", (2, 2, 2, 2, 1), 1.0, {"transparent": np.array([True, False, False])})
    (values,) = rarer_with_depth.values([flat, deep]).values()
    assert values[:2].tolist() == [1, 0]
    assert np.isnan(values[2])


def test_students_that_have_not_learnt_do_not_count(tmp_path):
    experiment = TaughtIdentifiability(teachers="identifiable", widths=(2, 2, 1), steps=10, seeds=2)
    found = judged_networks(Results(execute([experiment], Store(tmp_path), device="cpu")))
    assert [seen.kind for seen in found] == [f"students of identifiable teachers, {when}," for when in ("start", "end")]
    assert found[1].values["teacher_identifiable"].all()
    assert np.isnan(next(iter(learnt_alike.values(found).values())).values).all()
    assert np.isfinite(next(iter(by_training.values(found).values()))).all()


def test_agreement_that_untrained_students_have_too_is_vacuous():
    """Where hardly a network is identifiable, students agree with their teachers without having learnt anything."""

    def students(when, identifiable, of):
        values = {
            "identifiable": np.array(identifiable),
            "teacher_identifiable": np.array(of),
            "loss": np.full(40, 1e-6),
        }
        return JudgedNetworks(f"students of random teachers, {when},", (2, 2, 1), 0.5, values)

    never, half = [False] * 40, [False, True] * 20
    for of, verdict in ((never, "vacuous"), (half, "holds")):
        (judged_,) = judge(learnt_alike, [students("start", never, of), students("end", of, of)])
        assert judged_.verdict == verdict


def test_the_network_that_the_check_calls_not_general_is_general_in_exact_fractions():
    """Two pieces of its output are multiples of one another to within the tolerance of the check, not exactly."""
    network = random_relu((4, 4, 4, 4, 1), 3.0, [275])
    *others, multiples = generality(network, (-1, 1))
    assert all(condition.holds for condition in others)
    assert multiples.holds is False
    active = [(0, 0, 1, 0), (1, 1, 0, 1)]
    first, second = (_piece(network, [*active, last]) for last in ((0, 1, 0, 0), (1, 1, 0, 0)))
    crossed = max(
        abs(a * d - b * c) for a, c in zip(first, second, strict=True) for b, d in zip(first, second, strict=True)
    )
    size = float(sum(a * a for a in first) * sum(c * c for c in second)) ** 0.5
    assert 0 < float(crossed) / size < 1e-10


def _piece(network, active):
    """Slope and offset of the output where these units are active, in fractions of the stored numbers."""
    rows = [[Fraction(int(i == k)) for i in range(network.widths[0])] + [Fraction(0)] for k in range(network.widths[0])]
    for layer, (weights, biases) in enumerate(zip(network.weights, network.biases, strict=True)):
        w, b = ([list(map(Fraction, row)) for row in part.tolist()] for part in (weights[0], biases))
        rows = [
            [sum(w[k][i] * row[c] for k, row in enumerate(rows)) for c in range(len(rows[0]))] for i in range(len(b[0]))
        ]
        for i, row in enumerate(rows):
            row[-1] += b[0][i]
        if layer < len(active):
            rows = [[on * value for value in row] for on, row in zip(active[layer], rows, strict=True)]
    return rows[0]
