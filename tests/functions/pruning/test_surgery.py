"""A pruned network is the same function, at least as small as what the redundant one was built from, and says why."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tutelage as tt
from tutelage.errors import InternalError, TutelageError
from tutelage.functions import prune
from tutelage.functions.pruning.redundancy import Work
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of

BOX = 1.5


def random_network(draw, widths, members=1, activation="relu", bias=0.5):
    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, a, b) / a**0.5 for a, b in pairs)
    return Network(weights, tuple(bias * normal(members, b) for _, b in pairs), activation, slope_of(activation, 0.1))


class Builder:
    """Adds units that do nothing to one layer of a network, and mixes the order of its units."""

    def __init__(self, network, draw):
        self.network, self.draw = network, draw

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.draw, dtype=torch.float64)

    def add(self, layer, w, b, v, fold=0.0):
        """Units with incoming weights w [in, k], biases b [k], fan-out v [k, out]; ``fold`` joins the bias above."""
        weights, biases = list(self.network.weights), list(self.network.biases)
        weights[layer] = torch.cat([weights[layer], w.unsqueeze(0)], dim=2)
        weights[layer + 1] = torch.cat([weights[layer + 1], v.unsqueeze(0)], dim=1)
        biases[layer] = torch.cat([biases[layer], b.unsqueeze(0)], dim=1)
        biases[layer + 1] = biases[layer + 1] + fold
        self.network = replace(self.network, weights=tuple(weights), biases=tuple(biases))

    def split(self, layer):
        """A random unit becomes two, with positive scales."""
        weights, biases = [w.clone() for w in self.network.weights], self.network.biases
        k = int(torch.randint(weights[layer].shape[2], (1,), generator=self.draw))
        s, t = (0.1 + 3 * torch.rand(2, generator=self.draw, dtype=torch.float64)).tolist()
        v = weights[layer + 1][0, k].clone()
        weights[layer + 1][0, k] = 0.3 * v
        w, b = s * weights[layer][0, :, k], s * biases[layer][0, k]
        self.network = replace(self.network, weights=tuple(weights))
        self.add(layer, w[:, None], b[None], 0.7 / s * v[None])
        return t

    def idle(self, layer):
        n, m = self.network.weights[layer].shape[1], self.network.weights[layer + 1].shape[2]
        self.add(layer, self.normal(n, 1), self.normal(1), torch.zeros(1, m, dtype=torch.float64))

    def constant(self, layer):
        n, m = self.network.weights[layer].shape[1], self.network.weights[layer + 1].shape[2]
        b, v = self.normal(1), self.normal(1, m)
        value = b if b > 0 else {"relu": 0.0, "leaky": 0.1, "abs": -1.0}[self.network.activation] * b
        self.add(layer, torch.zeros(n, 1, dtype=torch.float64), b, v, -(value * v).sum(0))

    def dead(self, layer):
        """Never active in the box; in upper layers, for relu, anywhere."""
        n, m = self.network.weights[layer].shape[1], self.network.weights[layer + 1].shape[2]
        w = self.normal(n, 1)
        w, b = (-w.abs(), -self.normal(1).abs()) if layer else (w, -BOX * w.abs().sum(0) - 0.1)
        self.add(layer, w, b, self.normal(1, m))

    def always_on(self, layer):
        """Three affine units that cancel one another but for a constant, which is taken from the bias above."""
        n, m = self.network.weights[layer].shape[1], self.network.weights[layer + 1].shape[2]
        w = self.normal(n, 2)
        w = w.abs() if layer else w
        w = torch.cat([w, w.sum(1, keepdim=True)], dim=1)
        b = BOX * w.abs().sum(0) + 0.1 if layer == 0 else self.normal(3).abs()
        v = self.normal(1, m) * torch.tensor([[1.0], [1.0], [-1.0]], dtype=torch.float64)
        self.add(layer, w, b, v, -(b[0] + b[1] - b[2]) * v[0])

    def mixed(self):
        """The same units in another order."""
        weights, biases = list(self.network.weights), list(self.network.biases)
        for layer in range(self.network.depth - 1):
            order = torch.randperm(weights[layer].shape[2], generator=self.draw)
            weights[layer], weights[layer + 1] = weights[layer][:, :, order], weights[layer + 1][:, order]
            biases[layer] = biases[layer][:, order]
        return replace(self.network, weights=tuple(weights), biases=tuple(biases))


def inside(draw, network, reach=BOX, count=500):
    return reach * (2 * torch.rand(network.members, count, network.inputs, generator=draw, dtype=torch.float64) - 1)


def worst(first, second, points):
    return (outputs(first, points) - outputs(second, points)).abs().amax((1, 2))


EVERYWHERE = ["split", "idle", "constant", "dead", "always_on"]


@pytest.mark.parametrize("where", ["box", "everywhere"])
@given(
    seed=st.integers(0, 10_000),
    depth=st.integers(2, 4),
    added=st.lists(st.tuples(st.sampled_from(EVERYWHERE), st.integers(0, 2)), min_size=1, max_size=10),
)
def test_what_was_added_is_found(where, seed, depth, added):
    draw = torch.Generator().manual_seed(seed)
    small = random_network(draw, (*(3, 4, 4, 3)[:depth], 2))
    builder = Builder(small, draw)
    for layer, kind in sorted((min(layer, depth - 2), kind) for kind, layer in added):
        if where == "everywhere" and layer == 0 and kind in ("dead", "always_on"):
            continue  # those of the first layer are dead or affine in the box alone
        getattr(builder, kind)(layer)
    wide = builder.mixed()
    points = inside(draw, wide, BOX if where == "box" else 20.0)
    assert worst(small, wide, points).max() < 1e-10 * (1 if where == "box" else 20)
    found = prune(wide, box=(-BOX, BOX) if where == "box" else None)
    assert worst(wide, found.network, points).max() < 1e-10 * (1 if where == "box" else 20)
    assert found.network.depth <= small.depth
    near = points if where == "box" else points / 20
    if outputs(small, near).std(1).min() > 0.01:  # rounding is judged by how much an output varies
        assert sum(found.network.widths) <= sum(small.widths), found.steps
    assert found.proof.exact
    assert found.proof.bound.max() < 1e-10
    assert found.deviation.value.max() < 1e-10
    assert found.proof.domain == "all inputs" or where == "box"
    lost = sum(wide.widths[1:-1]) - int(found.widths.sum())
    assert len({(s.layer, s.unit) for s in found.steps}) == len(found.steps) == lost


@pytest.mark.parametrize("activation", ["leaky", "abs"])
@given(seed=st.integers(0, 10_000), kinds=st.lists(st.sampled_from(["split", "idle", "constant"]), max_size=6))
def test_other_activations(activation, seed, kinds):
    draw = torch.Generator().manual_seed(seed)
    small = random_network(draw, (3, 4, 3, 2), activation=activation)
    builder = Builder(small, draw)
    for number, kind in enumerate(kinds):
        getattr(builder, kind)(number % 2)
    wide = builder.mixed()
    for box in (None, (-BOX, BOX)):
        found = prune(wide, box=box)
        assert worst(wide, found.network, inside(draw, wide)).max() < 1e-10
        assert all(a <= b for a, b in zip(found.network.widths, small.widths, strict=True))


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@given(seed=st.integers(0, 10_000), size=st.floats(0.01, 3.0))
def test_affine_units_fold_without_a_change(activation, seed, size):
    """Small boxes leave many units on one branch."""
    draw = torch.Generator().manual_seed(seed)
    network = random_network(draw, (3, 6, 5, 2), members=2, activation=activation)
    found = prune(network, box=(-size, size))
    assert (worst(network, found.network, inside(draw, network, size)) <= found.proof.bound + 1e-13).all()
    assert found.proof.bound.max() < 1e-10
    if activation == "linear":
        assert found.network.widths == (3, 2)
    elif size < 0.02 and activation != "relu":  # next to no unit bends in so small a box
        assert found.widths.float().mean() < 5


@given(seed=st.integers(0, 10_000), tolerance=st.floats(1e-4, 0.5), boxed=st.booleans())
def test_with_a_tolerance_the_deviation_is_within_the_bound(seed, tolerance, boxed):
    draw = torch.Generator().manual_seed(seed)
    network = random_network(draw, (2, 8, 6, 2), members=2)
    found = prune(network, box=(-1, 1) if boxed else None, tolerance=tolerance)
    for reach in (1.0,) if boxed else (1.0, 30.0):
        off = worst(network, found.network, inside(draw, network, reach, 2000))
        assert (off <= found.proof.bound * reach + 1e-12).all()
    assert (found.deviation.value <= found.proof.bound + 1e-12).all()
    assert sum(s.bound for s in found.steps if s.member == 0) >= 0.99 * found.proof.bound[0] - 1e-9


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.1])
def test_trained_networks_never_change_beyond_what_is_reported(tolerance, dtype):
    seeds = range(3)
    teacher = tt.teachers.Levels(inputs=8, hidden=3, outputs=4).build(seeds, dtype=dtype)
    inputs = tt.inputs.Gaussian(train=500, evaluate=500).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=4, scale=0.1).build(teacher, seeds)
    trained = tt.train(teacher, students, inputs, steps=1_500, learning_rate=0.05, engine="stacked").students
    found = prune(trained, box=(-4, 4), tolerance=tolerance)
    assert found.network.dtype == dtype
    points = inputs.evaluate.clamp(-4, 4).double()
    off = worst(trained.to(dtype=torch.float64), found.network.to(dtype=torch.float64), points)
    assert (off <= found.proof.bound + 1e-12).all()
    assert (found.deviation.value <= found.proof.bound + 1e-12).all()


def test_a_float32_network_split_in_two_is_merged_again():
    draw = torch.Generator().manual_seed(0)
    builder = Builder(random_network(draw, (5, 6, 3)), draw)
    for _ in range(4):
        builder.split(0)
    wide = builder.mixed().to(dtype=torch.float32)
    points = inside(draw, wide, 2.0)
    for tolerance in (0.0, 1e-6):  # in float32 the halves are multiples of one another up to rounding
        found = prune(wide, box=(-2, 2), tolerance=tolerance)
        assert found.network.widths == (5, 6, 3)
        assert found.network.dtype == torch.float32
        assert found.proof.exact == (tolerance == 0)
        off = worst(wide.to(dtype=torch.float64), found.network.to(dtype=torch.float64), points)
        assert (off <= found.proof.bound).all()
        assert 0 < found.proof.bound.item() < 1e-4


def test_members_keep_what_they_need():
    """A stack is padded to its widest member with units that do nothing, and every member is as if it were alone."""
    draw = torch.Generator().manual_seed(1)
    network = random_network(draw, (3, 5, 2), members=3)
    network.weights[1][0, 2] = 0
    network.weights[1][1, :3] = 0
    found = prune(network)
    assert found.widths.tolist() == [[4], [2], [5]]
    assert found.network.widths == (3, 5, 2)
    assert found.kept[0].tolist() == [[0, 1, 3, 4, -1], [3, 4, -1, -1, -1], [0, 1, 2, 3, 4]]
    assert not found.network.weights[0][1, :, 2:].any()
    for s in range(3):
        alone = prune(network[s])
        assert alone.network.widths[1] == found.widths[s, 0]
        assert torch.equal(alone.network.weights[0], found.network[s].weights[0][:, :, : alone.network.widths[1]])


def test_a_layer_that_loses_everything_leaves_a_constant():
    draw = torch.Generator().manual_seed(2)
    network = random_network(draw, (3, 4, 4, 2))
    network.weights[1][:] = 0
    found = prune(network)
    points = inside(draw, network)
    assert torch.allclose(outputs(found.network, points), outputs(network, points))
    assert found.widths.tolist() == [[]]
    assert found.network.widths == (3, 2)
    stays = prune(replace(network, activation="leaky"))  # only relu networks are built again
    assert stays.widths.tolist() == [[0, 0]]
    assert stays.network.widths == (3, 1, 1, 2)


def test_a_network_without_biases_stays_without_where_it_can():
    w = torch.tensor([[[1.0, 2.0, -1.0], [1.0, 2.0, 0.5]]], dtype=torch.float64)
    found = prune(Network((w, torch.ones(1, 3, 1, dtype=torch.float64))))
    assert found.network.biases is None
    assert found.network.widths == (2, 2, 1)


def test_what_is_only_seen_on_points_is_told_and_left():
    draw = torch.Generator().manual_seed(3)
    network = random_network(draw, (2, 3, 2))
    biases = torch.tensor([[-50.0, 50.0, 0.0]], dtype=torch.float64), network.biases[1]
    network = replace(network, biases=biases)
    points = inside(draw, network, 1.0)
    found = prune(network, points)
    assert not found.steps
    assert [(s.unit, s.reason) for s in found.seen] == [
        (0, "never active on the points"),
        (1, "always active on the points"),
    ]
    removed = prune(network, points, on_samples=True)
    assert [s.unit for s in removed.steps] == [0]
    assert removed.proof.domain == "the points"
    assert removed.proof.bound is None
    assert "nothing is proved" in str(removed.proof)
    assert worst(network, removed.network, points).max() < 1e-12
    boxed = prune(network, points, box=(-1, 1))
    assert boxed.proof.domain == "the box"
    assert [s.reason for s in boxed.steps] == ["never active"]


@given(seed=st.integers(0, 2_000))
def test_samples_with_a_box_give_a_bound(seed):
    """Units that no sample activates are removed, and what they could still do in the box is in the bound."""
    draw = torch.Generator().manual_seed(seed)
    network = random_network(draw, (2, 7, 5, 2), members=2)
    points = inside(draw, network, 0.3, 40)
    found = prune(network, points, box=(-1, 1), on_samples=True)
    assert worst(network, found.network, points).max() <= 1e-10 + found.proof.bound.max()
    off = worst(network, found.network, inside(draw, network, 1.0, 3000))
    assert (off <= found.proof.bound + 1e-12).all()


@given(seed=st.integers(0, 2_000))
def test_samples_alone_keep_the_outputs_on_them(seed):
    draw = torch.Generator().manual_seed(seed)
    network = random_network(draw, (2, 7, 5, 2), members=2)
    points = inside(draw, network, 0.4, 60)
    found = prune(network, points, on_samples=True)
    assert worst(network, found.network, points).max() < 1e-10


def test_pruning_again_changes_nothing():
    draw = torch.Generator().manual_seed(4)
    builder = Builder(random_network(draw, (3, 5, 4, 2)), draw)
    for kind in EVERYWHERE:
        getattr(builder, kind)(1)
    once = prune(builder.mixed(), box=(-BOX, BOX))
    assert not prune(once.network, box=(-BOX, BOX)).steps


def test_what_cannot_be_pruned_is_refused():
    draw = torch.Generator().manual_seed(5)
    network = random_network(draw, (3, 4, 2))
    with pytest.raises(tt.TutelageError, match="a low above its high"):
        prune(network, box=(1, -1))
    with pytest.raises(tt.TutelageError, match=r"numbers or have shape \[3\], got \[2\]"):
        prune(network, box=(torch.zeros(2), torch.ones(2)))
    with pytest.raises(tt.TutelageError, match="must be finite"):
        prune(network, box=(0, torch.inf))
    with pytest.raises(tt.TutelageError, match="got NaN"):
        prune(network, box=(torch.nan, 1))
    with pytest.raises(tt.TutelageError, match="from 0 to below 1"):
        prune(network, tolerance=1.5)
    with pytest.raises(tt.TutelageError, match="needs points"):
        prune(network, on_samples=True)
    with pytest.raises(tt.TutelageError, match="at least one row"):
        prune(network, torch.zeros(0, 3))
    with pytest.raises(tt.TutelageError, match="not finite"):
        prune(network.map(lambda a: a / 0))


def test_a_network_of_one_layer_has_nothing_to_remove():
    network = Network((torch.ones(1, 3, 2, dtype=torch.float64),))
    found = prune(network)
    assert torch.equal(found.network.weights[0], network.weights[0])
    assert found.widths.shape == (1, 0)


def small(*layers, dtype=torch.float32, activation="relu", biases=None):
    """One member from nested lists."""
    weights = tuple(torch.tensor([w], dtype=dtype) for w in layers)
    biases = None if biases is None else tuple(torch.tensor([b], dtype=dtype) for b in biases)
    return Network(weights, biases, activation)


@pytest.mark.parametrize(("dtype", "large"), [(torch.float32, 3e38), (torch.float16, 6e4), (torch.float64, 1.7e308)])
def test_a_merge_that_overflows_is_left_alone(dtype, large):
    network = small([[1.0, 1.0]], [[large], [large]], dtype=dtype)
    found = prune(network, box=(-1, 1))
    assert found.network.widths == (1, 2, 1)
    assert found.network.weights[1].isfinite().all()
    assert found.proof.bound.item() == 0


def test_units_are_merged_only_where_the_stored_sum_keeps_the_function():
    """1 + 2^-11 needs more bits than float16 has; 0.5 + 0.25 does not."""
    lost = small([[1.0, 1.0]], [[1.0], [2.0**-11]], dtype=torch.float16)
    assert prune(lost, box=(-1, 1)).network.widths == (1, 2, 1)
    kept = prune(small([[1.0, 1.0]], [[0.5], [0.25]], dtype=torch.float16), box=(-1, 1))
    assert kept.network.widths == (1, 1, 1)
    assert kept.network.weights[1].item() == 0.75


def test_products_that_underflow_prove_nothing():
    """The first unit of each layer carries 1e-400 and then 1e200: float64 holds neither product."""
    w = [[[1e-200, 1.0]], [[1e-200, 0.0], [0.0, 1.0]], [[1e300], [1e-300]], [[1e300]]]
    network = small(*w, dtype=torch.float64)
    for tolerance in (0.0, 1e-3):
        found = prune(network, box=(-1, 1), tolerance=tolerance)
        assert found.proof.bound is None or found.network.widths == network.widths or found.proof.bound.item() >= 1e199


def test_a_large_bias_on_top_hides_no_change():
    """Outputs vary by 1 about -1e9, where float32 has steps of 64: folding may not move the bias."""
    network = small([[1.0, -1.0, 0.5]], [[0.3], [0.2], [0.7]], biases=([2.0, 2.1, 1.9], [-1e9]))
    found = prune(network, box=(-1, 1))
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
    off = worst(network.to(dtype=torch.float64), found.network.to(dtype=torch.float64), x)
    assert off.max() < 1e-3


def test_a_leaky_unit_below_its_kink_keeps_its_slope_when_others_fold_into_it():
    network = small([[1.0, 0.5]], [[-1.0, -2.0, -3.0], [-2.0, -4.0, -5.0]], [[1.0], [2.0], [3.0]], dtype=torch.float64)
    network = replace(network, activation="leaky", biases=None)
    found = prune(network, box=(0.5, 1.0))
    x = torch.linspace(0.5, 1, 9, dtype=torch.float64)[:, None]
    assert worst(network, found.network, x).max() <= found.proof.bound.item() + 1e-14
    assert found.proof.bound.item() < 1e-10


def test_a_difference_above_the_bound_is_an_internal_error(monkeypatch):
    """A step that claims to cost nothing and does not keep the function."""
    network = small([[1.0, 2.0]], [[1.0], [1.0]], dtype=torch.float64)
    monkeypatch.setattr(Work, "cost", lambda self, layer, delta, *_: torch.zeros(1, 2, 1, dtype=torch.float64))
    with pytest.raises(InternalError, match="a search found a difference of"):
        prune(network, box=(-1, 1), tolerance=0.9)


def test_a_time_limit_ends_the_steps():
    draw = torch.Generator().manual_seed(4)
    builder = Builder(random_network(draw, (3, 5, 2)), draw)
    builder.idle(0)
    late = prune(builder.network, seconds=0)
    assert not late.steps
    assert late.cut_short == 0
    assert "the time limit of 0 seconds ended the search" in str(late)
    assert prune(builder.network).cut_short is None
    told = []
    assert prune(builder.network, seconds=600, on_progress=told.append).steps
    assert told == [1 / 6]
    with pytest.raises(tt.TutelageError, match="seconds must be at least 0, got -1"):
        prune(builder.network, seconds=-1)


def test_affine_units_that_float32_tells_apart_are_not_taken_for_dependent():
    """Three units that are on over the box: together they vary by 6, two of them differ by 1e-6."""
    network = small([[1.0, 1.0, 1.0], [1e-6, 0.0, 1.0]], [[1e6], [-1e6], [1.0]], biases=([2.0, 2.0, 2.0], [0.0]))
    found = prune(network, box=(-1, 1))
    x = 2 * torch.rand(500, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1
    off = worst(network.to(dtype=torch.float64), found.network.to(dtype=torch.float64), x).item()
    assert off <= found.proof.bound.item() < 1e-6
    assert found.proof.exact
    assert str(found.proof).startswith("equal up to rounding: no output differs by more than ")
    assert float(str(found.proof).split("than ")[1].split()[0]) >= found.proof.bound.item()


def test_nothing_changed_is_equal():
    network = small([[1.0, -1.0]], [[1.0], [2.0]])
    assert str(prune(network).proof) == "equal: no output differs for any input"
    assert str(prune(network, box=(-1, 1)).proof) == "equal: no output differs over the box"


@pytest.mark.parametrize("tolerance", ["a", None, [1], float("nan"), -0.1, 1.0])
def test_a_tolerance_that_is_no_share_is_one_sentence(tolerance):
    network = tt.Network((torch.ones(1, 2, 2), torch.ones(1, 2, 1)))
    with pytest.raises(TutelageError, match="tolerance must be a number from 0 to below 1, got"):
        tt.prune(network, tolerance=tolerance)


def test_points_outside_the_box_do_not_contradict_what_is_proved_on_it():
    """A unit that is active from 2 on goes on (-1, 1); at 3 the outputs differ, and the samples say so."""
    w, v = torch.tensor([[[1.0, 1.0]]], dtype=torch.float64), torch.ones(1, 2, 1, dtype=torch.float64)
    network = Network(
        (w, v), (torch.tensor([[0.5, -2.0]], dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64))
    )
    found = prune(network, torch.tensor([[3.0], [0.0]]), (-1, 1))
    assert found.network.widths == (1, 1, 1)
    assert float(found.deviation.value) <= float(found.proof.bound)
    assert -1 <= float(found.deviation.at) <= 1
    assert float(found.samples.largest) == 1
