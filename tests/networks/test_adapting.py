"""Networks from torch modules with a forward of their own, from scikit-learn and from files."""

import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.networks import outputs, save, to_network, to_sparse_network


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        self.top = nn.Linear(6, 3)

    def forward(self, x):
        x = torch.flatten(x, 1)
        return self.top(torch.nn.functional.dropout(self.body(x), 0.5, self.training))


class Skip(Chain):
    def forward(self, x):
        return self.top(self.body(x) + self.body(x))


class Sine(Chain):
    def forward(self, x):
        return torch.sin(self.top(self.body(x)))


class Branching(Chain):
    def forward(self, x):
        return self.top(self.body(x)) if x.sum() > 0 else x


def test_a_module_with_a_forward_of_its_own_is_the_same_function():
    torch.manual_seed(0)
    module, x = Chain().eval(), torch.randn(5, 2, 2)
    network = to_network(module)
    assert network.widths == (4, 6, 3)
    assert torch.allclose(outputs(network, x.flatten(1))[0], module(x), atol=1e-6)


def test_branches_are_read_by_their_graph():
    torch.manual_seed(0)
    module, x = Skip().eval(), torch.randn(5, 4)
    assert torch.allclose(outputs(to_network(module), x)[0], module(x), atol=1e-6)


def test_images_need_a_shape_and_may_be_too_large_for_matrices():
    module = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten())
    with pytest.raises(TutelageError, match="shape of its inputs"):
        to_network(module)
    with pytest.raises(TutelageError, match="at most 16,777,216"):
        to_network(module, shape=(3, 32, 32))
    assert to_sparse_network(module, shape=(3, 32, 32)).widths == (3072, 14400, 14400)


@pytest.mark.parametrize(("kind", "words"), [(Sine, "sin"), (Branching, "cannot be traced")])
def test_what_is_no_graph_of_linear_pieces_is_named(kind, words):
    with pytest.raises(TutelageError, match=words):
        to_network(kind(), "first network")


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_models_of_scikit_learn_give_their_outputs_before_softmax():
    neural = pytest.importorskip("sklearn.neural_network")
    torch.manual_seed(0)
    x = torch.randn(40, 3, dtype=torch.float64).numpy()
    y = x @ [[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]]
    model = neural.MLPRegressor(hidden_layer_sizes=(5, 4), max_iter=5, random_state=0).fit(x, y)
    values = outputs(to_network(model), torch.from_numpy(x))[0].numpy()
    assert values == pytest.approx(model.predict(x), abs=1e-12)
    smooth = neural.MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", max_iter=5).fit(x, y)
    with pytest.raises(TutelageError, match="tanh"):
        to_network(smooth)


def test_paths_are_read(tmp_path):
    network = to_network(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)))
    save(network, tmp_path / "net.safetensors")
    assert to_network(str(tmp_path / "net.safetensors")).widths == (2, 2, 1)
