"""The tolerance covers rounding of the weights, is the same in every domain and small beside the function itself."""

from dataclasses import replace

import pytest
import torch

from tutelage import draws
from tutelage.functions.comparing.equivalence import same_function
from tutelage.functions.comparing.tolerance import Tolerance, rounding_at, tolerance_for, variation
from tutelage.functions.rounding import with_error
from tutelage.networks import Network, outputs


def one(*numbers, dtype=torch.float64):
    return torch.tensor([numbers], dtype=dtype)


def test_rounding_at_a_point_covers_rounded_weights(random_net):
    a = random_net((3, 5, 4, 2), 1)
    x = 2 * torch.rand(50, 3, dtype=torch.float64) - 1
    noise = torch.Generator().manual_seed(0)
    eps = torch.finfo(torch.float64).eps
    for p in x:
        other = a.map(lambda w: w * (1 + 4 * eps * (2 * torch.rand(w.shape, generator=noise, dtype=w.dtype) - 1)))
        moved = (outputs(a, p[None]) - outputs(other, p[None]))[0, 0].abs()
        assert (moved <= rounding_at(a, p)).all()


def test_at_a_kink_rounding_explains_either_side():
    w = torch.ones(1, 1, 1, dtype=torch.float64)
    a, b = (
        Network((w, w), (torch.full((1, 1), c, dtype=torch.float64), 0 * w[0])) for c in (-0.3, -0.3 * (1 + 2**-52))
    )
    assert same_function(a, b).same
    assert rounding_at(a, torch.tensor([0.3], dtype=torch.float64)).item() > 1e-16


def test_a_shared_bias_and_a_unit_far_away_are_no_variation():
    """x + relu(1e9 (x - 1000)) - 1e9 varies by 2 on the unit cube, whatever it does beyond 1000."""
    net = Network((one([1.0, -1.0, 1e9]), one([1.0], [-1.0], [1.0])), (one(0.0, 0.0, -1e12), one(-1e9)))
    spread, size = variation(net)
    assert 1.5 < spread.item() < 2.0
    assert 0.9e5 < size.item() < 1.1e9


def test_what_float64_cannot_tell_is_no_variation():
    """1e30 relu(x) - 1e30 relu(x) + x, in an order that float64 rounds: noise of 1e14."""
    net = Network((one([1.0, 1.0, 1.0]), one([1e30], [1.0], [-1e30])), (one(0.0, 5.0, 0.0), one(0.0)))
    assert variation(net)[0].item() < 10


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_it_lies_between_floor_and_ceiling_and_is_a_share_of_the_variation(random_net, dtype):
    a, b = (random_net((2, 4, 2), seed, dtype=dtype) for seed in (1, 2))
    found = tolerance_for(a, b)
    vary = sum(variation(n)[0] for n in (a, b))
    assert (found.ceiling <= 1.1e-3 * vary).all()
    if dtype != torch.float32:  # half precision is exact in float64
        assert (found.ceiling <= 1e-8 * vary).all()
    for x in 5 * torch.randn(20, 2, dtype=torch.float64):
        at = found.at(x, False)
        assert ((found.floor <= at) & (at <= found.ceiling)).all()
        assert torch.allclose(found.at(x, True), at * max(1.0, x.abs().max().item()))
    assert tolerance_for(a, b, 0.5).at(x, True).tolist() == [0.5, 0.5]


def test_outputs_have_tolerances_of_their_own():
    """The second output is a millionth of the first: a change of it by a tenth is found."""
    a = Network((one([1.0, -1.0]), one([1e6, 1.0], [1e6, 1.0])))
    b = replace(a, weights=(a.weights[0], one([1e6, 1.1], [1e6, 1.0])))
    found = same_function(a.to(dtype=torch.float32), b.to(dtype=torch.float32))
    assert found.verdict == "different"
    assert found.difference == pytest.approx(0.1, rel=1e-3)


EPS = {torch.float32: 2.0**-23, torch.float64: 2.0**-52, torch.bfloat16: 2.0**-52}  # half precision is exact in float64


def relative(depth, most, dtype=torch.float64):
    """Four roundings of storage, and four per layer of sums of so many terms or of a vertex."""
    return 4 * EPS[dtype] + 4 * depth * max(64, most + 8) * 2.0**-52


def rounding_by_hand(network, point, c):
    """c times the size of every pre-activation times what it moves the outputs by, one unit at a time."""
    left = {"relu": 0.0, "abs": -1.0, "linear": 1.0, "leaky": network.slope}[network.activation]
    f, sizes, gates = point.tolist(), [], []
    for layer, w in enumerate(w[0].double().tolist() for w in network.weights):
        b = [0.0] * len(w[0]) if network.biases is None else network.biases[layer][0].tolist()
        columns = list(zip(*w, strict=True))
        u = [sum(v * a for v, a in zip(f, column, strict=True)) + t for column, t in zip(columns, b, strict=True)]
        sizes.append(
            [
                sum(abs(v * a) for v, a in zip(f, column, strict=True)) + abs(t)
                for column, t in zip(columns, b, strict=True)
            ]
        )
        gates.append([1.0 if abs(v) <= c * s or v > 0 else left for v, s in zip(u, sizes[-1], strict=True)])
        f = [v if v > 0 else left * v for v in u]
    total = []
    for output in range(network.outputs):
        moved = [float(k == output) for k in range(network.outputs)]
        found = 0.0
        for layer in reversed(range(network.depth)):
            found += sum(s * abs(m) for s, m in zip(sizes[layer], moved, strict=True))
            if layer:
                rows = network.weights[layer][0].tolist()
                moved = [
                    z * sum(a * m for a, m in zip(row, moved, strict=True))
                    for z, row in zip(gates[layer - 1], rows, strict=True)
                ]
        total.append(c * found)
    return total


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("widths", [(2, 1), (3, 4, 2), (2, 3, 5, 2), (1, 90, 1)])
def test_rounding_at_a_point_is_its_definition_one_unit_at_a_time(random_net, activation, widths):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        network = random_net(widths, 3, activation=activation, dtype=dtype)
        c = relative(len(widths) - 1, max(widths), dtype)
        for p in torch.randn(5, widths[0], dtype=torch.float64, generator=torch.Generator().manual_seed(0)):
            assert rounding_at(network, p).tolist() == pytest.approx(rounding_by_hand(network, p, c), rel=1e-12, abs=0)


def test_within_the_rounding_of_a_kink_the_steeper_side_counts():
    """relu(x - 1) at 1: its size there is 2, so that 2 c on either side of 0 may be rounding."""
    network = Network((one([1.0]), one([1.0])), (one(-1.0), one(0.0)))
    c = relative(2, 1)
    for x, on in ((1.0, True), (1 - 1.9 * c, True), (1 - 2.1 * c, False), (0.0, False)):
        at = torch.tensor([x], dtype=torch.float64)
        expected = c * (1 + abs(x) if on else 0.0)
        assert rounding_at(network, at).item() == pytest.approx(expected, rel=1e-9, abs=0)
    huge = Network((one([1e200]), one([1e200])))
    assert rounding_at(huge, torch.ones(1, dtype=torch.float64)).item() == torch.inf


def variation_by_hand(network, output):
    """Over each cube the least and the most that an output surely varies, and its surest size, over half its width."""
    unit = 2 * draws.uniforms(draws.keys([0], "variation"), 256 * network.inputs).view(256, network.inputs) - 1
    spreads, limits, sizes = [], [], []
    for width in (1.0, 10.0, 100.0, 1e3, 1e4):
        values, errors = (a[0, :, output].tolist() for a in with_error(network, width * unit))
        sure = max(v - e for v, e in zip(values, errors, strict=True)) - min(
            v + e for v, e in zip(values, errors, strict=True)
        )
        spreads.append(max(0.0, sure) / width)
        if max(values) > min(values):
            limits.append((max(values) - min(values) + 2 * max(errors)) / width)
        sizes.append(max(0.0, *(abs(v) - e for v, e in zip(values, errors, strict=True))) / width)
    positive = [s for s in spreads if s > 0]
    return min(min(positive), *limits) if positive else 0.0, min(sizes)


def shaky(size):
    """x + size (x - x), in an order that float64 rounds."""
    return Network((one([1.0, 1.0, 1.0]), one([size], [1.0], [-size])), (one(0.0, 5.0, 0.0), one(0.0)), "linear")


def test_variation_is_its_definition_one_cube_at_a_time(random_net):
    far = Network((one([1.0, -1.0, 1e9]), one([1.0], [-1.0], [1.0])), (one(0.0, 0.0, -1e12), one(-1e9)))
    beyond = Network((one([1.0]), one([3.0])), (one(-50.0), one(7.0)))  # nothing moves up to 50
    still = Network((one([0.0, 0.0]),), (one(4.0, 0.0),))
    nets = [random_net((2, 4, 3), 1), random_net((3, 2), 2), random_net((1, 3, 1), 3, bias=0)]
    for network in (*nets, far, beyond, still, *map(shaky, (1e6, 1e13, 1e15, 1e16, 3e16, 1e30))):
        spread, size = variation(network)
        for output in range(network.outputs):
            found = (spread[output].item(), size[output].item())
            assert found == pytest.approx(variation_by_hand(network, output), rel=1e-12, abs=0)
    spread, size = variation(Network((one([3.0]),), (one(5.0),)))
    assert 5.8 < spread.item() <= 6.0
    assert 2.9 < size.item() < 3.0005


def test_floor_and_ceiling_are_shares_of_the_variation_and_of_the_values():
    """6 of variation each for 3 x + 5, with the shares of float32 or of float64, which holds half precision."""
    for dtype, low, high in (
        (torch.float32, 2.0**-20, 2.0**-10),
        (torch.float64, 2.0**-34, 2.0**-30),
        (torch.bfloat16, 2.0**-34, 2.0**-30),
    ):
        network = Network((one([3.0], dtype=dtype),), (one(5.0, dtype=dtype),))
        spread, size = (a.item() for a in variation(network))
        found, values = tolerance_for(network, network), 256 * 2.0**-52 * size
        assert found.floor.item() == pytest.approx(2 * (low * spread + values), rel=1e-12, abs=0)
        assert found.ceiling.item() == pytest.approx(2 * (high * spread + values), rel=1e-12, abs=0)
        told = tolerance_for(network, network, 1e-3)
        assert told.floor.item() == pytest.approx(2 * (2.0**-34 * spread + values), rel=1e-12, abs=0)
    big = Network((one([1e-9]),), (one(1e9),))  # of an output that is nearly all value
    assert tolerance_for(big, big).floor.item() == pytest.approx(2 * 256 * 2.0**-52 * 1e5, rel=1e-3, abs=0)


def test_a_tolerance_at_a_point_grows_with_it_where_the_domain_is_bounded():
    network = Network((one([3.0]),), (one(5.0),))
    c, none = relative(1, 1), torch.zeros(1, dtype=torch.float64)
    half, four = (torch.tensor([x], dtype=torch.float64) for x in (0.5, 4.0))
    free = Tolerance((network, network), none, none + 1, None)
    assert free.at(half, False).item() == pytest.approx(2 * c * 6.5, rel=1e-9, abs=0)
    assert free.at(half, True).item() == pytest.approx(2 * c * 6.5, rel=1e-9, abs=0)
    assert free.at(-four, False).item() == pytest.approx(2 * c * 17 / 4, rel=1e-9, abs=0)
    assert free.at(-four, True).item() == pytest.approx(2 * c * 17, rel=1e-9, abs=0)
    floor = Tolerance((network, network), none + 0.25, none + 0.5, None)
    assert (floor.at(four, False).item(), floor.at(four, True).item()) == (0.25, 1.0)
    assert (floor.proof(0.0).item(), floor.proof(1.0).item(), floor.proof(3.0).item()) == (0.25, 0.25, 0.75)
    assert floor.related.item() == 0.25
    low = Tolerance((network, network), none, none + 1e-20, None)
    assert (low.at(half, False).item(), low.related.item()) == (1e-20, 1e-20)
    told = Tolerance((network, network), none + 0.25, none + 0.5, 0.6)
    assert (told.at(four, False).item(), told.at(four, True).item()) == (0.6, 1.0)
    assert (told.proof(0.0).item(), told.proof(3.0).item(), told.related.item()) == (0.6, 0.75, 0.6)


def test_copies_are_held_to_the_rounding_of_every_weight():
    """3 x + 5 with all weights larger by their rounding, |x| at most 1: 8 of it; relu(x) + relu(-x): 2 per layer."""
    none = torch.zeros(1, dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        line = Network((one([3.0], dtype=dtype),), (one(5.0, dtype=dtype),))
        tent = Network((one([1.0, -1.0], dtype=dtype), one([1.0], [1.0], dtype=dtype)))
        found = Tolerance((line, tent), none, none + 1, None).related.item()
        assert found == pytest.approx(8 * relative(1, 1, dtype) + 4 * relative(2, 2, dtype), rel=0.01, abs=0)
