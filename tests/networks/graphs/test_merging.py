"""Layers that are merged, held to the exact rational function of the numbers that are stored."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
import torch
from torch import nn

from tutelage.functions.comparing.difference import difference_bound, top_class_agreement
from tutelage.functions.comparing.equivalence import same_function
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import SparseNetwork, to_network, to_sparse_network
from tutelage.networks.graphs.merging import Extent, _activated
from tutelage.networks.graphs.sparse import MergedNetwork, reading_error, stored_precision

WIDTH = 3
KINDS = ("linear", "norm", "mul", "div", "add", "relu", "leaky", "residual", "gemm")


def numbers(generator, *shape, positive=False):
    """float32 numbers of sizes that differ by up to 16 powers of ten."""
    size = 10.0 ** generator.uniform(-4, 4)
    values = generator.normal(size=shape) * size * 10.0 ** generator.uniform(-2, 2, size=shape)
    values = np.where(generator.random(shape) < 0.1, 0.0, values)
    return (np.abs(values) + 1e-3 if positive else values).astype(np.float32)


def description(generator, length, deep=True):
    """A random network as a list of operators with their stored numbers, linear at the beginning."""
    made = [("linear", numbers(generator, WIDTH, WIDTH), numbers(generator, WIDTH))]
    for _ in range(length):
        kind = KINDS[generator.integers(len(KINDS))]
        if kind == "norm":
            epsilon = float(np.float32(generator.choice([1e-5, 1e-3])))
            gamma, beta, mean = (numbers(generator, WIDTH) for _ in range(3))
            made.append((kind, gamma, beta, mean, numbers(generator, WIDTH, positive=True), epsilon))
        elif kind in ("linear", "gemm"):
            made.append((kind, numbers(generator, WIDTH, WIDTH), numbers(generator, WIDTH)))
        elif kind == "div":
            made.append((kind, numbers(generator, WIDTH, positive=True)))
        elif kind in ("mul", "add"):
            made.append((kind, numbers(generator, WIDTH)))
        elif kind == "residual":
            if deep:
                made.append((kind, description(generator, 2, deep=False)))
        else:
            made.append((kind,))
    return made


def root(value):
    """The square root of a rational number, to 300 bits after its leading one."""
    power = 1 << 2 * (300 + value.denominator.bit_length())
    return Fraction(isqrt(value.numerator * power // value.denominator), isqrt(power))


def rationals(array):
    return [Fraction(float(v)) for v in array]


def exact(operators, x):
    """The function of the stored numbers at rational inputs."""
    for kind, *given in operators:
        if kind in ("linear", "gemm"):
            w, b = given
            x = [sum((Fraction(float(a)) * v for a, v in zip(row, x, strict=True)), Fraction(0)) for row in w]
            x = [v + c for v, c in zip(x, rationals(b), strict=True)]
            if kind == "gemm":
                x = [ALPHA * v for v in x]
        elif kind == "norm":
            *parts, epsilon = given
            rows = zip(x, *map(rationals, parts), strict=True)
            x = [g * (v - m) / root(s + Fraction(epsilon)) + b for v, g, b, m, s in rows]
        elif kind == "residual":
            x = [a + b for a, b in zip(x, exact(given[0], x), strict=True)]
        elif kind in ("relu", "leaky"):
            left = Fraction(0) if kind == "relu" else Fraction(SLOPE)
            x = [v if v > 0 else left * v for v in x]
        else:
            by = {"mul": Fraction.__mul__, "div": Fraction.__truediv__, "add": Fraction.__add__}[kind]
            x = [by(v, c) for v, c in zip(x, rationals(given[0]), strict=True)]
    return x


ALPHA = Fraction(float(np.float32(0.3)))
SLOPE = float(np.float32(0.01))


class Described(nn.Module):
    """A description as a torch module."""

    def __init__(self, operators):
        super().__init__()
        self.operators, self.parts = operators, nn.ModuleList()
        for kind, *given in operators:
            if kind in ("linear", "gemm"):
                part = nn.Linear(WIDTH, WIDTH)
                part.weight.data, part.bias.data = (torch.from_numpy(a) for a in given)
            elif kind == "norm":
                part = nn.BatchNorm1d(WIDTH, eps=given[-1])
                part.weight.data, part.bias.data, part.running_mean, part.running_var = map(torch.from_numpy, given[:4])
            elif kind == "residual":
                part = Described(given[0])
            else:
                part = {"relu": nn.ReLU(), "leaky": nn.LeakyReLU(SLOPE)}.get(kind) or nn.Identity()
                if given:
                    part.register_buffer("by", torch.from_numpy(given[0]))
            self.parts.append(part)

    def forward(self, x):
        for (kind, *_), part in zip(self.operators, self.parts, strict=True):
            if kind == "mul":
                x = x * part.by
            elif kind == "div":
                x = x / part.by
            elif kind == "add":
                x = x + part.by
            elif kind == "residual":
                x = x + part(x)
            elif kind == "gemm":
                x = float(ALPHA) * part(x)
            else:
                x = part(x)
        return x


def onnx_file(operators, path):
    """A description as an ONNX file."""
    onnx = pytest.importorskip("onnx")
    helper, nodes, arrays = onnx.helper, [], []

    def stored(array):
        arrays.append(onnx.numpy_helper.from_array(np.asarray(array), f"a{len(arrays)}"))
        return arrays[-1].name

    def node(kind, given, **how):
        nodes.append(helper.make_node(kind, given, [f"v{len(nodes)}"], **how))
        return f"v{len(nodes) - 1}"

    def written(operators, x):
        for kind, *given in operators:
            if kind == "linear":
                x = node("Gemm", [x, stored(given[0].T), stored(given[1])])
            elif kind == "gemm":
                x = node("Gemm", [x, *map(stored, given)], transB=1, alpha=float(ALPHA), beta=float(ALPHA))
            elif kind == "norm":
                x = node("BatchNormalization", [x, *map(stored, given[:4])], epsilon=given[4])
            elif kind == "residual":
                x = node("Add", [x, written(given[0], x)])
            elif kind == "relu":
                x = node("Relu", [x])
            elif kind == "leaky":
                x = node("LeakyRelu", [x], alpha=SLOPE)
            else:
                x = node(kind.capitalize(), [x, stored(given[0])])
        return x

    end = written(operators, "x")
    kind = onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info("x", kind, [None, WIDTH])], [helper.make_tensor_value_info(end, kind, None)]
    graph = helper.make_graph(nodes, "g", *ends, arrays)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def read(operators, tmp_path, reader):
    if reader == "onnx":
        return to_network(onnx_file(operators, tmp_path / "net.onnx"))
    return to_network(Described(operators).eval(), shape=(WIDTH,))


def points(generator, low, high, count=6):
    at = torch.from_numpy(generator.uniform(low, high, size=(count, WIDTH)))
    return [low * torch.ones(WIDTH, dtype=torch.float64), high * torch.ones(WIDTH, dtype=torch.float64), *at]


@pytest.mark.parametrize("reader", ["torch", "onnx"])
@pytest.mark.parametrize("seed", range(30))
def test_merged_layers_stay_within_their_error_of_the_exact_function(reader, seed, tmp_path):
    generator = np.random.default_rng(seed)
    operators = description(generator, int(generator.integers(1, 7)))
    network = read(operators, tmp_path, reader)
    low, high = sorted(generator.normal(size=2) * 10)
    ends = torch.full((WIDTH,), low), torch.full((WIDTH,), high)
    room = reading_error(network, *(e.double() for e in ends))
    large = to_sparse_network(network)
    for at in points(generator, *(float(e[0]) for e in ends)):
        wanted, made = exact(operators, rationals(at)), exact_outputs(network, at)
        here = reading_error(network, at, at).tolist()
        seen = large.at(at[None])[0].tolist()
        for v, w, r, h, s in zip(wanted, made, room.tolist(), here, seen, strict=True):
            assert abs(v - w) <= Fraction(h)
            assert abs(v - w) <= Fraction(r)
            if isinstance(network, MergedNetwork) and not large.exact:  # else the only error is that of evaluating it
                assert abs(v - Fraction(s)) <= Fraction(h)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_for_the_exact_functions(seed, tmp_path):
    generator = np.random.default_rng(100 + seed)
    operators = description(generator, int(generator.integers(1, 5)), deep=seed % 2 == 0)
    module = Described(operators).eval()
    first, second = to_network(module, shape=(WIDTH,)), to_network(onnx_file(operators, tmp_path / "net.onnx"))
    rounded = second.to(dtype=torch.float32)  # as files held them whose layers were merged by another program
    for a, b, of_b in ((first, second, operators), (first, rounded, None)):
        found = difference_bound(a, b, (-1, 1), seconds=1.0)
        sparse = difference_bound(to_sparse_network(a), to_sparse_network(b), (-1, 1), seconds=1.0)
        for at in points(generator, -1, 1):
            v = exact(operators, rationals(at))
            w = exact_outputs(b, at) if of_b is None else exact(of_b, rationals(at))
            for result in (found, sparse):
                for x, y, bound in zip(v, w, result.at_most.tolist(), strict=True):
                    assert bound == float("inf") or abs(x - y) <= Fraction(bound)


def folded_pair():
    """A linear layer with batch norm and torch's own fusion of the two, of which a layer above makes much."""
    first, norm, last = nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1, eps=0.0), nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        first.weight.fill_(1.1)
        norm.running_var.fill_(1 / 9)
        norm.weight.fill_(0.7)
        last.weight.fill_(1e4)
    fused = torch.nn.utils.fusion.fuse_linear_bn_eval(first.eval(), norm.eval())
    return nn.Sequential(first, norm, nn.ReLU(), last).eval(), nn.Sequential(fused, nn.ReLU(), last).eval()


def test_a_fused_batch_norm_is_not_the_same_to_the_last_digit():
    a, b = folded_pair()
    result = difference_bound(a, b, (0, 1), 1e-6)
    assert result.verdict == "violated"
    gap = abs(a.double()(torch.ones(1, 1).double()) - b.double()(torch.ones(1, 1).double())).item()
    assert gap > 5e-4
    bound = difference_bound(*folded_pair(), (0, 1)).at_most.item()
    assert gap <= bound <= 1.001 * gap
    assert same_function(*folded_pair(), (0, 1)).verdict.startswith("same")  # as far as rounding to float32 explains
    assert same_function(*folded_pair(), (0, 1), tolerance=1e-6).verdict == "different"


def test_the_same_graph_twice_differs_by_nothing():
    a, _ = folded_pair()
    again, _ = folded_pair()
    result = difference_bound(a, again, (0, 1), 0.0)
    assert (result.verdict, result.at_most.item()) == ("holds", 0.0)


def test_a_statistic_that_rounds_to_the_same_scale_is_another_network():
    a, _ = folded_pair()
    b, _ = folded_pair()
    with torch.no_grad():
        a[1].eps, b[1].eps = 1e-18, 0.0
    first, second = to_network(a), to_network(b)
    assert all(map(torch.equal, first.parameters, second.parameters))
    result = difference_bound(a, b, (0, 1), 0.0)
    assert result.verdict == "not decided"
    assert result.at_most.item() > 0


def test_a_question_about_classes_counts_the_rounding():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2, eps=0.0), nn.ReLU(), nn.Linear(2, 2, bias=False))
    with torch.no_grad():
        net[0].weight.copy_(torch.eye(2))
        net[1].running_var.fill_(1 / 9)
        net[3].weight.copy_(torch.eye(2))
    scale = float(np.float32(3.0))
    plain = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False))
    with torch.no_grad():
        plain[0].weight.copy_(scale * torch.eye(2))
        plain[2].weight.copy_(torch.eye(2))
    apart = ((1, 0), (2, 0.5))  # the first class leads everywhere
    assert top_class_agreement(net.eval(), plain, apart).verdict == "holds"


def test_exact_merging_keeps_the_precision():
    double = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with torch.no_grad():
        for layer in double:
            layer.weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 0.5]]))
            layer.bias.zero_()

    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = double

        def forward(self, x):
            return self.layers(x) + 0.0 * 1

    network = to_network(Chain(), shape=(2,))
    assert network.dtype == torch.float32
    assert not isinstance(network, MergedNetwork)


def test_a_merged_network_with_other_arrays_stands_for_itself():
    network = to_network(folded_pair()[0])
    assert isinstance(network, MergedNetwork)
    assert stored_precision(network) == torch.float32
    assert network[0].source is not None
    assert SparseNetwork.of_network(network) is network.source
    changed = network.map(lambda a: 2 * a)
    assert changed.source is None
    assert stored_precision(changed) == torch.float64
    assert not reading_error(changed, torch.zeros(1), torch.ones(1)).any()


@pytest.mark.parametrize("slope", [-1.0, -0.25, 0.0, 0.01, 0.25, 1.0])
def test_the_range_of_a_unit_is_that_of_its_activation(slope):
    low, high = np.sort(np.random.default_rng(0).uniform(-3, 3, (2, 400)), axis=0)
    reach = _activated(np.full(400, slope), Extent(low, high, np.maximum(-low, high), np.zeros(400), 0.0))
    points = np.vstack([np.linspace(low, high, 21), np.clip(0.0, low, high)])
    values = np.where(points > 0, points, slope * points)
    np.testing.assert_allclose(reach.low, values.min(0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(reach.high, values.max(0), rtol=0, atol=1e-12)
    assert (reach.size >= np.abs(values).max(0)).all()
