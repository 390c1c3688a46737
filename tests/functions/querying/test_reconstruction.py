"""Weights from queries: exact where the folds tell them, an account of the rest where they do not."""

import warnings
from itertools import pairwise

import pytest
import torch
from torch import nn

from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions import match
from tutelage.functions.identifying.construction import construct
from tutelage.functions.querying import reconstruction
from tutelage.functions.querying.reconstruction import identify
from tutelage.networks import Network, outputs, save, to_module
from tutelage.training.teachers import Levels


def random_network(widths, seed, bias=0.3):
    draw = torch.Generator().manual_seed(seed)
    weights = (torch.randn(1, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairwise(widths))
    biases = (bias * torch.randn(1, b, generator=draw, dtype=torch.float64) for b in widths[1:])
    return Network(tuple(weights), tuple(biases))


def error(truth, found):
    assert found.network.widths == truth.widths
    return match(truth, found.network).residual.max().item()


@pytest.mark.parametrize("widths", [(2, 2, 1), (2, 2, 2, 1), (3, 3, 2, 1), (2, 2, 2, 2, 1), (4, 3, 3, 2, 1)])
def test_identifiable_networks_are_recovered_from_values(widths):
    truth = construct(widths, (-1, 1), check=False)
    found = identify(truth, box=(-1, 1))
    assert found.complete
    assert found.units == widths[1:-1]
    assert error(truth, found) < 1e-10


def test_a_further_search_begins_where_values_stay_unexplained():
    truth = construct((3, 3, 3, 1), (-1, 1), 9, check=False)
    first = identify(truth, box=(-1, 1), seed=9, lines=12)
    assert first.unexplained > 0.1
    second = identify(truth, box=(-1, 1), seed=9, lines=12, searches=4)
    assert error(truth, second) < 1e-10
    assert second.queries > first.queries  # both searches count
    assert identify(truth, box=(-1, 1), seed=9, lines=12, searches=4, queries=10_000).queries <= 10_000


def test_a_search_that_explains_all_is_the_only_one():
    truth = construct((2, 2, 1), (-1, 1), check=False)
    one, more = (identify(truth, box=(-1, 1), searches=n) for n in (1, 5))
    assert one.queries == more.queries
    with pytest.raises(TutelageError, match="searches"):
        identify(truth, box=(-1, 1), searches=0)


@pytest.mark.parametrize(("widths", "seed"), [((2, 2, 2, 1), 1010), ((3, 2, 2, 1), 1008), ((2, 2, 2, 2, 1), 1019)])
def test_of_parallel_folds_the_shallow_one_is_found(widths, seed):
    """A unit that reads one unit of the layer below alone, where it is seen, has a fold parallel to that one's; with
    more bends it was taken for it, and the true one was given up."""
    truth = construct(widths, (-1, 1), seed, check=False)
    found = identify(truth, box=(-1, 1), seed=seed)
    assert found.complete
    assert error(truth, found) < 1e-9


def test_a_fold_that_no_unit_reads_is_no_unit():
    truth = construct((4, 3, 3, 2, 1), (-1, 1), 1013, check=False)
    found = identify(truth, box=(-1, 1), seed=1013)
    assert error(truth, found) < 1e-9


@pytest.mark.parametrize("widths", [(20, 10, 1), (3, 12, 2), (6, 6, 6, 1), (5, 8, 4, 3), (10, 15, 15, 1)])
def test_random_networks_wide_and_narrow_are_recovered(widths):
    truth = random_network(widths, 0)
    found = identify(truth)
    assert found.complete
    assert found.unexplained < 1e-12
    assert error(truth, found) < 1e-9


def test_gradients_serve_as_well_and_save_queries():
    truth = random_network((6, 5, 2), 1)

    def ask(x):
        x = x.clone().requires_grad_()
        y = outputs(truth, x)[0]
        rows = [torch.autograd.grad(y[:, c].sum(), x, retain_graph=True)[0] for c in range(2)]
        return y.detach(), torch.stack(rows, dim=1)

    with_gradients = identify(ask, 6, 2, gradients=True)
    assert error(truth, with_gradients) < 1e-9
    assert with_gradients.queries < identify(truth).queries


@pytest.mark.parametrize("noise", [1e-10, 1e-7])
def test_weights_are_as_good_as_the_answers(noise):
    truth, draw = random_network((5, 4, 1), 2), torch.Generator().manual_seed(0)

    def ask(x):
        return outputs(truth, x)[0] + noise * (2 * torch.rand(len(x), 1, generator=draw, dtype=torch.float64) - 1)

    assert error(truth, identify(ask, 5, 1, noise=noise)) < 100 * noise


def test_a_unit_that_is_dead_in_the_box_is_reported_missing():
    truth = random_network((4, 3, 1), 3)
    bias = truth.biases[0].clone()
    bias[0, 1] = -100.0
    found = identify(Network(truth.weights, (bias, truth.biases[1])), widths=(3,), lines=90)
    assert found.units == (2,)
    assert found.unexplained < 1e-12
    assert "2 of 3 units found" in " ".join(found.notes)


def test_what_was_asked_is_kept_and_not_asked_again(tmp_path):
    truth, file = random_network((4, 3, 1), 4), tmp_path / "asked.safetensors"
    asked = [0]

    def ask(x):
        asked[0] += len(x)
        return outputs(truth, x)[0]

    first = identify(ask, 4, 1, checkpoint=file)
    once, asked[0] = asked[0], 0
    again = identify(ask, 4, 1, checkpoint=file)
    assert asked[0] < 0.8 * once
    assert again.units == first.units == (3,)
    assert error(truth, again) < 1e-10
    with pytest.raises(TutelageError, match="not a checkpoint of this call"):
        identify(ask, 4, 1, checkpoint=file, seed=1)
    file.write_bytes(b"no")
    with pytest.raises(TutelageError, match="is not a checkpoint"):
        identify(ask, 4, 1, checkpoint=file)


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_a_checkpoint_of_another_function_raises_an_error(tmp_path, noise):
    first, second = random_network((4, 3, 1), 4), random_network((4, 3, 1), 5)
    file, draw = tmp_path / "asked.safetensors", torch.Generator().manual_seed(0)

    def noisy(network):
        return lambda x: outputs(network, x)[0] + noise * (2 * torch.rand(len(x), 1, generator=draw).double() - 1)

    identify(noisy(first), 4, 1, noise=noise, checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(TutelageError, match="answers of another function"):
        identify(noisy(second), 4, 1, noise=noise, checkpoint=file)
    assert file.read_bytes() == before
    identify(noisy(first), 4, 1, noise=noise, checkpoint=file)  # the function it is of


def test_the_same_call_gives_the_same_network():
    truth = random_network((5, 4, 3, 1), 5)
    one, two = identify(truth, seed=7), identify(truth, seed=7)
    assert all((a == b).all() for a, b in zip(one.network.parameters, two.network.parameters, strict=True))
    assert one.queries == two.queries


def test_progress_is_told():
    told = []
    identify(random_network((3, 2, 1), 6), progress=told.append)
    assert told[-1] == 1.0
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: identify(lambda x: x.sin(), 1, 1), "not piecewise linear"),
        (lambda: identify(lambda x: x), "numbers of inputs and outputs"),
        (lambda: identify(lambda x: x, 2, 2, box=(1, 1)), "low < high"),
        (lambda: identify(lambda x: x, 2, 2, box="no box"), "box must be"),
        (lambda: identify(lambda x: x, 2, 2, widths=(3,), depth=2), "each of depth=2 hidden layers, got 1"),
        (
            lambda: identify(lambda x: x, 2, 2, widths=(0,)),
            "every entry of widths must be a whole number of at least 1, got 0",
        ),
        (lambda: identify(lambda x: x, 2, 2, seed=-1), "a seed must be a whole number from 0"),
        (lambda: identify(lambda x: x, 2, 2, lines=0), "lines must be a whole number of at least 1, got 0"),
        (lambda: identify(Network((torch.ones(2, 1, 1),))), r"got a stack of 2: choose one, such as network\[0\]"),
        (
            lambda: identify(Network((torch.ones(1, 1, 1),) * 2, activation="erf")),
            "only .* relu .*, got erf units: use",
        ),
        (
            lambda: identify(Network((torch.ones(1, 1, 1),) * 2, activation="abs")),
            "only .* relu .*, got abs units: use",
        ),
        (lambda: identify(Network((torch.ones(1, 1, 1),)), gradients=True), "gradients=True needs a function"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(call, said):
    with pytest.raises(TutelageError, match=said):
        call()


class Countdown(Deadline):
    """A deadline that passes when it was asked for so many times."""

    def __init__(self, seconds):
        super().__init__(seconds)
        self.checks = float("inf") if seconds is None else seconds

    @property
    def passed(self):
        self.checks -= 1
        return self.checks < 0


@pytest.mark.parametrize("checks", [0, 1, 3, 10, 30, 60, 100])
def test_a_time_limit_returns_what_was_found_so_far(random_net, monkeypatch, checks):
    monkeypatch.setattr(reconstruction, "Deadline", Countdown)
    truth = random_net((6, 10, 8, 1), 1)
    found = identify(truth, seconds=checks)
    assert found.undecided
    assert not found.complete
    assert found.notes[0] == f"undecided: the time limit of {checks} seconds was reached before the search ended"
    x = torch.randn(1, 50, 6, dtype=torch.float64)
    assert outputs(found.network, x).isfinite().all()
    assert found.unexplained > 1e-6


@pytest.mark.parametrize("queries", [10_000, 40_000])
def test_a_limit_of_queries_is_never_exceeded(queries):
    truth, asked = random_network((6, 10, 8, 1), 1), [0]

    def ask(x):
        asked[0] += len(x)
        return outputs(truth, x)[0]

    found = identify(ask, 6, 1, queries=queries)
    assert asked[0] == found.queries <= queries
    assert found.undecided
    assert found.notes[0] == f"undecided: the limit of {queries:,} queries was reached before the search ended"
    with pytest.raises(TutelageError, match="queries must be a whole number of at least 10000, got 3"):
        identify(ask, 6, 1, queries=3)


def test_single_precision_is_detected_and_allowed_for():
    truth = random_network((4, 5, 1), 3)
    found = identify(lambda x: outputs(truth, x)[0].float(), 4, 1)
    assert found.single_precision
    assert 1e-8 < found.noise < 1e-5
    assert found.units == (5,)
    assert error(truth, found) < 1e-4
    assert not identify(truth).single_precision


def test_a_file_is_asked(tmp_path):
    truth = random_network((3, 4, 1), 2)
    save(truth, tmp_path / "net.safetensors")
    assert error(truth, identify(tmp_path / "net.safetensors")) < 1e-10


def test_many_inputs_are_no_obstacle():
    truth = random_network((200, 16, 1), 0)
    found = identify(truth)
    assert found.complete
    assert error(truth, found) < 1e-9
    assert found.queries < 100_000


def test_a_time_limit_that_suffices_changes_nothing(random_net):
    truth = random_net((3, 3, 1), 1)
    assert not identify(truth, seconds=600).undecided
    with pytest.raises(TutelageError, match="seconds must be at least 0"):
        identify(truth, seconds=-1)


def test_a_torch_module_is_asked_in_its_own_precision(random_net):
    module = to_module(random_net((3, 4, 1), 2)).float()
    for found in (identify(module), identify(module, 3, 1)):
        assert found.units == (4,)
        assert found.single_precision
    assert not identify(module.double()).single_precision
    with pytest.raises(TutelageError, match="numbers of inputs and outputs"):
        identify(nn.Linear(3, 1))
    with pytest.raises(TutelageError, match="gradients=True needs a function"):
        identify(module, 3, 1, gradients=True)


def in_single_precision(truth):
    """A network as a module of float32, and the network that its rounded weights are."""
    rounded = Network(*(tuple(p.float().double() for p in part) for part in (truth.weights, truth.biases)))
    return to_module(rounded).float(), rounded


@pytest.mark.parametrize(("widths", "seed"), [((10, 16, 1), 0), ((10, 12, 8, 1), 1), ((10, 12, 8, 1), 3)])
def test_modules_of_float32_are_recovered_to_their_precision(widths, seed):
    module, truth = in_single_precision(random_network(widths, seed))
    found = identify(module)
    assert found.single_precision
    assert found.units == widths[1:-1]
    assert found.complete
    assert found.unexplained < 1e-6
    assert error(truth, found) < 1e-5


def test_a_told_noise_of_1e_4_leaves_one_hidden_layer_to_be_found():
    truth, draw = random_network((6, 8, 1), 0), torch.Generator().manual_seed(0)

    def ask(x):
        return outputs(truth, x)[0] + 1e-4 * (2 * torch.rand(len(x), 1, generator=draw, dtype=torch.float64) - 1)

    found = identify(ask, 6, 1, noise=1e-4)
    assert found.complete
    assert found.units == (8,)
    assert error(truth, found) < 1e-2


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float8_e4m3fn, torch.complex64])
def test_weights_of_other_kinds_raise_an_error(dtype):
    with pytest.raises(TutelageError, match="must be of type float16, bfloat16, float32, float64, got"):
        identify(Network((torch.ones(1, 2, 1).to(dtype),)))


def test_a_network_without_hidden_layers_is_found_whatever_its_activation():
    network = Network((torch.tensor([[[2.0, -1.0]]], dtype=torch.float64),), activation="abs")
    assert identify(network).unexplained < 1e-12


def test_a_module_that_takes_images_asks_for_a_function_that_reshapes():
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1))
    with pytest.raises(TutelageError, match=r"takes no inputs \[N, 16\] .* lambda x: module\(x.view"):
        identify(module, 16, 1, seconds=1)


def test_folds_that_cross_no_other_fold_give_no_warning():
    teacher = Levels(inputs=2, hidden=3, outputs=1, bias=-0.2).build([0]).map(lambda weights: weights.double())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = identify(teacher, box=(-4, 4))
    assert found.network.widths[0] == 2
