"""Every exhibit is one function in two networks, and the comparison says so and why."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.comparing.equivalence import same_function
from tutelage.functions.comparing.gallery import exhibit, names
from tutelage.networks import outputs

NAMED = {  # a kind of redundancy that the comparison must name
    "sign-flip": "turned",
    "leaky-sign-flip": "turned",
    "invertible-mixture": "linear",
    "dead-unit": "dead",
    "dead-layer": "dead",
    "duplicate": "duplicate",
    "cancelling-pair": "duplicate",
    "no-fan-out": "idle",
    "leaky-as-relu": "mirror",
    "identity-layer": "linear",
}


def test_every_exhibit_is_known():
    assert set(names()) == set(NAMED)
    with pytest.raises(TutelageError, match="did you mean 'sign-flip'"):
        exhibit("sign-flop")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", names())
def test_an_exhibit_is_the_same_not_related_and_explained(name, dtype):
    for seed in range(5):
        shown = exhibit(name, seed)
        d = shown.first.inputs
        x = 2 * torch.rand(500, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 1
        if shown.domain is None:
            x = 10 * x
        assert torch.allclose(outputs(shown.first, x), outputs(shown.second, x), atol=1e-11)
        found = same_function(shown.first.to(dtype=dtype), shown.second.to(dtype=dtype), shown.domain)
        assert found.verdict == "same, not related", found.reason
        assert NAMED[name] in {r.kind for each in found.redundancies for r in each}
        assert found.bound <= found.tolerance
        assert found.relation is None


def test_exhibits_are_drawn_anew_with_the_seed():
    a, b = exhibit("duplicate", 0), exhibit("duplicate", 1)
    assert not torch.equal(a.first.weights[0], b.first.weights[0])
    assert torch.equal(a.first.weights[0], exhibit("duplicate", 0).first.weights[0])
