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


def test_a_module_in_training_mode_is_told():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    with pytest.warns(UserWarning, match="the network is in training mode .* its BatchNorm1d computes something else"):
        to_network(module)
    assert module.training
    assert to_network(module.eval()).widths == (3, 4, 2)
    assert to_network(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).train()).widths == (3, 4, 2)


@pytest.mark.parametrize("dynamic", [False, True])
def test_exported_programs_are_read(dynamic):
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 2)).eval()
    shapes = ({0: torch.export.Dim("batch", min=2)},) if dynamic else None
    program = torch.export.export(module, (torch.zeros(4, 1, 5, 5),), dynamic_shapes=shapes)
    network, wanted = to_network(program), to_network(module, shape=(1, 5, 5))
    assert all(map(torch.equal, network.parameters, wanted.parameters))


def test_state_dicts_are_read():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    assert all(map(torch.equal, to_network(module.state_dict()).parameters, to_network(module).parameters))


@pytest.mark.parametrize("module", [
    nn.LSTM(3, 4), nn.GRU(3, 4), nn.MultiheadAttention(4, 1), nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)),
    nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)),
])  # fmt: skip
def test_what_has_no_linear_pieces_says_what_can_be_asked(module):
    with pytest.raises(TutelageError, match="is not piecewise linear: distil the model into students with relu units"):
        to_network(module)
