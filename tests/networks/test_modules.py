"""Networks and torch modules are one function, and what cannot be converted is refused by name."""

import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.networks import forward, from_module, outputs, to_module


def sequential(*parts, dtype=torch.float64, seed=0):
    """The parts in evaluation mode, every parameter and running statistic drawn anew."""
    module = nn.Sequential(*parts).to(dtype).eval()
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, array in module.state_dict().items():
            if array.is_floating_point():
                array.copy_(torch.randn(array.shape, generator=draw, dtype=torch.float64))
            if name.endswith("running_var"):
                array.abs_().add_(0.1)
    return module


MODULES = {
    "one layer": lambda: [nn.Linear(4, 3)],
    "relu": lambda: [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)],
    "deep relu": lambda: [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 6), nn.ReLU(inplace=True), nn.Linear(6, 3)],
    "leaky": lambda: [nn.Linear(4, 5), nn.LeakyReLU(0.3), nn.Linear(5, 3)],
    "linear": lambda: [nn.Linear(4, 5), nn.Linear(5, 3)],
    "no bias": lambda: [nn.Linear(4, 5, bias=False), nn.ReLU(), nn.Linear(5, 3, bias=False)],
    "some bias": lambda: [nn.Linear(4, 5, bias=False), nn.ReLU(), nn.Linear(5, 3)],
    "norm": lambda: [nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)],
    "norm, no bias": lambda: [nn.Linear(4, 5, bias=False), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3, bias=False)],
    "plain norm": lambda: [nn.Linear(4, 5), nn.BatchNorm1d(5, affine=False, eps=0.1), nn.ReLU(), nn.Linear(5, 3)],
    "norm at the top": lambda: [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3), nn.BatchNorm1d(3)],
    "two norms": lambda: [nn.Linear(4, 5), nn.BatchNorm1d(5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)],
    "inert": lambda: [
        nn.Flatten(),
        nn.Linear(4, 5),
        nn.Dropout(),
        nn.ReLU(),
        nn.Identity(),
        nn.Linear(5, 3),
        nn.Dropout(0.9),
    ],
}


def points(dtype):
    return torch.randn(50, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("name", MODULES)
def test_an_imported_module_is_the_same_function(name, dtype):
    module = sequential(*MODULES[name](), dtype=dtype)
    x = points(dtype)
    expected = module(x).detach()
    # a few dozen products of order one, folded statistics rounded once more: relative to the largest output
    close = 100 * torch.finfo(dtype).eps * expected.abs().max()
    network = from_module(module)
    assert network.dtype == (torch.float64 if "norm" in name else dtype)  # folded without rounding to float32
    assert (outputs(network, x.to(network.dtype))[0] - expected).abs().max() <= close


@pytest.mark.parametrize("name", MODULES)
def test_there_and_back_and_there_again_is_the_same_function(name):
    net = from_module(sequential(*MODULES[name]()))
    again = from_module(to_module(net))
    assert (again.widths, again.activation, again.slope) == (net.widths, net.activation, net.slope)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters, again.parameters, strict=True))


@pytest.mark.parametrize(("name", "bias"), [("no bias", False), ("some bias", True), ("norm, no bias", True)])
def test_biases_are_there_only_when_the_function_has_some(name, bias):
    assert (from_module(sequential(*MODULES[name]())).biases is not None) == bias


@pytest.mark.parametrize(("name", "kept"), [("relu", ("relu", 0.01)), ("leaky", ("leaky", 0.3))])
def test_the_activation_is_kept(name, kept):
    net = from_module(sequential(*MODULES[name]()))
    assert (net.activation, net.slope) == kept


def test_images_are_flattened_outside():
    module = sequential(nn.Flatten(), nn.Linear(4, 3))
    images = points(torch.float64).view(50, 2, 2)
    torch.testing.assert_close(outputs(from_module(module), images.flatten(1))[0], module(images).detach())


def test_several_modules_become_one_stack(dtype):
    modules = [sequential(*MODULES["norm"](), seed=seed, dtype=dtype) for seed in range(3)]
    net = from_module(*modules)
    assert net.members == 3
    for member, module in enumerate(modules):
        alone = from_module(module)
        assert all(torch.equal(a[member], b[0]) for a, b in zip(net.parameters, alone.parameters, strict=True))


def test_importing_and_exporting_copies():
    module = sequential(*MODULES["relu"]())
    net = from_module(module)
    exported = to_module(net)
    with torch.no_grad():
        module[0].weight.zero_()
        exported[0].bias.zero_()
    assert net.weights[0].any()
    assert net.biases[0].any()
    assert not any(p.requires_grad for p in net.parameters)


@pytest.mark.parametrize("activation", ["relu", "leaky", "linear"])
@pytest.mark.parametrize("bias", [True, False])
def test_an_exported_member_is_the_same_function(random_network, dtype, tolerance, activation, bias):
    net = random_network((4, 5, 6, 3), members=3, activation=activation, bias=bias, dtype=dtype)
    x = points(dtype)
    for member in (0, 2, -1):
        measured = to_module(net, member)(x).detach()
        torch.testing.assert_close(measured, forward(net, x).outputs[member], **tolerance)


def test_an_activation_torch_does_not_have_is_refused_by_name(random_network):
    with pytest.raises(TutelageError, match="'abs'"):
        to_module(random_network((4, 5, 3), activation="abs"))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (lambda: [nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(4, 3)], "layer 0 is a Conv2d"),
        (lambda: [nn.Linear(4, 5), nn.Softsign(), nn.Linear(5, 3)], "layer 1 is a Softsign"),
        (lambda: [nn.Linear(4, 5), nn.ReLU6(), nn.Linear(5, 3)], "layer 1 is a ReLU6"),
        (lambda: [nn.Linear(4, 5), nn.Dropout(), nn.PReLU(), nn.Linear(5, 3)], "layer 2 is a PReLU"),
        (lambda: [nn.BatchNorm1d(4), nn.Linear(4, 3)], "layer 0 is a BatchNorm1d"),
        (lambda: [nn.Linear(4, 5), nn.ReLU(), nn.BatchNorm1d(5), nn.Linear(5, 3)], "layer 2 is a BatchNorm1d"),
        (lambda: [nn.ReLU(), nn.Linear(4, 3)], "layer 0 is a ReLU"),
        (lambda: [nn.Linear(4, 5), nn.ReLU(), nn.ReLU(), nn.Linear(5, 3)], "layer 2 is a ReLU"),
        (lambda: [nn.Linear(4, 5), nn.ReLU()], "must be Linear, got relu"),
        (lambda: [nn.Linear(4, 5), nn.LeakyReLU(), nn.Dropout()], "must be Linear, got leaky"),
        (
            lambda: [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 5), nn.LeakyReLU(), nn.Linear(5, 3)],
            r"mixes activations \(leaky with slope 0.01, relu\)",
        ),
        (lambda: [nn.Linear(4, 5), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 3)], "mixes activations"),
        (
            lambda: [nn.Linear(4, 5), nn.LeakyReLU(0.1), nn.Linear(5, 5), nn.LeakyReLU(0.2), nn.Linear(5, 3)],
            "mixes activations",
        ),
        (lambda: [nn.Linear(4, 5), nn.ReLU(), nn.Linear(4, 3)], "layer 2 must have shape"),
        (lambda: [nn.Linear(4, 5), nn.BatchNorm1d(5, track_running_stats=False)], "running statistics"),
        (lambda: [nn.Dropout()], "no Linear"),
        (lambda: [], "no Linear"),
    ],
)
def test_what_cannot_be_imported_is_refused_by_name(parts, message):
    with pytest.raises(TutelageError, match=message):
        from_module(nn.Sequential(*parts()))


@pytest.mark.parametrize("start", [0, 2])
def test_a_flatten_that_changes_rows_is_refused(start):
    """Only Flatten(1) leaves a row of features to a sample as it is."""
    with pytest.raises(TutelageError, match="Flatten"):
        from_module(nn.Sequential(nn.Flatten(start), nn.Linear(4, 3)))


@pytest.mark.parametrize("module", [nn.Linear(4, 3), nn.ModuleList([nn.Linear(4, 3)]), [nn.Linear(4, 3)], None])
def test_only_a_sequential_is_taken(module):
    with pytest.raises(TutelageError, match=f"got {type(module).__name__}"):
        from_module(module)


def test_nothing_to_import_is_refused():
    with pytest.raises(TutelageError, match="at least one"):
        from_module()


@pytest.mark.parametrize("other", ["leaky", "linear", "deep relu", "one layer"])
def test_modules_of_different_architecture_are_refused_as_a_stack(other):
    with pytest.raises(TutelageError, match="differ"):
        from_module(sequential(*MODULES["relu"]()), sequential(*MODULES[other]()))


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def hooked():
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda module, given, out: 2 * out)
    return layer


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Residual(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)), "Residual with a forward of its own"),
        (lambda: nn.Sequential(Doubled(3, 3)), "layer 0 is a Doubled with a forward of its own, not that of Linear"),
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU(), hooked()), "layer 2 has hooks"),
        (lambda: nn.Sequential(nn.LazyLinear(3)), "no weights yet"),
        (lambda: nn.Sequential(nn.Linear(3, 3, dtype=torch.complex64)), "got complex64"),
    ],
)
def test_modules_that_compute_something_else_are_an_error(make, words):
    with pytest.raises(TutelageError, match=words):
        from_module(make())
