"""What is told of training and of finished models."""

from dataclasses import replace

import pytest

from tutelage.autoencoders.bounds import Bounds
from tutelage.autoencoders.settings import Information, TrainingRecord, Watch

KNOWN = Information(2.0, Bounds(1.9, 0.01, 2.1, 0.01), -10.0, 0.1, -8.0, 2.0, -9.5, 3, 4, 0.4)


def test_a_wrong_sign_is_one_that_the_running_mean_denies():
    watch = Watch(1.0)
    signs = [watch.sign(value) for value in (2.0, 2.0, 0.5, 2.0)]
    assert signs == [1, 1, -1, 1]
    assert watch.wrong_signs() == pytest.approx(1 / 3)  # the first has nothing to be held against
    assert watch.wrong_signs() == 0  # counted from anew
    assert watch.estimate == pytest.approx(1.625)


def test_a_vae_has_no_signs():
    watch = Watch(None)
    assert [watch.sign(value) for value in (2.0, -1.0, 0.5)] == [0, 0, 0]
    assert watch.wrong_signs() == 0
    assert watch.estimate == pytest.approx(0.5)


def test_collapse_is_told():
    assert not TrainingRecord(1, 1.0, 0.5, -1.0, 0.3, -0.7, 0.5).collapsed
    assert TrainingRecord(1, None, 0.5, -1.0, 0.001, -0.7, 0.0).collapsed
    assert not KNOWN.collapsed
    assert replace(KNOWN, bounds=Bounds(-0.1, 0.01, 0.01, 0.01)).collapsed


def test_words():
    assert KNOWN.gap == pytest.approx(0.5)
    told = str(KNOWN)
    assert "target 2 nats" in told
    assert "3 of 4 latents" in told
    assert "40% of the last signs" in told
    empty = str(replace(KNOWN, target=None, kl=0.0))
    assert "no target" in empty
    assert "collapsed" in empty
    assert "signs" not in empty
