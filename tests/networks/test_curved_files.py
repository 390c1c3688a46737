"""ONNX files with smooth units: read as onnx evaluates them, or one sentence."""

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import outputs, read_any_network, read_network

onnx = pytest.importorskip("onnx")
evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
NODE, W, V = onnx.helper.make_node, np.eye(3, 4, dtype=np.float32) * 1.5, np.ones((4, 2), np.float32)
B = np.linspace(-1, 1, 4).astype(np.float32)
UNITS = {
    "tanh": [NODE("Tanh", ["u"], ["f"])],
    "sigmoid": [NODE("Sigmoid", ["u"], ["f"])],
    "softplus": [NODE("Softplus", ["u"], ["f"])],
    "gelu": [NODE("Gelu", ["u"], ["f"])],
    "hard-swish": [NODE("HardSwish", ["u"], ["f"])],
    "silu": [NODE("Sigmoid", ["u"], ["s"]), NODE("Mul", ["u", "s"], ["f"])],
}


def saved(folder, units, more=()):
    nodes = [NODE("Gemm", ["x", "w", "b"], ["u"]), *units, NODE("MatMul", ["f", "v"], ["y"]), *more]
    ends = [onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", ["N", 3]), (nodes[-1].output[0], None))]
    tensors = [onnx.numpy_helper.from_array(a, n) for n, a in (("w", W), ("b", B), ("v", V))]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]), folder / "n.onnx")
    return folder / "n.onnx"


@pytest.mark.parametrize("name", UNITS)
def test_units_are_read_as_they_are_evaluated(name, tmp_path):
    path = saved(tmp_path, UNITS[name])
    network = read_network(path)
    assert (network.activation, network.widths, network.dtype) == (name, (3, 4, 2), torch.float32)
    assert read_any_network(path).activation == name
    x = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    expected = np.concatenate([evaluator(onnx.load(path)).run(None, {"x": row[None]})[0] for row in x])
    assert np.allclose(outputs(network, torch.from_numpy(x))[0].numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ([NODE("Tanh", ["u"], ["t"]), NODE("Relu", ["t"], ["f"])], "several kinds"),
        ([NODE("Gelu", ["u"], ["f"], approximate="sin")], "must be none or tanh, got sin"),
        ([NODE("Tanh", ["u"], ["t"]), NODE("Softmax", ["t"], ["f"])], "Softmax"),
        ([NODE("Sigmoid", ["u"], ["s"]), NODE("Mul", ["u", "s"], ["m"]), NODE("Add", ["m", "s"], ["f"])], "used more"),
    ],
)
def test_what_is_not_understood_is_one_sentence(units, words, tmp_path):
    with pytest.raises(TutelageError, match=words):
        read_network(saved(tmp_path, units))


def test_a_sigmoid_at_the_end_is_left_out_with_logits(tmp_path):
    path = saved(tmp_path, [NODE("Relu", ["u"], ["f"])], [NODE("Sigmoid", ["y"], ["z"])])
    assert read_network(path, logits=True).activation == "relu"
    with pytest.raises(TutelageError, match="Sigmoid"):
        read_network(path)
