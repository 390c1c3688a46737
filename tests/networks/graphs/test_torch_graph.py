"""Traced torch modules are the functions that torch computes."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from tutelage.errors import TutelageError
from tutelage.networks import outputs, to_network
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.graphs.torch_graph import read_module


class Block(nn.Module):
    """A residual block with batch norm, and more activations than one network should have."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.third = nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False), nn.Conv2d(4, 3, 2, stride=2)
        self.slopes, self.top = nn.PReLU(4), nn.Linear(18, 5)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x - 0.5)))
        h = functional.relu6(self.second(h) + h)
        left, right = h.chunk(2, 1)
        h = self.slopes(torch.cat([left, 2 * right], 1) - 1)
        h = torch.maximum(h, h.abs().mean(dim=(2, 3), keepdim=True))
        h = functional.pad(self.third(h), (0, 1, 0, 1))[:, :, :, 1:]
        h = functional.hardsigmoid(functional.dropout(functional.leaky_relu(h, 0.2), 0.5, self.training))
        return self.top(h.reshape(h.size(0), -1)).clamp(max=0.4) - functional.avg_pool2d(x, 2).flatten(1).amax(1, True)


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 2), nn.Hardtanh(), nn.AdaptiveAvgPool2d(1)
        )

    def forward(self, x):
        return self.body(x).squeeze(-1).squeeze(-1)


class Sequence(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv1d(2, 3, 3, padding=1), nn.BatchNorm1d(3), nn.ReLU(), nn.AvgPool1d(2), nn.Flatten())


def trained(module):
    generator = torch.Generator().manual_seed(0)
    for p in module.parameters():
        p.data = torch.randn(p.shape, generator=generator) / 2
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.running_mean = torch.randn(part.num_features, generator=generator)
            part.running_var = torch.rand(part.num_features, generator=generator) + 0.5
    return module


@pytest.mark.parametrize(("kind", "shape"), [(Block, (2, 4, 4)), (Pooled, (1, 8, 8)), (Sequence, (2, 6))])
def test_modules_are_the_same_functions_and_stay_in_training_mode(kind, shape):
    module = trained(kind())
    graph = read_module(module, shape, "module")
    assert module.training
    module.eval()
    x = torch.randn(20, *shape, generator=torch.Generator().manual_seed(1))
    wanted = module(x).flatten(1).detach().double()
    network = SparseNetwork.of(graph.output, graph.dtype)
    assert torch.allclose(network.at(x.flatten(1)), wanted, atol=1e-5)
    dense = network.to_network()
    assert torch.allclose(outputs(dense, x.flatten(1).to(dense.dtype))[0].double(), wanted, atol=5e-5)


class Squared(nn.Linear):
    def forward(self, x):
        return super().forward(x) * super().forward(x)


class Mixed(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))


class Likely(nn.Linear):
    def forward(self, x):
        return torch.softmax(super().forward(x), 1)


@pytest.mark.parametrize(
    ("kind", "words"),
    [(Squared, "multiplies two layers"), (Mixed, "axis of samples"), (Likely, "not piecewise linear")],
)
def test_what_cannot_be_read_is_named(kind, words):
    with pytest.raises(TutelageError, match=words):
        read_module(kind(3, 2), None, "first network")


def test_a_softmax_at_the_end_is_left_out_where_asked():
    module = Likely(3, 2)
    graph = read_module(module, None, "module", logits=True)
    x = torch.randn(4, 3)
    wanted = functional.linear(x, module.weight, module.bias).double()
    assert torch.allclose(SparseNetwork.of(graph.output, graph.dtype).at(x), wanted, atol=1e-6)


class Across(nn.Linear):
    """Something that mixes samples after a linear layer."""

    def __init__(self, mixing):
        super().__init__(3, 3)
        self.mixing = mixing

    def forward(self, x):
        return self.mixing(super().forward(x))


@pytest.mark.parametrize("mixing", [
    lambda x: x.softmax(0), lambda x: x.log_softmax(0), lambda x: x - x.mean(0), lambda x: x - x.mean(),
    lambda x: x - x.sum(), lambda x: x.amax(0, keepdim=True) + x, lambda x: x - x.amax(), lambda x: x.T.reshape(2, 3),
    lambda x: x.reshape(1, -1), lambda x: torch.cat([x, x]), lambda x: x + x[0], lambda x: torch.stack([x[1], x[0]]),
    lambda x: x.flip(0), lambda x: torch.eye(2) @ x, lambda x: x @ x.T, lambda x: x.argmax(0), lambda x: x.cumsum(0),
])  # fmt: skip
def test_what_mixes_samples_is_an_error(mixing):
    with pytest.raises(TutelageError):
        SparseNetwork.of(read_module(Across(mixing), None, "module", logits=True).output, torch.float32)


def test_a_softmax_over_one_of_several_axes_is_no_logit():
    with pytest.raises(TutelageError, match="one axis of samples of shape"):
        read_module(Across(lambda x: x.unsqueeze(1).softmax(1)), None, "module", logits=True)
    assert read_module(Across(lambda x: x.unsqueeze(1).softmax(2)), None, "module", logits=True).output.size == 3


def test_a_softmax_of_a_module_is_told_to_be_left_out():
    module = nn.Sequential(nn.Linear(2, 3), nn.Softmax(1))
    with pytest.raises(TutelageError, match=r"leave it out of the module, as in module\[:-1\]"):
        to_network(module)
    assert to_network(module[:-1]).widths == (2, 3)
