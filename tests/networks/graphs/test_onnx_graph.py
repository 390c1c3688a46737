"""Graphs of ONNX operators become the functions that onnx's own reference evaluator computes."""

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import load_onnx, outputs
from tutelage.networks.onnx_files import load_sparse

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402


def normal(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(np.float32) / 2


def written(path, nodes, arrays, shape, opset=17, batch="N"):
    """A file of nodes (operator, inputs, output or outputs, attributes) with the output y, and its evaluator."""
    made = [
        helper.make_node(kind, given, out if isinstance(out, list) else [out], name=f"{kind.lower()}-{number}", **how)
        for number, (kind, given, out, how) in enumerate(nodes)
    ]
    kind = TensorProto.FLOAT
    graph = helper.make_graph(
        made, "g",
        [helper.make_tensor_value_info("x", kind, [batch, *shape])], [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(model, path)
    return ReferenceEvaluator(model)


def agrees(path, nodes, arrays, shape, opset=17, atol=2e-5):
    reference = written(path, nodes, arrays, shape, opset)
    x = np.random.default_rng(1).normal(size=(9, *shape)).astype(np.float32)
    (wanted,) = reference.run(None, {"x": x})
    network, points = load_onnx(path), torch.from_numpy(x).flatten(1)
    wanted = wanted.reshape(len(x), -1)
    assert outputs(network, points.to(network.dtype))[0].numpy() == pytest.approx(wanted, abs=atol)
    assert load_sparse(path).at(points).numpy() == pytest.approx(wanted, abs=atol)
    return network


def test_a_residual_network_of_dense_layers(tmp_path):
    nodes = [
        ("Gemm", ["x", "w0", "b0"], "h0", {}), ("Relu", ["h0"], "r0", {}),
        ("Gemm", ["r0", "w1"], "h1", {}), ("Relu", ["h1"], "r1", {}),
        ("Gemm", ["r1", "w2"], "h2", {}), ("Add", ["h2", "r0"], "s", {}), ("Relu", ["s"], "r2", {}),
        ("Gemm", ["r2", "w3"], "h3", {}), ("Add", ["h3", "x"], "y", {}),
    ]  # fmt: skip
    arrays = {"w0": normal(3, 4), "b0": normal(4), "w1": normal(4, 5), "w2": normal(5, 4), "w3": normal(4, 3)}
    network = agrees(tmp_path / "net.onnx", nodes, arrays, (3,))
    assert network.widths == (3, 4 + 6, 5 + 4 + 6, 4 + 6, 3)  # relu units pass as they are, inputs as two each


def test_a_residual_network_without_units_between_carries_sums(tmp_path):
    nodes, arrays = [], {}
    for k in range(4):  # x + sum of blocks: what is carried does not grow
        nodes += [
            ("Gemm", [f"s{k}" if k else "x", f"w{k}"], f"h{k}", {}), ("Relu", [f"h{k}"], f"r{k}", {}),
            ("Gemm", [f"r{k}", f"v{k}"], f"g{k}", {}),
            ("Add", [f"g{k}", f"s{k}" if k else "x"], "y" if k == 3 else f"s{k + 1}", {}),
        ]  # fmt: skip
        arrays |= {f"w{k}": normal(3, 20, seed=k), f"v{k}": normal(20, 3, seed=k)}
    network = agrees(tmp_path / "net.onnx", nodes, arrays, (3,))
    assert network.widths == (3, 26, 26, 26, 26, 3)


def test_a_small_residual_network_of_images_with_batch_norm(tmp_path):
    arrays = {name: normal(4, 4, 3, 3, seed=k) for k, name in enumerate(("k1", "k2"))} | {"k0": normal(4, 2, 3, 3)}
    arrays |= {"k3": normal(6, 4, 1, 1), "w": normal(6, 3)}
    nodes = []
    for k, (before, after) in enumerate((("x", "a"), ("ra", "b"), ("rb", "c"))):
        arrays |= {f"{p}{k}": normal(4, seed=7 + k) for p in "gsm"} | {f"v{k}": np.abs(normal(4)) + 0.5}
        nodes += [
            ("Conv", [before, f"k{k}"], f"c{after}", {"pads": [1, 1, 1, 1]}),
            ("BatchNormalization", [f"c{after}", f"g{k}", f"s{k}", f"m{k}", f"v{k}"], f"n{after}", {}),
        ]
        nodes += [("Relu", [f"n{after}"], f"r{after}", {})] if k < 2 else []
    nodes += [
        ("Add", ["nc", "ra"], "sum", {}), ("Relu", ["sum"], "top", {}),
        ("Conv", ["top", "k3"], "wide", {"strides": [2, 2]}), ("Relu", ["wide"], "last", {}),
        ("GlobalAveragePool", ["last"], "mean", {}), ("Flatten", ["mean"], "flat", {}),
        ("MatMul", ["flat", "w"], "y", {}),
    ]  # fmt: skip
    agrees(tmp_path / "net.onnx", nodes, arrays, (2, 5, 4))


def test_a_network_with_max_pools(tmp_path):
    nodes = [
        ("Conv", ["x", "k0", "c0"], "h0", {}), ("Relu", ["h0"], "r0", {}),
        ("MaxPool", ["r0"], "p0", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Conv", ["p0", "k1"], "h1", {"pads": [1, 1, 1, 1]}),
        ("MaxPool", ["h1"], "p1", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ("Relu", ["p1"], "r1", {}), ("Flatten", ["r1"], "f", {}), ("Gemm", ["f", "w", "b"], "y", {}),
    ]  # fmt: skip
    arrays = {"k0": normal(3, 1, 3, 3), "c0": normal(3), "k1": normal(2, 3, 3, 3), "w": normal(8, 4), "b": normal(4)}
    network = agrees(tmp_path / "net.onnx", nodes, arrays, (1, 8, 8))
    assert network.widths[1:4] == (108, 108, 54)  # units; two carried and two compared per window; one of each


def test_a_block_with_relu6_and_a_depthwise_convolution(tmp_path):
    ends = {"low": np.float32(0), "high": np.float32(6)}
    nodes = [
        ("Conv", ["x", "k0"], "h0", {}), ("Clip", ["h0", "low", "high"], "r0", {}),
        ("Conv", ["r0", "k1"], "h1", {"group": 6, "pads": [1, 1, 1, 1]}), ("Clip", ["h1", "low", "high"], "r1", {}),
        ("Conv", ["r1", "k2"], "h2", {}), ("Add", ["h2", "x"], "s", {}), ("Flatten", ["s"], "y", {}),
    ]  # fmt: skip
    arrays = {"k0": 6 * normal(6, 2, 1, 1), "k1": normal(6, 1, 3, 3), "k2": normal(2, 6, 1, 1), **ends}
    agrees(tmp_path / "net.onnx", nodes, arrays, (2, 4, 3), atol=1e-4)


def test_a_network_that_joins_an_earlier_layer_again(tmp_path):
    nodes = [
        ("Conv", ["x", "k0"], "h0", {"pads": [1, 1, 1, 1]}), ("Relu", ["h0"], "r0", {}),
        ("Conv", ["r0", "k1"], "h1", {"pads": [1, 1, 1, 1]}), ("LeakyRelu", ["h1"], "r1", {"alpha": 0.1}),
        ("Concat", ["r1", "r0", "x"], "c", {"axis": 1}), ("Conv", ["c", "k2"], "h2", {}), ("Abs", ["h2"], "a", {}),
        ("Flatten", ["a"], "y", {}),
    ]  # fmt: skip
    arrays = {"k0": normal(3, 2, 3, 3), "k1": normal(2, 3, 3, 3), "k2": normal(2, 7, 1, 1)}
    network = agrees(tmp_path / "net.onnx", nodes, arrays, (2, 3, 3))
    assert network.activation == "relu"


I64 = np.int64


@pytest.mark.parametrize(
    ("kind", "more", "how", "arrays", "opset"),
    [
        ("Max", ["c"], {}, {"c": normal(2, 4, 4)}, 17),
        ("Min", ["c"], {}, {"c": normal(4)}, 17),
        ("Max", ["x"], {}, {}, 17),
        ("Sum", ["x", "c"], {}, {"c": normal(1, 1)}, 17),
        ("Neg", [], {}, {}, 17),
        ("Clip", ["", "c"], {}, {"c": np.float32(0.3)}, 17),
        ("Clip", [], {"min": -0.2, "max": 0.4}, {}, 9),
        ("HardSigmoid", [], {"alpha": 0.4, "beta": 0.3}, {}, 17),
        ("PRelu", ["c"], {}, {"c": normal(2, 1, 1)}, 17),
        ("LeakyRelu", [], {"alpha": 1.5}, {}, 17),
        ("Slice", ["s", "e", "a", "t"], {}, {"s": I64([3, -3]), "e": I64([-9, 9]), "a": I64([2, 3]),
                                             "t": I64([-2, 1])}, 17),
        ("Pad", ["p", "c"], {}, {"p": I64([0, 0, 1, 2, 0, 1, 0, 1]), "c": np.float32(0.7)}, 17),
        ("Gather", ["i"], {"axis": 2}, {"i": I64([[3, 0], [-1, 1]])}, 17),
        ("ReduceMean", [], {"axes": [2, 3], "keepdims": 0}, {}, 17),
        ("ReduceSum", ["a"], {}, {"a": I64([1])}, 17),
        ("ReduceMax", [], {"axes": [1]}, {}, 17),
        ("GlobalMaxPool", [], {}, {}, 17),
        ("MaxPool", [], {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}, {}, 17),
        ("MaxPool", [], {"kernel_shape": [2, 2], "dilations": [2, 1], "auto_pad": "SAME_UPPER"}, {}, 17),
        ("Conv", ["k"], {"auto_pad": "SAME_LOWER", "strides": [2, 1]}, {"k": normal(3, 2, 2, 3)}, 17),
        ("Reshape", ["s"], {}, {"s": I64([0, 4, -1])}, 17),
        ("Cast", [], {"to": TensorProto.FLOAT}, {}, 17),
        ("MatMul", ["w"], {}, {"w": normal(4, 3)}, 17),
    ],
)  # fmt: skip
def test_operators_between_convolutions(tmp_path, kind, more, how, arrays, opset):
    nodes = [
        ("Conv", ["x", "k0"], "h", {}), (kind, ["h", *more], "z", how),
        ("Flatten", ["z"], "f", {}), ("Mul", ["f", "one"], "y", {}),
    ]  # fmt: skip
    agrees(tmp_path / "net.onnx", nodes, {"k0": normal(2, 2, 1, 1), "one": np.ones(1, np.float32), **arrays}, (2, 4, 4),
           opset)  # fmt: skip


def test_splits_and_sequences(tmp_path):
    nodes = [
        ("Conv", ["x", "k"], "h", {"pads": [1, 0], "dilations": [2]}), ("Split", ["h", "s"], ["a", "b"], {"axis": 1}),
        ("MaxPool", ["a"], "p", {"kernel_shape": [2]}), ("AveragePool", ["b"], "q", {"kernel_shape": [2]}),
        ("Max", ["p", "q"], "m", {}), ("Flatten", ["m"], "y", {}),
    ]  # fmt: skip
    arrays = {"k": normal(3, 2, 2), "s": np.int64([2, 1])}
    agrees(tmp_path / "net.onnx", nodes, arrays, (2, 6))


def refused(tmp_path, nodes, arrays, shape, opset=17):
    written(tmp_path / "net.onnx", nodes, arrays, shape, opset)
    with pytest.raises(TutelageError) as error:
        load_onnx(tmp_path / "net.onnx")
    return str(error.value)


def test_what_is_not_piecewise_linear_or_mixes_samples_is_named(tmp_path):
    x, w = ["x", "x"], {"w": normal(3, 3), "c": normal(5, 3)}
    assert "Mul (mul-0) combines two layers" in refused(tmp_path, [("Mul", x, "y", {})], w, (3,))
    assert "Div (div-0) divides by a layer" in refused(tmp_path, [("Div", ["w", "x"], "y", {})], w, (3,))
    assert "multiplies two layers" in refused(tmp_path, [("MatMul", x, "y", {})], w, (3,))
    assert "does not fit" in refused(tmp_path, [("Add", ["x", "c"], "y", {})], w, (3,))
    assert "axis of samples" in refused(tmp_path, [("Concat", x, "y", {"axis": 0})], w, (3,))
    nodes = [("Softmax", ["x"], "p", {}), ("Add", ["p", "c"], "y", {})]
    assert "not piecewise linear" in refused(tmp_path, nodes, w, (3,))
    said = refused(tmp_path, [("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], {})], w, (3,))
    assert "quantise the model statically" in said


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize(("axis", "opset"), [(0, 17), (-2, 17), (0, 11), (-2, 11)])
def test_a_softmax_over_samples_is_an_error(kind, axis, opset, tmp_path):
    nodes = [("MatMul", ["x", "w"], "h", {}), (kind, ["h"], "y", {"axis": axis})]
    written(tmp_path / "net.onnx", nodes, {"w": normal(3, 3)}, (3,), opset)
    with pytest.raises(TutelageError, match="changes the axis of samples"):
        load_onnx(tmp_path / "net.onnx", logits=True)


def test_a_softmax_over_an_axis_of_length_one_is_no_logit(tmp_path):
    def nodes(axis):
        more = [("Unsqueeze", ["h", "one"], "u", {}), ("Softmax", ["u"], "y", {"axis": axis})]
        return [("MatMul", ["x", "w"], "h", {}), *more]

    arrays = {"w": normal(3, 3), "one": np.array([1])}
    written(tmp_path / "net.onnx", nodes(1), arrays, (3,))
    with pytest.raises(TutelageError, match="one axis of samples"):
        load_onnx(tmp_path / "net.onnx", logits=True)
    written(tmp_path / "net.onnx", nodes(2), arrays, (3,))
    assert load_onnx(tmp_path / "net.onnx", logits=True).widths == (3, 3)


def test_a_sigmoid_that_is_not_last_is_no_logit(tmp_path):
    nodes = [("MatMul", ["x", "w"], "h", {}), ("Sigmoid", ["h"], "s", {}), ("MatMul", ["s", "w"], "y", {})]
    written(tmp_path / "net.onnx", nodes, {"w": normal(3, 3)}, (3,))
    with pytest.raises(TutelageError, match="Sigmoid"):
        load_onnx(tmp_path / "net.onnx", logits=True)


def quantised(path):
    """Weights and activations in 8 bits, as exporters write them."""
    arrays = {"w": normal(3, 4), "v": normal(4, 2), "s": np.float32(0.05), "z": np.uint8(40), "t": np.float32(0.02),
              "n": np.uint8(0)}  # fmt: skip
    nodes = [
        ("QuantizeLinear", ["x", "s", "z"], "qx", {}), ("DequantizeLinear", ["qx", "s", "z"], "dx", {}),
        ("MatMul", ["dx", "w"], "h", {}), ("Relu", ["h"], "r", {}),
        ("QuantizeLinear", ["r", "t", "n"], "qr", {}), ("DequantizeLinear", ["qr", "t", "n"], "dr", {}),
        ("MatMul", ["dr", "v"], "y", {}),
    ]  # fmt: skip
    return written(path, nodes, arrays, (3,), opset=21)


def test_quantised_activations_are_values_rounded_to_steps(tmp_path):
    path = tmp_path / "net.onnx"
    reference = quantised(path)
    with pytest.raises(TutelageError, match="--quantised-activations"):
        load_onnx(path)
    network = load_sparse(path, quantised_activations=True)
    x = np.random.default_rng(0).uniform(-4, 14, (200, 3)).astype(np.float32)  # beyond both ends of the range
    (wanted,) = reference.run(None, {"x": x})
    got = network.at(torch.from_numpy(x)).numpy()
    assert (np.abs(got - wanted) < 1e-4).mean() > 0.98  # float32 divides otherwise now and then: another step
    assert np.abs(got - wanted).max() < 0.3
    assert network.quantised
    with pytest.raises(TutelageError, match="rounds values"):
        network.to_network()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_weights_of_every_precision_are_read_as_they_are(tmp_path, kind):
    arrays = {"w": normal(3, 4).astype(kind), "v": normal(4, 2).astype(kind)}
    nodes = [("MatMul", ["x", "w"], "h", {}), ("Relu", ["h"], "r", {}), ("MatMul", ["r", "v"], "y", {})]
    written(tmp_path / "net.onnx", nodes, arrays, (3,))
    network = load_onnx(tmp_path / "net.onnx")
    for w, name in zip(network.weights, "wv", strict=True):
        assert (w[0].double().numpy() == arrays[name].astype(np.float64)).all()


def test_bfloat16_weights_are_read_as_they_are(tmp_path):
    values = torch.from_numpy(normal(3, 2)).bfloat16()
    raw = values.view(torch.int16).numpy().tobytes()
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [3, 2], raw, raw=True)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [value("x", TensorProto.BFLOAT16, ["N", 3])],
        [value("y", TensorProto.BFLOAT16, None)], [tensor],
    )  # fmt: skip
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "net.onnx"
    )
    assert torch.equal(load_onnx(tmp_path / "net.onnx").weights[0][0], values.float())


def test_a_quantised_bias_of_one_axis_is_read(tmp_path):
    arrays = {"w": normal(3, 2), "q": np.int32([7, -9]), "s": np.float32([0.5, 0.25]), "z": np.int32([0, 0])}
    nodes = [
        ("DequantizeLinear", ["q", "s", "z"], "b", {"axis": 0}), ("Gemm", ["x", "w", "b"], "y", {}),
    ]  # fmt: skip
    written(tmp_path / "net.onnx", nodes, arrays, (3,), opset=21)
    assert load_onnx(tmp_path / "net.onnx").biases[0][0].tolist() == [3.5, -2.25]
