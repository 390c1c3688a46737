"""Words for domains and for the reasons of a verdict."""

import torch

from tutelage.functions.comparing.wording import explained
from tutelage.functions.domain import box, in_words
from tutelage.networks import Network


def test_words():
    assert in_words(None) == "all inputs"
    assert "several ends" in in_words(box(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 2.0])))
    net = Network((torch.ones(1, 2, 1), torch.ones(1, 1, 1)))
    assert explained(net, net, (), ()) == "no redundant unit was found that would explain it"
