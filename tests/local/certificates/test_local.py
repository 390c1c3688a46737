"""All statements on random students: none is refuted, every empirical constant is named, and nothing is assumed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.certificates import certify_all, theorems
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers, split_students


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 6), st.floats(-4, 0.5))
def test_no_statement_is_refuted_on_random_students(seed, r, more, exponent):
    seeds = range(seed, seed + 4)
    teachers = separated_teachers(r, 4, seeds, separation=0.5, lengths=(0.7, 1.4))
    setting = LocalSetting(teachers, local_students(teachers, r + more, seeds, spread=10**exponent))
    for name, found in certify_all(setting).items():
        assert [c.member for c in found] == list(range(4))
        assert not any("fails" in c.verdicts for c in found), name


def test_every_certificate_prints_and_names_what_is_empirical():
    teachers = separated_teachers(2, 3, [0])
    found = certify_all(LocalSetting(teachers, local_students(teachers, 3, [0], spread=0.1)))
    assert found.keys() == {n for n, t in theorems().items() if t.subject.name == "local" and not t.needs}
    for name, [certificate] in found.items():
        assert certificate.source.startswith("Zhou et al. 2021")
        assert str(certificate)
        if name not in ("zero-loss", "hermite-bound", "covering-start", "learned-subspace", "sampled-gradient"):
            assert "empirical" in certificate.settings
    loss = found["lojasiewicz"][0].conditions[0]
    assert "empirical" in loss.witness
    assert loss.data["exponent"] < -40


@pytest.mark.parametrize("m", [2, 5])
def test_a_perfect_student(m):
    teachers = separated_teachers(2, 3, [0, 1])
    shares = [[1.0], [1.0]] if m == 2 else [[0.5, 0.5], [0.1, 0.2, 0.7]]
    found = certify_all(LocalSetting(teachers, split_students(teachers, shares)))
    assert {c.verdict for c in found["zero-loss"]} == {"holds"}
    for name, certificates in found.items():
        wanted = {"holds"} if name != "polyak" or m == 2 else {"not applicable"}
        assert {c.verdict for c in certificates} == wanted, name


def test_plain_data():
    teachers = torch.eye(2, dtype=torch.float64)
    for certificates in certify_all(LocalSetting(teachers, teachers)).values():
        assert certificates[0].plain()["verdict"] == certificates[0].verdict
