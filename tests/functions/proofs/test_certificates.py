"""Stored proofs are confirmed without rounding, and altered ones are not."""

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions import check_certificate, difference_bound, save_certificate, top_class_agreement
from tutelage.functions.layers.pairs import joined
from tutelage.functions.proofs.exact_forms import ends as ends_of
from tutelage.functions.proofs.exact_forms import exact_layers, output_forms
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network
from tutelage.networks.activations import slope_of


@pytest.fixture
def proof(tmp_path):
    """Two networks, a domain, and the file of a proof of several boxes."""
    torch.manual_seed(1)
    first = Network((torch.randn(1, 2, 5).double(), torch.randn(1, 5, 4).double(), torch.randn(1, 4, 2).double()))
    second = first.map(lambda a: a + 1e-2 * torch.randn_like(a))
    ends = -torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    epsilon = 1.1 * difference_bound(first, second, ends).at_most.max().item()
    found = difference_bound(first, second, ends, epsilon, keep=True)
    assert found.parts > 3
    path = tmp_path / "proof.json"
    save_certificate(found, [epsilon] * 2, path)
    return first, second, ends, path


def test_a_proof_is_confirmed(proof):
    first, second, ends, path = proof
    confirmed, words = check_certificate(path, first, second, *ends)
    assert confirmed, words


def test_one_epsilon_is_for_all_outputs(proof):
    first, second, ends, path = proof
    found = difference_bound(first, second, ends, 1.0, keep=True)
    save_certificate(found, 1.0, path)
    assert json.loads(path.read_text())["epsilon"] == [(1.0).hex()] * 2
    assert check_certificate(path, first, second, *ends)[0]


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


def test_networks_of_other_depths_and_units_are_confirmed(tmp_path):
    torch.manual_seed(3)
    ends = -torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    first = Network((torch.randn(1, 2, 4).double(), torch.randn(1, 4, 2).double()), None, "leaky", 0.25)
    second = Network(
        (torch.randn(1, 2, 3).double(), torch.randn(1, 3, 3).double(), torch.randn(1, 3, 2).double()), None, "abs"
    )
    epsilon = 1.2 * difference_bound(first, second, ends).at_most.max().item()
    found = difference_bound(first, second, ends, epsilon, keep=True)
    save_certificate(found, [epsilon] * 2, tmp_path / "proof.json")
    confirmed, words = check_certificate(tmp_path / "proof.json", first, second, *ends)
    assert confirmed, words
    assert not check_certificate(tmp_path / "proof.json", first, second.map(lambda a: 2 * a), *ends)[0]


def test_top_classes_are_confirmed_and_a_network_that_disagrees_is_not(tmp_path):
    torch.manual_seed(4)
    ends = torch.tensor([0.2, 0.2]).double(), torch.tensor([1.0, 1.0]).double()
    first = Network((torch.randn(1, 2, 5).double(), torch.randn(1, 5, 3).double()))
    second = first.map(lambda a: a + 1e-3 * torch.randn_like(a))
    found = top_class_agreement(first, second, ends, 0.05, keep=True)
    assert found.verdict == "holds"
    path = tmp_path / "proof.json"
    save_certificate(found, None, path, margin=0.05)
    confirmed, words = check_certificate(path, first, second, *ends)
    assert confirmed, words
    turned = second.map(lambda a: a if a.shape[-1] != 3 else a.roll(1, -1))
    confirmed, words = check_certificate(path, first, turned, *ends)
    assert not confirmed
    assert "class" in words
    with pytest.raises(TutelageError, match="epsilon or about top classes"):
        save_certificate(found, None, path)


@pytest.mark.parametrize("seed", range(8))
def test_exact_forms_hold_at_exact_outputs(seed):
    draw = np.random.default_rng(seed)
    kinds = ("relu", "leaky", "abs")

    def made(widths, kind):
        weights = [torch.from_numpy(draw.normal(size=(1, a, b))) for a, b in pairwise(widths)]
        return Network(
            tuple(weights),
            tuple(torch.from_numpy(draw.normal(size=(1, b))) for b in widths[1:]),
            kind,
            slope_of(kind, 0.1),
        )

    first = made((2, 3, 3, 2), kinds[seed % 3])
    second = made((2, 3, 2), kinds[seed // 3]) if seed % 2 else first.map(lambda a: a + 0.01)
    low, high = [Fraction(-1, 2)] * 2, [Fraction(1, 2), Fraction(3, 4)]
    f, d = output_forms(exact_layers(joined(first, second)), low, high)
    for x in draw.uniform([-0.5, -0.5], [0.5, 0.75], (20, 2)):
        a, b = exact_outputs(first, torch.from_numpy(x)), exact_outputs(second, torch.from_numpy(x))
        for k in range(2):
            assert ends_of(f[k])[0] <= a[k] <= ends_of(f[k])[1]
            assert ends_of(d[k])[0] <= a[k] - b[k] <= ends_of(d[k])[1]
