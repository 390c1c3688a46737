"""Folds are held to the lemmas of Phuong 2021, section 2.3 and appendix A, and to the function itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.folds import fold_set, unit_maps, unit_pieces
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import outputs

WIDTHS = st.sampled_from([(2, 3, 1), (2, 3, 2, 1), (3, 3, 2, 1), (2, 3, 3, 2, 1)])


def parts(regions):
    """Signs of the units of each hidden layer."""
    return regions.signs.split(regions.network.widths[1:-1], dim=1)


@pytest.mark.parametrize("widths", [(2, 2, 1), (2, 2, 2, 1), (3, 3, 2, 1)])
def test_all_folds_of_a_transparent_general_network_are_seen(widths):
    """Phuong 2021, Lemma 2.1: the fold-set is the union of the units' zero sets."""
    regions = enumerate_regions(construct(widths, (-1, 1), seed=1), (-1, 1))
    folds = fold_set(regions)
    assert folds.visible.all()
    assert set(folds.unit.tolist()) == set(range(sum(widths[1:-1])))


@settings(max_examples=30)
@given(WIDTHS, st.integers(0, 10**6))
def test_folds_are_hidden_by_a_layer_above_without_active_units_alone(random_net, widths, seed):
    """Phuong 2021, Lemma A.15, both ways, for networks that need not be transparent."""
    regions = enumerate_regions(random_net(widths, seed, bias=0.5), (-1, 1))
    folds = fold_set(regions)
    closed = torch.stack([(part < 0).all(1) for part in parts(regions)], 1)
    layer = torch.arange(1, closed.shape[1] + 1)
    above = layer > regions.layers[folds.unit].unsqueeze(1)
    hidden = (closed[folds.regions[:, 0]] & closed[folds.regions[:, 1]] & above).any(1)
    assert (folds.visible == ~hidden).all()


def test_the_function_has_no_kink_away_from_the_units_boundaries(random_net, pre_activations):
    network = random_net((3, 4, 3, 1))
    draw = torch.Generator().manual_seed(0)
    middle = 2 * torch.rand(4000, 3, generator=draw, dtype=torch.float64) - 1
    step = 0.02 * torch.randn(4000, 3, generator=draw, dtype=torch.float64)
    ends = [pre_activations(network, middle + s * step).sign() for s in (-1, 1)]
    same = (ends[0] == ends[1]).all(1)
    bend = outputs(network, middle + step) + outputs(network, middle - step) - 2 * outputs(network, middle)
    assert 0.5 < same.double().mean() < 0.99
    assert bend[0, same].abs().max() < 1e-13
    assert bend[0, ~same].abs().max() > 1e-3


@settings(max_examples=20)
@given(WIDTHS.filter(lambda w: len(w) > 3), st.integers(0, 10**6))
def test_folds_of_a_unit_are_those_of_the_activations_below(random_net, widths, seed):
    """Phuong 2021, Lemmas A.8, A.9 and A.13: of relu of a unit, of a sum, and both together."""
    regions = enumerate_regions(random_net(widths, seed, bias=0.5), (-1, 1))
    for layer in range(2, len(widths) - 1):
        below = []
        first = sum(widths[1 : layer - 1])
        slopes, signs = regions.maps(layer - 1)[0], parts(regions)[layer - 2]
        for j in range(widths[layer - 1]):
            whole = fold_set(regions, layer - 1, j)
            ends = signs[whole.regions, j]
            own = whole.unit == first + j
            activated = torch.where(signs[:, j : j + 1] > 0, slopes[:, :, j], 0)
            jump = (activated[whole.regions[:, 0]] - activated[whole.regions[:, 1]]).norm(dim=1) > 1e-12
            assert (jump == ((ends > 0).all(1) & whole.visible | own)).all()
            below.append(jump)
        union = torch.stack(below).any(0)
        for i in range(widths[layer]):
            assert (fold_set(regions, layer, i).visible == union).all()


def test_pieces_lie_on_their_units_boundaries(random_net, pre_activations):
    """Phuong 2021, Lemmas A.7, A.16 and A.19: a hyperplane through d points of a piece is that of the unit's affine
    map.
    """
    regions = enumerate_regions(random_net((2, 4, 3, 1), seed=2), (-1, 1))
    pieces = unit_pieces(regions)
    folds = fold_set(regions)
    assert sorted(set(folds.unit.tolist())) == sorted(set(pieces.unit.tolist()))
    w, b = unit_maps(regions, folds.unit, folds.regions[:, 0])
    jump = regions.maps()[0][folds.regions, :, 0].diff(dim=1)[:, 0]
    seen = folds.visible
    cosine = torch.nn.functional.cosine_similarity(jump[seen], w[seen]).abs()
    assert torch.allclose(cosine, torch.ones_like(cosine))
    u = pre_activations(regions.network, regions.interior)
    everything = torch.arange(7).repeat(len(regions))
    region = torch.arange(len(regions)).repeat_interleave(7)
    w, b = unit_maps(regions, everything, region)
    assert torch.allclose((w * regions.interior[region]).sum(1) + b, u.flatten())
