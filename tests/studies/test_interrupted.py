"""Studies that keep finished parts of their evidence: interrupted anywhere, they go on, and to the same numbers."""

import numpy as np
import pytest

from tutelage.studies import find
from tutelage.studies.autoencoders import (
    _sentences,
    encoder_flexibility,
    splitting_the_categorical,
    splitting_the_normal,
)
from tutelage.studies.distillation import optimisation_bias
from tutelage.studies.functions import reconstruction
from tutelage.studies.kept import Kept
from tutelage.studies.packs import Packs

PARTS = {
    "basin-of-attraction": 8,
    "batch-size": 3,
    "cifar-specialisation": 4,
    "deeper-student": 3,
    "encoder-flexibility": 2,
    "initialisers": 10,
    "local-minima-census": 10,
    "optimisation-bias": 2,
    "orthogonal-representations": 4,
    "orthogonal-two-layer": 3,
    "reconstruction": 2,
    "sentences": 2,
    "splitting-the-categorical": 1,
    "splitting-the-normal": 1,
    "width-independence": 15,
}
"""At the smoke scale."""


class Counted(Kept):
    """Counts what is kept, and is interrupted after so many parts."""

    def __init__(self, folder, most=None):
        super().__init__(folder)
        self.most, self.count = most, 0

    def keep(self, about, arrays, seconds=0.0):
        super().keep(about, arrays, seconds)
        self.count += 1
        if self.count == self.most:
            raise KeyboardInterrupt


@pytest.fixture
def small(monkeypatch):
    """The slowest made smaller, and one cut finer: what is kept stays of the same kind."""
    monkeypatch.setattr(optimisation_bias, "AT_ONCE", 2)
    for module in (encoder_flexibility, splitting_the_categorical, splitting_the_normal):
        monkeypatch.setitem(module.STEPS, "smoke", 5)
    monkeypatch.setitem(
        _sentences.SIZES, "smoke", _sentences.Size(2, 2, hidden=4, train=60, encoded=10, pairs=1, samples=8)
    )
    monkeypatch.setattr(reconstruction, "asked", lambda scale, seed: [("identifiable", (2, 2, 1), seed, 0.0, 64)])


def _numbers(name: str, kept: Kept) -> tuple[dict[str, np.ndarray], list[float]]:
    """Every column of the study's table, every value its claims are judged on, and the shares that it told."""
    plan, told = find(name).plan("smoke"), []
    found = plan.evidence(Packs([], kept), told.append)
    table = plan.numbers(found)
    numbers = {column: table[column].to_numpy() for column in table.column_names}
    for claim in plan.claims:
        numbers |= {f"{claim.sentence}: {setting}": values for setting, values in claim.values(found).items()}
    return numbers, told


@pytest.mark.parametrize("name", PARTS)
def test_an_interrupted_study_goes_on_from_its_last_part(small, tmp_path, name):
    whole, parts = Counted(None), PARTS[name]
    wanted, told = _numbers(name, whole)
    assert whole.count == parts
    before = (parts + 1) // 2
    with pytest.raises(KeyboardInterrupt):
        _numbers(name, Counted(tmp_path, before))
    rest = Counted(tmp_path)
    got, told_again = _numbers(name, rest)
    assert rest.count == parts - before
    assert len(rest.used) == parts
    assert {part["about"]["what"] for part in rest.used} == {name}
    assert got.keys() == wanted.keys()
    for column, values in wanted.items():
        np.testing.assert_array_equal(got[column], values, err_msg=column, strict=True)
    for shares in (told, told_again):
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1)
