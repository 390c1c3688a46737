"""What is read off trained networks, on networks whose units are known."""

import numpy as np
import torch

from tutelage.margins.datasets import LabelledPoints, orthants
from tutelage.margins.max_margin import max_margins
from tutelage.margins.sectors import class_sums
from tutelage.margins.studies._practice import SHOWN, SeparableNetworks, measured_networks, trained
from tutelage.training.classify import Residual


def known(data: LabelledPoints, towards: str, layers: int = 2, hidden: int = 12) -> Residual:
    """Units with fan-outs of both signs along the max-margin vectors or the class sums."""
    margins = max_margins(data)
    ends = (margins.positive.w, margins.negative.w) if towards == "margin" else class_sums(data)
    sign = torch.tensor([1.0, -1.0]).repeat(hidden // 2).double()
    w = torch.where(sign[None, :, None] > 0, ends[0][:, None], ends[1][:, None])
    w = w * torch.linspace(0.5, 2, hidden, dtype=torch.float64)[None, :, None]
    middle = [0.01 * torch.eye(hidden, dtype=torch.float64).expand(len(w), -1, -1)] * (layers - 2)
    return Residual((w.mT.contiguous(), *middle, sign.expand(len(w), -1).unsqueeze(2).contiguous()))


def test_units_along_a_direction_have_cosine_one_with_it_and_w_has_rank_two():
    data = orthants(range(2), 40, 12)
    for layers in (2, 4):
        at_margin, at_sum = (measured_networks(known(data, which, layers), data, 7) for which in ("margin", "sum"))
        assert np.allclose(at_margin.max_margin, 1)
        assert np.allclose(at_sum.class_sum, 1)
        assert (at_margin.nearer() > 0).all()
        assert (at_sum.nearer(weighted=True) < 0).all()
        assert np.allclose(at_margin.gap()[:, 0], 0, atol=1e-6)
        assert (at_margin.accuracy == 1).all()
        assert at_margin.singular.shape == (2, layers - 1, SHOWN)


def test_a_unit_of_the_other_sign_counts_against_the_other_class_with_two_layers():
    data = orthants(range(1), 40, 12)
    net = known(data, "margin")
    flipped = Residual((net.weights[0], -net.weights[1]))
    assert (measured_networks(flipped, data, 0).max_margin < 0).all()


def test_weights_decide_shares_where_asked():
    one = SeparableNetworks(
        5, np.array([[0.95, 0.5]]), np.array([[0.9, 0.9]]), np.array([[3.0, 1.0]]), np.ones((1, 1, 3)),
        np.zeros((1, 2, 2)), np.ones(2), np.ones(1),
    )  # fmt: skip
    assert np.allclose([one.high(), one.high(True)], [[0.5], [0.75]])
    assert np.allclose([one.nearer(), one.nearer(True)], [[-0.175], [-0.0625]])
    assert np.allclose(one.means(), [[0.8375], [0.9]])


def test_longer_training_goes_the_same_way_on():
    told = []
    short = trained([0, 1], [2], 2, told.append, count=40, dimension=6, hidden=8)
    both = trained([0, 1], [2, 4], 2, told.append, count=40, dimension=6, hidden=8)
    assert np.array_equal(short[0].max_margin, both[0].max_margin)
    assert [one.epochs for one in both] == [2, 4]
    assert told[-1] == 1
