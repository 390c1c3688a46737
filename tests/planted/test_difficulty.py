"""Dials: every one changes what it says it changes."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.planted import DIALS, Difficulty
from tutelage.planted.difficulty import parse, sweep, turned


def test_every_dial_is_a_setting_and_its_default_is_among_its_values():
    for dial, values in DIALS.items():
        assert getattr(Difficulty(), dial) in values


def test_a_sweep_turns_one_dial_at_a_time():
    base = Difficulty()
    for dial, value, difficulty in sweep(base, DIALS):
        changed = {n for n in Difficulty.model_fields if getattr(difficulty, n) != getattr(base, n)}
        assert changed <= {dial} | ({"sparsity"} if dial == "superposition" else set())
        assert getattr(difficulty, dial) == value


@pytest.mark.parametrize(
    ("dial", "value", "seen"),
    [
        ("units", 5, lambda d: d.teacher().widths()[1] == 5),
        ("depth", 2, lambda d: len(d.student().widths(d.teacher().widths())) == 4),
        ("decay", 2.0, lambda d: d.teacher().polarity == 2.0),
        ("width_factor", 2.0, lambda d: d.student().hidden == (16,)),
        ("superposition", 4.0, lambda d: d.student().hidden == (6,) and d.distribution().kind == "sparse-features"),
        ("covariance", 1.0, lambda d: d.distribution().kind == "gaussian-covariance"),
        ("sparsity", 0.5, lambda d: getattr(d.distribution(), "sparsity", 0) == 0.5),
        ("noise", 0.1, lambda d: getattr(d.training().label_noise, "std", 0) == 0.1),
        ("steps", 7, lambda d: d.training().steps == 7),
        ("activation", "tanh", lambda d: d.teacher().activation == d.student().activation == "tanh"),
    ],
)
def test_a_dial_reaches_its_recipe(dial, value, seen):
    assert seen(turned(Difficulty(), dial, value))
    assert not seen(Difficulty())


def test_dials_as_typed():
    assert parse(["decay=0,2.5", "units=3"]) == {"decay": (0.0, 2.5), "units": (3,)}
    for wrong, sentence in [
        ("decoy=1", "did you mean 'decay'"),
        ("decay", "must be DIAL=VALUE"),
        ("decay=", "must be DIAL=VALUE"),
        ("units=1.5", "must be a number, got '1.5'"),
    ]:
        with pytest.raises(TutelageError, match=sentence):
            parse([wrong])


def test_deep_students_keep_their_signal():
    d = Difficulty(depth=2)
    teacher = d.teacher().make([0], None, torch.float64)
    assert d.student().build(teacher, [0]).weights[0].abs().max() > 0.1
