"""Packs are found by their settings, wherever in the spec these stand."""

from pathlib import Path

import numpy as np
import pytest

from tutelage.measures import Report
from tutelage.runs import Pack
from tutelage.studies import Packs, at_step, setting
from tutelage.studies.specialisation.two_layer import sweep


@pytest.fixture
def packs():
    report = Report((0, 5), {"rho_mean": np.array([[1.0], [2.0]])})
    return Packs(Pack(spec, report, Path()) for spec in sweep("smoke", 4, (1, 2), (0.0, 0.5)))


def test_one_pack_by_its_settings(packs):
    pack = packs.one(multiple=2, polarity=0.5)
    assert setting(pack, "multiple") == 2
    assert setting(pack, "polarity") == 0.5
    assert setting(pack, "std") == 1.5


def test_ambiguous_or_missing_packs_are_errors(packs):
    with pytest.raises(KeyError, match="2 packs"):
        packs.one(multiple=2)
    with pytest.raises(KeyError, match="0 packs"):
        packs.one(multiple=3)
    with pytest.raises(KeyError, match="colour"):
        packs.where(colour=1)


def test_values_of_a_setting_are_sorted(packs):
    assert packs.values("multiple") == [1, 2]
    assert len(packs.where(polarity=0.0)) == 2


def test_a_measure_at_a_step(packs):
    pack = next(iter(packs))
    assert at_step(pack, "rho_mean").tolist() == [2.0]
    assert at_step(pack, "rho_mean", 0).tolist() == [1.0]
