"""Stored proofs are confirmed without rounding, and altered ones are not."""

import json

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions import check_certificate, difference_bound, save_certificate
from tutelage.networks import Network


@pytest.fixture
def proof(tmp_path):
    """Two networks, a domain, and the file of a proof of several boxes."""
    torch.manual_seed(1)
    first = Network((torch.randn(1, 2, 5).double(), torch.randn(1, 5, 4).double(), torch.randn(1, 4, 2).double()))
    second = first.map(lambda a: a + 1e-2 * torch.randn_like(a))
    ends = -torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    epsilon = 1.1 * difference_bound(first, second, ends).at_most.max().item()
    found = difference_bound(first, second, ends, epsilon, keep=True)
    assert found.boxes > 3
    path = tmp_path / "proof.json"
    save_certificate(found, [epsilon] * 2, path)
    return first, second, ends, path


def test_a_proof_is_confirmed(proof):
    first, second, ends, path = proof
    confirmed, words = check_certificate(path, first, second, *ends)
    assert confirmed, words


def test_a_missing_box_is_noticed(proof):
    first, second, ends, path = proof
    record = json.loads(path.read_text())
    record["boxes"].pop()
    path.write_text(json.dumps(record))
    confirmed, words = check_certificate(path, first, second, *ends)
    assert not confirmed
    assert "cover" in words
    wider = ends[0] * 1.5, ends[1]
    assert not check_certificate(path, first, second, *wider)[0]


def test_another_network_is_not_covered_by_the_proof(proof):
    first, second, ends, path = proof
    confirmed, words = check_certificate(path, first, second.map(lambda a: a * 1.5), *ends)
    assert not confirmed
    assert "above" in words


def test_what_is_no_proof_is_an_error(proof, tmp_path):
    first, second, ends, _ = proof
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(TutelageError, match="not a stored proof"):
        check_certificate(tmp_path / "other.json", first, second, *ends)
    with pytest.raises(TutelageError, match="keep=True"):
        save_certificate(difference_bound(first, second, ends), [1.0, 1.0], tmp_path / "none.json")
