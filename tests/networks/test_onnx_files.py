"""ONNX files become the networks that onnx's own reference evaluator computes; the rest is refused by name."""

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import load_onnx, outputs, read_any_network
from tutelage.networks.graphs import sparse

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402


def model(path, nodes, arrays, shape, out, opset=17):
    """Write a file of nodes in a row, and return its evaluator."""
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE}
    kind = kinds[next(a.dtype for a in arrays.values() if a.dtype.kind == "f")] if arrays else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["N", *shape])],
        [helper.make_tensor_value_info(out, kind, None)],
        [numpy_helper.from_array(a, name) for name, a in arrays.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(made, path)
    return ReferenceEvaluator(made)


def normal(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(dtype)


def agrees(path, reference, shape, atol=1e-5, dtype=np.float32):
    network = load_onnx(path)
    x = np.random.default_rng(1).normal(size=(7, *shape)).astype(dtype)
    (wanted,) = reference.run(None, {"x": x})
    got = outputs(network, torch.from_numpy(x).flatten(1).to(network.dtype))[0]
    assert torch.allclose(got.to(torch.from_numpy(x).dtype), torch.from_numpy(wanted).flatten(1), atol=atol)
    return network


def test_gemm_and_relu(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], transB=1, alpha=0.5, beta=2.0),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
    ]
    arrays = {"w1": normal(4, 3), "b1": normal(4), "w2": normal(4, 2), "b2": normal(2)}
    network = agrees(path, model(path, nodes, arrays, (3,), "y"), (3,))
    assert network.widths == (3, 4, 2)
    assert network.activation == "relu"
    assert network.dtype == torch.float32


def test_matmul_add_leaky_in_double_and_an_unknown_input_shape(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Add", ["b1", "a"], ["h"]),
        helper.make_node("LeakyRelu", ["h"], ["r"], alpha=0.2),
        helper.make_node("Identity", ["r"], ["i"]),
        helper.make_node("MatMul", ["i", "w2"], ["c"]),
        helper.make_node("Sub", ["c", "b2"], ["y"]),
    ]
    arrays = {"w1": normal(3, 4), "b1": normal(1, 4), "w2": normal(4, 2), "b2": normal(2)}
    arrays = {n: a.astype(np.float64) for n, a in arrays.items()}
    network = agrees(path, model(path, nodes, arrays, ("d",), "y"), (3,), 1e-9, np.float64)
    assert (network.activation, network.dtype) == ("leaky", torch.float64)
    assert network.slope == pytest.approx(0.2)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"pads": [1, 1, 1, 1]},
        {"strides": [2, 1], "pads": [0, 1, 2, 0]},
        {"dilations": [2, 2]},
        {"group": 2},
    ],
)
def test_convolutions_are_written_out(tmp_path, how):
    path = tmp_path / "net.onnx"
    groups = how.get("group", 1)
    nodes = [
        helper.make_node("Conv", ["x", "k", "c"], ["h"], **how),
        helper.make_node("BatchNormalization", ["h", "g", "s", "m", "v"], ["n"], epsilon=1e-3),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    arrays = {"k": normal(4, 2 // groups, 3, 2), "c": normal(4), "g": normal(4, seed=1), "s": normal(4, seed=2)}
    arrays |= {"m": normal(4, seed=3), "v": np.abs(normal(4, seed=4)) + 0.1}
    probe = torch.nn.functional.conv2d(
        torch.nn.functional.pad(torch.zeros(1, 2, 6, 5), (*(how.get("pads", [0] * 4)[i] for i in (1, 3, 0, 2)),)),
        torch.from_numpy(arrays["k"]),
        stride=how.get("strides", [1, 1]),
        dilation=how.get("dilations", [1, 1]),
        groups=groups,
    )
    arrays["w"] = normal(probe.numel(), 3)
    network = agrees(path, model(path, nodes, arrays, (2, 6, 5), "y"), (2, 6, 5), 1e-3)
    assert network.widths == (60, probe.numel(), 3)


def test_reshape_constants_and_a_relu_at_the_end(tmp_path):
    path = tmp_path / "net.onnx"
    shape = numpy_helper.from_array(np.array([-1, 6], np.int64))
    nodes = [
        helper.make_node("Constant", [], ["s"], value=shape),
        helper.make_node("Reshape", ["x", "s"], ["f"]),
        helper.make_node("Gemm", ["f", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    network = agrees(path, model(path, nodes, {"w1": normal(6, 4)}, (2, 3), "y"), (2, 3))
    assert network.widths == (6, 4, 4)


def test_normalisation_before_any_weights(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [
        helper.make_node("BatchNormalization", ["x", "g", "s", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"]),
    ]
    arrays = {"g": normal(3), "s": normal(3, seed=1), "m": normal(3, seed=2), "v": np.abs(normal(3)) + 1}
    agrees(path, model(path, nodes, {**arrays, "w": normal(3, 2)}, (3,), "y"), (3,))


def refused(tmp_path, nodes, arrays, shape=(3,), out="y"):
    path = tmp_path / "net.onnx"
    model(path, nodes, arrays, shape, out)
    with pytest.raises(TutelageError) as said:
        load_onnx(path)
    return str(said.value)


def test_unknown_operators_are_named(tmp_path):
    said = refused(tmp_path, [helper.make_node("Where", ["x", "x", "x"], ["y"], name="last")], {})
    assert "the operator Where (last) is not understood" in said
    assert len(said) < 200


@pytest.mark.parametrize("kind", ["Sin", "Tanh", "LSTM", "GRU", "Attention", "LayerNormalization"])
def test_what_has_no_linear_pieces_says_what_can_be_asked(kind, tmp_path):
    said = refused(tmp_path, [helper.make_node(kind, ["x"], ["y"], name="last")], {})
    assert f"the operator {kind} (last) is not piecewise linear: distil the model" in said


def test_a_branch_that_leads_nowhere_is_left_out(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["h"]),
        helper.make_node("Add", ["x", "c"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    agrees(path, model(path, nodes, {"w": normal(3, 3), "c": normal(3)}, (3,), "y"), (3,))


def test_a_convolution_too_large_to_write_out_is_read_with_sparse_layers(tmp_path, monkeypatch):
    monkeypatch.setattr(sparse, "DENSE", 1000)
    path = tmp_path / "net.onnx"
    nodes = [helper.make_node("Conv", ["x", "k"], ["y"])]
    reference = model(path, nodes, {"k": normal(4, 2, 3, 3)}, (2, 9, 9), "y")
    with pytest.raises(TutelageError, match="31,752 weights, and at most 1,000"):
        load_onnx(path)
    found = read_any_network(path)
    x = np.random.default_rng(1).normal(size=(7, 2, 9, 9)).astype(np.float32)
    (wanted,) = reference.run(None, {"x": x})
    assert found.at(torch.from_numpy(x).flatten(1)).numpy() == pytest.approx(wanted.reshape(7, -1), abs=1e-4)


def test_shapes_that_do_not_fit_are_refused(tmp_path):
    assert "takes 4 numbers" in refused(tmp_path, [helper.make_node("Gemm", ["x", "w"], ["y"])], {"w": normal(4, 2)})
    said = refused(tmp_path, [helper.make_node("Gemm", ["x", "w"], ["y"])], {"w": normal(3, 2)}, (3, 3))
    assert "put a Flatten before it" in said
    said = refused(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], {}, ("d",))
    assert "fixed input shape" in said
    assert "no layers" in refused(tmp_path, [helper.make_node("Identity", ["x"], ["y"])], {})


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "net.onnx"
    with pytest.raises(TutelageError, match="there is no file"):
        load_onnx(path)
    path.write_bytes(b"not a model at all")
    with pytest.raises(TutelageError, match="not an ONNX file"):
        load_onnx(path)
    model(path, [helper.make_node("Identity", ["x"], ["y"])], {}, (3,), "z")
    with pytest.raises(TutelageError, match="nothing that its operators compute"):
        load_onnx(path)


def test_the_package_is_asked_for_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(TutelageError, match=r"pip install '\.\[onnx\]'"):
        load_onnx(tmp_path / "net.onnx")


def test_a_matrix_on_the_left_of_a_plain_vector(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [
        helper.make_node("MatMul", ["w1", "x"], ["h"]),
        helper.make_node("Add", ["h", "b1"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("MatMul", ["w2", "r"], ["y"]),
    ]
    arrays = {"w1": normal(4, 3), "b1": normal(4), "w2": normal(2, 4)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, name) for name, a in arrays.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)
    network = load_onnx(path)
    x = normal(3, seed=5)
    (wanted,) = ReferenceEvaluator(made).run(None, {"x": x})
    assert outputs(network, torch.from_numpy(x)[None])[0, 0].tolist() == pytest.approx(wanted.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("nodes", "arrays"),
    [
        ([("Mul", ["x", "k"], {}), ("Sub", ["k", "h0"], {})], {"k": normal(2, 4, 4)}),
        ([("Div", ["x", "k"], {})], {"k": 1 + normal(1).__abs__()}),
        ([("AveragePool", ["x"], {"kernel_shape": [2, 2], "strides": [2, 2]})], {}),
        ([("AveragePool", ["x"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})], {}),
        ([("AveragePool", ["x"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1})], {}),
        ([("GlobalAveragePool", ["x"], {})], {}),
        ([("Transpose", ["x"], {"perm": [0, 2, 3, 1]})], {}),
        ([("Unsqueeze", ["x", "axes"], {}), ("Squeeze", ["h0", "axes"], {})], {"axes": np.array([2])}),
        ([("Relu", ["x"], {}), ("Transpose", ["h0"], {"perm": [0, 3, 1, 2]})], {}),
        ([("PRelu", ["x", "slope"], {})], {"slope": np.full((1, 1, 1), 0.25, np.float32)}),
        ([("Abs", ["x"], {})], {}),
    ],
)
def test_operators_on_images(tmp_path, nodes, arrays):
    path = tmp_path / "net.onnx"
    made = [helper.make_node(kind, given, [f"h{k}"], **how) for k, (kind, given, how) in enumerate(nodes)]
    last = f"h{len(nodes) - 1}"
    made += [helper.make_node("Flatten", [last], ["flat"]), helper.make_node("Relu", ["flat"], ["z"])]
    made = [*made[:-1], helper.make_node("Mul", ["flat", "one"], ["y"])]
    arrays = {**arrays, "one": np.ones(1, np.float32)}
    agrees(path, model(path, made, arrays, (2, 4, 4), "y"), (2, 4, 4))


def test_quantised_weights_are_what_they_stand_for(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"], axis=1),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]
    q = np.random.default_rng(0).integers(-128, 127, (3, 4)).astype(np.int8)
    arrays = {"v": normal(4, 2), "q": q, "scale": np.float32([0.1, 0.2, 0.3, 0.01]), "zero": np.int8([0, 3, -5, 7])}
    network = agrees(path, model(path, nodes, arrays, (3,), "y", opset=21), (3,))
    wanted = (q.astype(np.float64) - np.float32([0, 3, -5, 7])) * np.float64(np.float32([0.1, 0.2, 0.3, 0.01]))
    assert (network.weights[0][0].numpy() == wanted).all()  # products that float32 would round
    assert network.dtype == torch.float64


def test_a_softmax_at_the_end_is_left_out_where_asked(tmp_path):
    path = tmp_path / "net.onnx"
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["y"])]
    model(path, nodes, {"w": normal(3, 4)}, (3,), "y")
    with pytest.raises(TutelageError, match=r"tutelage compare --logits; .* save\(load_onnx\(path, logits=True\)"):
        load_onnx(path)
    assert load_onnx(path, logits=True).widths == (3, 4)
