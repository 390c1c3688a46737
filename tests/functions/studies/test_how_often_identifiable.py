"""The study's judgement of networks made by hand, and its claims on invented shares."""

import numpy as np

from tutelage.functions.identifying.construction import construct
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
    assert np.isnan(next(iter(learnt_alike.values(found).values()))).all()
    assert np.isfinite(next(iter(by_training.values(found).values()))).all()
