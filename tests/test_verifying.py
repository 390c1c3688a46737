"""The checker of proofs: it reads what the library reads, bounds what is there, and accepts nothing that is false."""

import ast
import copy
import gzip
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.functions.conftest import make_network

from tutelage import verifying
from tutelage.errors import TutelageError
from tutelage.functions import box, difference_bound, save_proof, top_class_agreement
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.rounding import difference_with_error, exact_difference, exact_outputs
from tutelage.networks import Network, read_any_network
from tutelage.networks.exporting import save_onnx

onnx = pytest.importorskip("onnx")
evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
helper, to_tensor = onnx.helper, onnx.numpy_helper.from_array


def in_single(widths, seed, **more):
    return make_network(widths, seed, **more).map(lambda a: a.float())


def written(folder, *networks):
    paths = [folder / f"{name}.onnx" for name in "ab"]
    for network, path in zip(networks, paths, strict=True):
        save_onnx(network, path)
    return paths


def exact_values(layers, point):
    """The outputs of layers as the checker reads them, and what their errors allow, in fractions."""
    x, room = [Fraction(v) for v in point], [Fraction(0)] * len(point)
    for number, layer in enumerate(layers):
        a, e = ([[Fraction(v) for v in row] for row in m.tolist()] for m in layer)
        u = [sum((w * v for w, v in zip(row, x, strict=False)), row[-1]) for row in a]
        room = [
            sum((abs(w) * r + d * (abs(v) + r) for w, d, v, r in zip(row, off, x, room, strict=False)), off[-1])
            for row, off in zip(a, e, strict=True)
        ]
        x = [max(v, Fraction(0)) for v in u] if number < len(layers) - 1 else u
    return x, room


# ------------------------------------------------------------------------------------------------ reading


def model(nodes, shape, constants, opset=17):
    given = helper.make_tensor_value_info("x", 1, shape)
    out = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph(nodes, "g", [given], [out], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


W, B, V = (np.random.default_rng(0).normal(size=s).astype(np.float32) for s in ((4, 3), (4,), (2, 4)))
K = [np.random.default_rng(1).normal(size=s).astype(np.float32) for s in ((3, 2, 3, 3), (2, 3, 1, 1), (3, 24))]
NODE = helper.make_node
LAYOUTS = {
    "gemm": ([NODE("Gemm", ["x", "w", "b"], ["u"], transB=1), NODE("Relu", ["u"], ["f"]),
              NODE("Gemm", ["f", "v"], ["y"], transB=1)], ["N", 3], {"w": W, "b": B, "v": V}),
    "matmul": ([NODE("MatMul", ["x", "w"], ["p"]), NODE("Add", ["b", "p"], ["u"]), NODE("Relu", ["u"], ["f"]),
                NODE("MatMul", ["f", "v"], ["y"])], [1, 3], {"w": W.T, "b": B, "v": V.T}),
    "from the left": ([NODE("MatMul", ["w", "x"], ["p"]), NODE("Add", ["p", "b"], ["u"]), NODE("Relu", ["u"], ["f"]),
                       NODE("MatMul", ["v", "f"], ["y"])], [3], {"w": W, "b": B, "v": V}),
    "shapes": ([NODE("Sub", ["x", "s"], ["q"]), NODE("Flatten", ["q"], ["r"], axis=1),
                NODE("Gemm", ["r", "w", "b"], ["u"], transB=1), NODE("Reshape", ["u", "to"], ["u2"]),
                NODE("Relu", ["u2"], ["f"]), NODE("MatMul", ["f", "v"], ["y"])],
               [1, 1, 1, 3], {"w": W, "b": B, "v": V.T, "s": 0 * W[:1, :3] + 0.25, "to": np.array([1, -1])}),
    "two maps in a row": ([NODE("Gemm", ["x", "w", "b"], ["u"], transB=1), NODE("Gemm", ["u", "v"], ["t"], transB=1),
                           NODE("Relu", ["t"], ["y"])], [1, 3], {"w": W, "b": B, "v": V}),
    "convolutions": ([NODE("Conv", ["x", "k", "c"], ["u"], strides=[2, 1], pads=[1, 0, 1, 2]),
                      NODE("Relu", ["u"], ["f"]), NODE("Conv", ["f", "l"], ["t"], auto_pad="NOTSET"),
                      NODE("Relu", ["t"], ["g"]),
                      NODE("Flatten", ["g"], ["h"]), NODE("Gemm", ["h", "o"], ["y"], transB=1)],
                     [1, 2, 5, 4], {"k": K[0], "c": B[:3], "l": K[1], "o": K[2]}),
    "half precision": ([NODE("Gemm", ["x", "w", "b"], ["u"], transB=1), NODE("Relu", ["u"], ["y"])], [1, 3],
                       {"w": W.astype(np.float16), "b": B.astype(np.float16)}),
}  # fmt: skip


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "listed"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_is_read_as_its_operators_say(name, raw, tmp_path):
    nodes, shape, constants = LAYOUTS[name]
    if name == "half precision" and not raw:
        pytest.skip("numbers in half precision that are not raw are an error")
    tensors = [
        to_tensor(a, n) if raw else helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape, a.ravel())
        for n, a in constants.items()
    ]
    path = tmp_path / "net.onnx"
    path.write_bytes(model(nodes, shape, tensors).SerializeToString())
    layers = verifying.read_network(path)
    doubles = [to_tensor(a.astype(float) if a.dtype.kind == "f" else a, n) for n, a in constants.items()]
    reference = evaluator(model(nodes, shape, doubles))
    shape = [d if isinstance(d, int) else 1 for d in shape]
    for point in np.random.default_rng(1).normal(size=(5, np.prod(shape))).astype(np.float32):
        shaped = point.reshape(shape)
        values, rooms = exact_values(layers, point.tolist())
        expected = reference.run(None, {"x": shaped.astype(float)})[0].ravel()
        assert len(values) == len(expected)
        for value, room, wanted in zip(values, rooms, expected, strict=True):
            assert abs(value - Fraction(wanted)) <= room + Fraction(1e-14)


WRONG = {
    "Softmax": ([NODE("Gemm", ["x", "w"], ["u"], transB=1), NODE("Softmax", ["u"], ["y"])], {"w": W}),
    "LeakyRelu": ([NODE("LeakyRelu", ["x"], ["y"])], {}),
    "Gemm": ([NODE("Gemm", ["x", "w"], ["y"], transB=1, alpha=0.5)], {"w": W}),
    "Conv": ([NODE("Reshape", ["x", "s"], ["i"]), NODE("Conv", ["i", "k"], ["y"], group=3)],
             {"s": np.array([1, 3, 1, 1]), "k": W.reshape(12, 1, 1, 1)}),
    "mismatch": ([NODE("Gemm", ["x", "w"], ["y"], transB=1)], {"w": V}),
    "shape": ([NODE("MatMul", ["w", "x"], ["p"]), NODE("Add", ["p", "b"], ["y"])], {"w": W[:, :1], "b": B}),
    "definition of its own": ([NODE("Relu", ["x"], ["y"], domain="mine")], {}),
    "not finite": ([NODE("Gemm", ["x", "w"], ["y"], transB=1)], {"w": W * np.inf}),
    "ConstantOfShape": ([NODE("ConstantOfShape", ["s"], ["c"], value=to_tensor(np.ones(1, np.float32))),
                         NODE("Add", ["x", "c"], ["y"])], {"s": np.array([1, 3])}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_understood_is_an_error(name, tmp_path):
    nodes, constants = WRONG[name]
    path = tmp_path / "net.onnx"
    path.write_bytes(model(nodes, [1, 3], [to_tensor(a, n) for n, a in constants.items()]).SerializeToString())
    with pytest.raises(verifying.ProofError, match=name):
        verifying.read_network(path)


def test_numbers_in_another_file_are_an_error(tmp_path):
    nodes, shape, constants = LAYOUTS["gemm"]
    made = model(nodes, shape, [to_tensor(a, n) for n, a in constants.items()])
    onnx.save(made, tmp_path / "net.onnx", save_as_external_data=True, location="more", size_threshold=0)
    with pytest.raises(verifying.ProofError, match="another file"):
        verifying.read_network(tmp_path / "net.onnx")


# ------------------------------------------------------------------------------------------------ bounds


def contained(seed, folder, width):
    """Whether the bounds of a box around a point hold the exact differences at its corners and inside."""
    draw = np.random.default_rng(seed)
    first = in_single((3, 5, 4, 2), seed, bias=0.3)
    second = first.map(lambda a: a * (1 + 10.0 ** -int(draw.integers(1, 8)) * torch.randn(a.shape)).float())
    pair = verifying.joined(*map(verifying.read_network, written(folder, first, second)))
    low = draw.normal(size=3)
    high = low + width * draw.random(3)
    ends = verifying.Boxes(pair, low[None], high[None]).upper(np.append(-np.eye(4), np.eye(4), 0))[0].reshape(2, 1, 4)
    ends = -ends[0], ends[1]
    for unit in [*draw.random((6, 3)), *draw.integers(0, 2, (6, 3))]:
        x = torch.from_numpy(np.clip(low + unit * (high - low), low, high))
        f, g = (exact_outputs(n, x) for n in (first, second))
        exact = [*f, *(p - q for p, q in zip(f, g, strict=True))]
        if not all(Fraction(a) <= v <= Fraction(b) for a, v, b in zip(ends[0][0], exact, ends[1][0], strict=True)):
            return False
    return True


def drawn(draw, widths):
    """Layers of one random scale each, of which some weights are 0."""
    scales = 10.0 ** draw.choice([0, 0, 0, 0, -3, 3, -40, 40, -160, 160], len(widths))
    shapes = zip(scales, widths[1:], widths[:-1], strict=False)
    return [
        s * draw.normal(size=(o, i + 1)) * (draw.random((o, i + 1)) < draw.choice([0.5, 1.0])) for s, o, i in shapes
    ]


def other(draw, layers, kind):
    """Another network, or one that differs by noise, by biases or in one unit."""
    if kind == "another":
        return drawn(draw, [layers[0].shape[1] - 1, *map(len, layers)])
    if kind == "noise":
        return [a * (1 + 10.0 ** -draw.integers(1, 16) * draw.normal(size=a.shape)) for a in layers]
    new = [a.copy() for a in layers]
    at = new[draw.integers(len(new))]
    if kind == "biases":
        at[:, -1] += 10.0 ** -draw.integers(0, 18) * draw.normal(size=len(at))
    else:
        at[draw.integers(len(at))] *= draw.choice([-1, 0, 2])
    return new


@pytest.mark.parametrize("kind", ["another", "noise", "biases", "a unit"])
def test_bounds_hold_for_networks_of_every_kind(kind):
    """Rows of f, of f - g and of g at points of random boxes, in fractions; weights may be off by their errors."""
    draw, bounded = np.random.default_rng(len(kind)), 0
    for _ in range(60):
        widths = [int(n) for n in draw.integers(1, 6, draw.integers(2, 6))]
        first = drawn(draw, widths)
        off = [np.where(draw.random(a.shape) < 0.1, 10.0 ** -draw.integers(3, 17) * np.abs(a), 0.0) for a in first]
        second = other(draw, first, kind)
        signs = [draw.integers(-1, 2, a.shape) for a in first]
        moved = [in_fractions(a, s * e) for a, s, e in zip(first, signs, off, strict=True)]
        plain = [in_fractions(a, 0 * a) for a in second]
        pair = verifying.joined(
            [verifying.StoredLayer(a, e) for a, e in zip(first, off, strict=True)],
            [verifying.StoredLayer(a, 0 * a) for a in second],
        )
        size = draw.choice([1e-3, 1.0, 100.0])
        low = size * draw.normal(size=widths[0])
        high = low + draw.choice([0, 1e-12, 0.1, 3.0]) * size * draw.random(widths[0])
        eye = np.eye(widths[-1])
        rows = np.block([[eye, 0 * eye], [0 * eye, eye], [eye, -eye]])
        with np.errstate(all="ignore"):
            above = verifying.Boxes(pair, low[None], high[None]).upper(np.append(rows, -rows, 0))[0][0]
        for unit in [*draw.random((2, widths[0])), *draw.integers(0, 2, (2, widths[0]))]:
            x = [Fraction(v) for v in np.clip(low + unit * (high - low), low, high)]
            f, g = exactly(moved, x), exactly(plain, x)
            values = [*f, *(p - q for p, q in zip(f, g, strict=True)), *g]
            for value, most in zip([*values, *(-v for v in values)], above, strict=True):
                bounded += np.isfinite(most)
                assert not np.isfinite(most) or value <= Fraction(most)
    assert bounded > 1000


def in_fractions(a, more):
    return [[Fraction(w) + Fraction(e) for w, e in zip(*rows, strict=True)] for rows in zip(a, more, strict=True)]


def exactly(layers, x):
    """The outputs of layers of fractions."""
    for number, rows in enumerate(layers):
        u = [sum((w * v for w, v in zip(row, x, strict=False)), row[-1]) for row in rows]
        x = [max(v, Fraction(0)) for v in u] if number < len(layers) - 1 else u
    return x


@pytest.mark.parametrize("width", [0.0, 1e-9, 0.1, 2.0])
def test_bounds_hold_exact_values(width, tmp_path):
    assert all(contained(seed, tmp_path, width) for seed in range(15))


def test_without_room_for_rounding_they_would_not(tmp_path, monkeypatch):
    for name, nothing in (("EPS", 0.0), ("TINY", 0.0), ("gamma", lambda terms: 0.0)):
        monkeypatch.setattr(verifying, name, nothing)
    assert not all(contained(seed, tmp_path, 0.0) for seed in range(15))


def test_layers_are_made_one_where_nothing_is_lost_by_it():
    draw = np.random.default_rng(2)
    plain = draw.normal(size=(4, 4)).astype(np.float32).astype(float)
    halves = 2.0 ** draw.integers(-2, 3, (4, 1))
    low = np.concatenate([plain * halves, -plain[:3]])
    up = np.zeros((4, 8))
    for row in range(4):
        up[row, row], up[row, 4 + row] = 1 / halves[row, 0], -1.0 if row < 3 else 0.0
    up[:3, -1] = draw.normal(size=3)
    top = draw.normal(size=(2, 5))
    layers = [verifying.StoredLayer(a, 0 * a) for a in (low, up, top)]
    joined = verifying.made_one(layers, 0)
    assert [layer.a.shape for layer in joined] == [(4, 4), (2, 5)]
    for point in draw.normal(size=(5, 3)).tolist():
        (before, _), (after, rooms) = exact_values(layers, point), exact_values(joined, point)
        assert all(abs(v - w) <= r for v, w, r in zip(before, after, rooms, strict=True))
    for layer, place in ((0, (0, 0)), (0, (4, 1)), (0, (5, 3)), (1, (1, 1)), (1, (3, 7)), (1, (2, 0))):
        wrong = [verifying.StoredLayer(layer.a.copy(), layer.e) for layer in layers]
        wrong[layer].a[place] += 2.0**-20
        with pytest.raises(verifying.ProofError, match="put together"):
            verifying.made_one(wrong, 0)
    with pytest.raises(verifying.ProofError, match="put together"):
        verifying.made_one(layers, 1)


def test_units_in_places_are_the_same_function():
    draw = np.random.default_rng(3)
    layers = [verifying.StoredLayer(a, 0 * a) for a in (draw.normal(size=(3, 3)), draw.normal(size=(2, 4)))]
    how = {"made_one": [], "units": [[2, -1, 0, 1], [0, 1, 2, -1]], "factors": [[0.3, 1.0, 4.0, 7.0], [1.0] * 4]}
    deeper = verifying.rewritten(layers, how)
    assert [layer.a.shape for layer in deeper] == [(4, 3), (4, 5), (2, 5)]
    rounded = []
    for point in draw.normal(size=(20, 2)).tolist():
        (before, _), (after, rooms) = exact_values(layers, point), exact_values(deeper, point)
        assert all(abs(v - w) <= r <= 1e-12 for v, w, r in zip(before, after, rooms, strict=True))
        rounded.append(before != after)
    assert any(rounded)  # what the rooms are for
    for units, factors in (([0, 1, 1], [1.0] * 3), ([0, 1], [1.0] * 2), ([0, 1, 2, -2], [1.0] * 4),
                           ([0, 1, 2], [1.0, -1.0, 1.0]), ([0, 1, 2], [1.0] * 4), ([0, 1, 3], [1.0] * 3)):  # fmt: skip
        with pytest.raises(verifying.ProofError, match="one place"):
            verifying.rewritten(layers, {"made_one": [], "units": [units], "factors": [factors]})


def test_parts_make_up_the_box():
    low, high = np.array([-1.0, 0.0]), np.array([1.0, 0.3])
    made = list(verifying.parts([0, 1, -1, -1, 1, -1, 1, -1, -1], low, high))
    areas = [Fraction(b[0]) - Fraction(a[0]) for a, b in made], [Fraction(b[1]) - Fraction(a[1]) for a, b in made]
    assert len(made) == 5
    assert sum(x * y for x, y in zip(*areas, strict=True)) == 2 * Fraction(0.3)
    for cuts in ([], [0], [0, -1], [-1, -1], [2, -1, -1], [-2]):
        with pytest.raises(verifying.ProofError, match="cuts"):
            list(verifying.parts(cuts, low, high))


# ------------------------------------------------------------------------------------------------ proofs


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """A proof of several parts with a limit close to the largest difference, its file and both networks."""
    folder = tmp_path_factory.mktemp("proof")
    first = in_single((2, 4, 3, 2), 1)
    second = first.map(lambda a: a + 0.05 * torch.randn(a.shape, generator=torch.Generator().manual_seed(5)))
    a, b = written(folder, first, second)
    where = box(-1, 1, dimension=2)
    largest = supremum(first.map(torch.Tensor.double), second.map(torch.Tensor.double), where).each
    epsilon = (1.03 * largest).tolist()
    answer = difference_bound(first, second, where, epsilon, keep=True)
    assert save_proof(folder / "proof.json", answer, a, b, where, epsilon=epsilon) > 5
    return folder / "proof.json", a, b


def test_a_proof_is_verified_and_says_what_is_proved(proved):
    path, a, b = proved
    right, words = verifying.verified(path, a, b)
    assert right
    limits = json.loads(path.read_text())["claim"]["at_most"]
    assert f"output 0 differs by at most {limits[0]!r}; output 1 differs by at most {limits[1]!r}" in words
    assert "for every input of the box" in words
    (path.parent / "proof.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert verifying.verified(path.parent / "proof.json.gz", a, b) == (right, words)


def test_the_checker_needs_numpy_alone(proved):
    path, a, b = proved
    program = Path(verifying.__file__)
    watch = "import sys, runpy; sys.argv = sys.argv[1:]\ntry: runpy.run_path(sys.argv[0], run_name='__main__')\n"
    watch += "finally: print([m for m in ('torch', 'numba', 'scipy', 'onnx', 'tutelage') if m in sys.modules])"
    words = [sys.executable, "-I", "-c", watch, *map(str, (program, path, a, b))]
    done = subprocess.run(words, capture_output=True, text=True, cwd=path.parent)
    assert done.stdout.startswith("verified: ")
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.returncode == 0


def test_the_checker_is_short():
    source = Path(verifying.__file__).read_text()
    tree, documented = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(source.splitlines(), 1)
    assert sum(bool(s.strip()) and s.strip()[0] != "#" for n, s in lines if n not in documented) <= 315


def corrupted(proof, draw):
    """A proof with one thing in it changed."""
    proof = copy.deepcopy(proof)
    side, end, output = draw.randrange(2), draw.randrange(2), draw.randrange(2)
    cuts, how = proof["cuts"], proof["networks"]["ab"[draw.randrange(2)]]
    units, factors = draw.choice(how["units"]), draw.choice(how["factors"])
    kind = draw.randrange(11)
    if kind == 0:
        proof["claim"]["at_most"][output] *= draw.uniform(0.3, 1.0)
    elif kind == 1:
        proof["claim"]["at_most"].reverse()
    elif kind == 2:
        proof["box"][end][side] += draw.choice([-1, 1]) * 10 ** draw.uniform(-3, 0.5)
    elif kind == 3:
        cuts[draw.randrange(len(cuts))] = draw.choice([-1, 0, 1, 2, 0.5, None])
    elif kind == 4:
        del cuts[draw.randrange(len(cuts)) :]
    elif kind == 5:
        cuts.insert(draw.randrange(len(cuts)), draw.choice([-1, 0, 1]))
    elif kind == 6:
        units[draw.randrange(len(units))] = draw.choice([-1, 0, 1, 2, 3, 4])
    elif kind == 7:
        draw.shuffle(units)
    elif kind == 8:
        factors[draw.randrange(len(factors))] = draw.choice([-1.0, 0.0, 0.5, 1.1, 2.0, float("nan"), float("inf")])
    elif kind == 9:
        how["made_one"] = draw.choice([[], [0], [1], [0, 0], [-1]])
    else:
        proof[draw.choice(["box", "cuts", "networks", "claim"])] = draw.choice([None, [], {}, 0, "x"])
    return proof


def with_other_bytes(data, draw):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2])):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


def as_read(path):
    """A network as the library reads it; as the checker does where names or versions are damaged too much for it."""
    try:
        return read_any_network(path)
    except TutelageError:
        layers = [torch.from_numpy(layer.a) for layer in verifying.read_network(path)]
        return Network(tuple(a[:, :-1].T[None] for a in layers), tuple(a[:, -1][None] for a in layers))


def is_false(proof, a, b):
    """Whether a claim about two files is false: at the largest difference of the exact regions, in fractions there."""
    first, second = (as_read(path).map(torch.Tensor.double) for path in (a, b))
    low, high = (torch.tensor(end, dtype=torch.float64) for end in proof["box"])
    limits = proof["claim"]["at_most"]
    largest = supremum(first, second, box(low, high, flat=True))
    if all(d <= m * (1 + 1e-9) for d, m in zip(largest.each.tolist(), limits, strict=True)):
        return False
    # Of weights of 1e30, which a corruption makes, regions in floats give the rounding of units that are 0.
    unit = torch.rand(2000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gap, error = difference_with_error(first, second, low + unit * (high - low))
    there = exact_difference(first, second, largest.at)
    sampled = ((gap - error)[0] > torch.tensor(limits, dtype=torch.float64)).any().item()
    return sampled or any(d > Fraction(m) for d, m in zip(there, limits, strict=True))


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """The same of a convolution and of one whose units were split, and put together again by another."""
    folder = tmp_path_factory.mktemp("split")
    draw = np.random.default_rng(5)
    k, c, w = (draw.normal(size=s).astype(np.float32) for s in ((3, 1, 1, 2), 3, (2, 3)))
    ends = [NODE("Relu", ["u"], ["f"]), NODE("Flatten", ["f"], ["h"]), NODE("Gemm", ["h", "w"], ["y"], transB=1)]
    plain = model([NODE("Conv", ["x", "k", "c"], ["u"]), *ends], [1, 1, 1, 2],
                  [to_tensor(a, n) for a, n in ((k, "k"), (c, "c"), (w, "w"))])  # fmt: skip
    low, up = np.concatenate([k, -k[:2]]), np.zeros((3, 5, 1, 1), np.float32)
    up[range(3), range(3)], up[range(2), range(3, 5)] = 1, -1
    shift = np.array([0.3, 0.7, 0], np.float32)
    numbers = (low, "k"), (np.concatenate([c - shift, (shift - c)[:2]]), "c"), (up, "l"), (shift, "m"), (1.05 * w, "w")
    nodes = [
        NODE("Conv", ["x", "k", "c"], ["t"]),
        NODE("Relu", ["t"], ["g"]),
        NODE("Conv", ["g", "l", "m"], ["u"]),
        *ends,
    ]
    apart = model(nodes, [1, 1, 1, 2], [to_tensor(a, n) for a, n in numbers])
    paths = folder / "a.onnx", folder / "b.onnx"
    for path, made in zip(paths, (plain, apart), strict=True):
        path.write_bytes(made.SerializeToString())
    where = box(-1, 1, dimension=2)
    epsilon = (1.03 * supremum(*(as_read(path).map(torch.Tensor.double) for path in paths), where).each).tolist()
    answer = difference_bound(*paths, where, epsilon, keep=True)
    assert save_proof(folder / "proof.json", answer, *paths, where, epsilon=epsilon) > 1
    return folder / "proof.json", *paths


def test_units_that_were_split_are_made_one(split):
    path, a, b = split
    assert json.loads(path.read_text())["networks"]["b"]["made_one"] == [0]
    assert verifying.verified(path, a, b)[0]


@pytest.mark.parametrize("kind", ["proved", "split"])
def test_none_of_a_thousand_corruptions_makes_a_false_claim_pass(kind, request, tmp_path):
    """A corruption that leaves a true claim with a complete proof may pass; one whose claim is false must not.

    The truth comes from the exact regions of the networks as the library reads them.
    """
    draw, (path, a, b) = random.Random(0), request.getfixturevalue(kind)
    proof, files = json.loads(path.read_text()), [a.read_bytes(), b.read_bytes()]
    accepted = false = 0
    for number in range(1000):
        changed, both = tmp_path / "proof.json", [tmp_path / "a.onnx", tmp_path / "b.onnx"]
        new, datas = proof, list(files)
        if number % 4 == 0:
            which = draw.randrange(2)
            datas[which] = with_other_bytes(datas[which], draw)
        elif number % 4 == 1:
            changed.write_bytes(with_other_bytes(path.read_bytes(), draw))
        if number % 4 >= 2:
            new = corrupted(proof, draw)
        if number % 4 != 1:
            changed.write_text(json.dumps(new))
        for target, data in zip(both, datas, strict=True):
            target.write_bytes(data)
        right, _ = verifying.verified(changed, *both)
        if right:
            accepted += 1
            assert not is_false(json.loads(changed.read_text()), *both), number
            continue
        if false >= 150:  # enough to know that there was something to reject; the others cost seconds
            continue
        try:
            false += is_false(json.loads(changed.read_text()), *both)
        except Exception:  # what cannot be read says nothing that could be false
            continue
    assert false >= 100  # otherwise nothing was tested
    assert accepted >= 20


def test_top_classes_are_verified_and_a_network_that_disagrees_is_not(tmp_path):
    first = in_single((2, 6, 3), 4)
    second = first.map(lambda a: a + 1e-3 * torch.randn_like(a))
    a, b = written(tmp_path, first, second)
    where = box(-1, 1, dimension=2)
    answer = top_class_agreement(first, second, where, 0.05, keep=True)
    assert answer.holds
    save_proof(tmp_path / "proof.json", answer, a, b, where, margin=0.05)
    right, words = verifying.verified(tmp_path / "proof.json", a, b)
    assert right
    assert "same top class wherever A leads by 0.05 or more" in words
    proof = json.loads((tmp_path / "proof.json").read_text())
    proof["claim"]["margin"] = 1e-5
    if top_class_agreement(first, second, where, 1e-5).verdict == "violated":
        with pytest.raises(verifying.ProofError, match="leave the claim open"):
            verifying.check(proof, a, b)
    save_onnx(second.map(lambda w: w.roll(1, -1) if w.shape[-1] == 3 else w), b)
    assert not verifying.verified(tmp_path / "proof.json", a, b)[0]
