"""GELU out of Erf or Tanh is read as the unit that it is, and what nearly is one is not."""

import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.functions import difference_bound
from tutelage.functions.relaxations import CURVED, curved_apart
from tutelage.networks import load, outputs, read_network, save, to_module
from tutelage.networks.gelus import GELUS

onnx = pytest.importorskip("onnx")
evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
NODE = onnx.helper.make_node
F32 = {
    "root": math.sqrt(2), "inverse": math.sqrt(0.5), "alpha": math.sqrt(2 / math.pi), "cube": 0.044715, "half": 0.5,
    "one": 1.0, "two": 2.0, "three": 3.0,
}  # fmt: skip
ERF = [("Div", "u root", "t"), ("Erf", "t", "e"), ("Add", "e one", "a")]
TANH = [
    ("Pow", "u three", "c"), ("Mul", "c cube", "d"), ("Add", "u d", "s"), ("Mul", "s alpha", "t"), ("Tanh", "t", "e"),
    ("Add", "e one", "a"),
]  # fmt: skip
PATTERNS = {
    "product, half": ("gelu-div32", [*ERF, ("Mul", "u a", "p"), ("Mul", "p half", "f")]),
    "half first": ("gelu-div32", [*ERF, ("Mul", "u half", "p"), ("Mul", "p a", "f")]),
    "half of the sum": ("gelu-div32", [*ERF, ("Mul", "half a", "p"), ("Mul", "p u", "f")]),
    "over two": ("gelu-div32", [*ERF, ("Mul", "a u", "p"), ("Div", "p two", "f")]),
    "times": ("gelu-mul32", [("Mul", "u inverse", "t"), *ERF[1:], ("Mul", "u half", "p"), ("Mul", "p a", "f")]),
    "spread": (
        "gelu-div32",
        [*ERF[:2], ("Mul", "u half", "h"), ("Mul", "h e", "k"), ("Add", "h k", "f")],
    ),
    "tanh": ("gelu-tanh32", [*TANH, ("Mul", "u half", "p"), ("Mul", "p a", "f")]),
    "tanh, products": (
        "gelu-tanh32",
        [("Mul", "u u", "c2"), ("Mul", "c2 u", "c"), *TANH[1:], ("Mul", "u a", "p"), ("Mul", "p half", "f")],
    ),
    "tanh, factored": (
        "gelu-tanh32",
        [
            ("Mul", "u alpha", "c"), ("Mul", "u cube", "d"), ("Mul", "d u", "g"), ("Add", "one g", "s"),
            ("Mul", "c s", "t"), *TANH[4:], ("Mul", "u half", "p"), ("Mul", "p a", "f"),
        ],
    ),
}  # fmt: skip


def saved(path, pattern, constants=F32, outer=(), seed=0, dtype=np.float32, inline=False):
    """A file of widths 3-6-5-2 with units of a pattern, of names that end in their layer."""
    draw = np.random.default_rng(seed)
    arrays = {"x0": None} | {name: np.asarray(value, dtype) for name, value in constants.items()}
    nodes, before = [], "x0"
    for layer, (m, n) in enumerate([(3, 6), (6, 5), (5, 2)], start=1):
        arrays |= {f"w{layer}": draw.normal(size=(m, n)).astype(dtype), f"b{layer}": draw.normal(size=n).astype(dtype)}
        nodes.append(NODE("Gemm", [before, f"w{layer}", f"b{layer}"], [f"u.{layer}"]))
        for kind, given, made in pattern if layer < 3 else ():
            names = [name if name in constants else f"{name}.{layer}" for name in given.split()]
            nodes.append(NODE(kind, names, [f"{made}.{layer}"]))
        before = f"f.{layer}"
    nodes += outer
    del arrays["x0"]
    if inline:
        nodes = [
            NODE("Constant", [], [n], value=onnx.numpy_helper.from_array(arrays.pop(n))) for n in constants
        ] + nodes
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ends = [onnx.helper.make_tensor_value_info(n, kind, s) for n, s in (("x0", ["N", 3]), ("u.3", ["N", 2]))]
    tensors = [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=8), path)
    return path


def ran(path, x):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


@pytest.mark.parametrize("inline", [False, True], ids=["stored", "constant operators"])
@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_read_as_the_unit_that_they_compute(name, inline, tmp_path):
    kind, pattern = PATTERNS[name]
    path = saved(tmp_path / "a.onnx", pattern, inline=inline)
    network = read_network(path)
    assert (network.activation, network.widths, network.dtype) == (kind, (3, 6, 5, 2), torch.float32)
    x = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    wanted = evaluator(onnx.load(path)).run(None, {"x0": x})[0]
    np.testing.assert_allclose(outputs(network, torch.from_numpy(x))[0], wanted, atol=2e-5)


@pytest.mark.parametrize("name", ["product, half", "times", "tanh"])
def test_the_runtime_computes_what_is_read(name, tmp_path):
    path = saved(tmp_path / "a.onnx", PATTERNS[name][1])
    x = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    np.testing.assert_allclose(outputs(read_network(path), torch.from_numpy(x))[0], ran(path, x), atol=2e-5)


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("product, half", {"root": np.nextafter(np.float32(math.sqrt(2)), np.float32(2))}),
        ("product, half", {"half": np.nextafter(np.float32(0.5), np.float32(1))}),
        ("product, half", {"one": 1 + 2.0**-23}),
        ("times", {"inverse": 0.7071}),
        ("times", {"inverse": 1.702}),
        ("product, half", {"root": np.full(1, math.sqrt(2) * (1 + 1e-6))}),
        ("product, half", {"root": np.linspace(1, 2, 6)}),
    ],
    ids=["next root", "next half", "next one", "short inverse", "quick", "off by a millionth", "a vector"],
)
def test_what_nearly_is_a_gelu_is_not_taken_for_one(name, constants, tmp_path):
    pattern = [(kind, given, made) for kind, given, made in PATTERNS[name][1]]
    with pytest.raises(TutelageError, match="is not that of a GELU"):
        read_network(saved(tmp_path / "a.onnx", pattern, F32 | constants))


@pytest.mark.parametrize("constants", [{"cube": 0.0447}, {"three": 3.0000002}, {"alpha": 0.8}], ids=str)
def test_what_nearly_is_the_form_with_tanh_is_not_taken_for_it(constants, tmp_path):
    with pytest.raises(TutelageError, match="understood"):
        read_network(saved(tmp_path / "a.onnx", PATTERNS["tanh"][1], F32 | constants))


def test_a_value_on_the_way_that_is_used_again_ends_the_pattern(tmp_path):
    pattern = [*PATTERNS["half first"][1][:-1], ("Mul", "p a", "g"), ("Add", "g e", "f")]
    with pytest.raises(TutelageError, match="is not that of a GELU"):
        read_network(saved(tmp_path / "a.onnx", pattern))


def test_the_operator_of_opset_20(tmp_path):
    exact = read_network(saved(tmp_path / "b.onnx", [("Gelu", "u", "f")]))
    assert exact.activation == "gelu"
    path = saved(tmp_path / "c.onnx", [("Gelu", "u", "f")])
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "Gelu":
            node.attribute.append(onnx.helper.make_attribute("approximate", "tanh"))
    onnx.save(model, path)
    assert read_network(path).activation == "gelu-tanh"


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_what_torch_exports_is_bounded_against_the_module(approximate, opset, tmp_path):
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(3, 8), nn.GELU(approximate), nn.Linear(8, 8), nn.GELU(approximate), nn.Linear(8, 2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (torch.zeros(1, 3),), tmp_path / "a.onnx", dynamo=False, opset_version=opset)
    answer = difference_bound(module, tmp_path / "a.onnx", (-1, 1), epsilon=1e-6, seconds=20)
    assert answer.holds


def test_the_two_forms_differ_by_what_is_bounded(tmp_path):
    files = [saved(tmp_path / f"{n}.onnx", PATTERNS[n][1]) for n in ("product, half", "tanh")]
    answer = difference_bound(*files, (-1, 1), seconds=3)
    x = torch.rand(20_000, 3) * 2 - 1
    most = (outputs(read_network(files[0]), x) - outputs(read_network(files[1]), x)).abs().amax().item()
    assert 1e-4 < most <= answer.at_most.max().item() < 0.1
    same = difference_bound(files[0], files[0], (-1, 1), seconds=3)
    assert same.at_most.max() < 1e-12


@pytest.mark.parametrize("name", GELUS)
def test_units_are_apart_by_no_more_than_is_counted(name):
    mp = mpmath.mp.clone()
    mp.dps = 40

    def form(constants, u):
        rows = [mp.mpf(c.numerator) / c.denominator for c in constants]
        form = mp.erf(rows[0] * u) if len(rows) == 1 else mp.tanh(rows[0] * u + rows[1] * u**3)
        return u / 2 * (1 + form)

    reference = "gelu" if len(GELUS[name]) == 1 else "gelu-tanh"
    others = {"gelu": lambda u: u * mp.ncdf(u), "gelu-tanh": lambda u: form(GELUS["gelu-tanh"], u)}
    for other, function in others.items():
        most = max(abs(form(GELUS[name], mp.mpf(u)) - function(mp.mpf(u))) for u in np.linspace(-8, 8, 3201))
        counted = curved_apart(name, other)
        assert most <= counted
        if other == reference:
            assert counted <= max(2.2 * most, 1e-13)
        assert curved_apart(other, name) == counted
    assert curved_apart(name, name) == 0
    assert curved_apart(name, "silu") == math.inf


def test_constants_are_within_one_rounding():
    for name, constants in GELUS.items():
        exact = (
            (math.sqrt(0.5),) if len(constants) == 1 else (math.sqrt(2 / math.pi), 0.044715 * math.sqrt(2 / math.pi))
        )
        rounding = 2.0**-22 if "32" in name else 2.0**-51
        for c, wanted in zip(constants, exact, strict=True):
            assert isinstance(c, Fraction)
            assert abs(float(c) / wanted - 1) < rounding
    assert set(GELUS) < set(CURVED)


def test_networks_of_such_units_are_stored_and_convert(tmp_path):
    network = read_network(saved(tmp_path / "a.onnx", PATTERNS["tanh"][1]))
    save(network, tmp_path / "a.safetensors")
    assert load(tmp_path / "a.safetensors").activation == "gelu-tanh32"
    with pytest.raises(TutelageError, match="has no layer"):
        to_module(network)
