"""`check` after tools that rewrite ONNX files: what they made is the original, is bounded, or is one sentence.

Tools that are not installed are skipped: onnxslim, and onnxruntime with its optimiser and its quantisers.
"""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.functions import check_export
from tutelage.networks import read_any_network

onnx = pytest.importorskip("onnx")
SLIM, RUNTIME = "onnxslim is not installed", "onnxruntime is not installed"


@pytest.fixture
def original(tmp_path):
    """A network 4-8-6-3 with a batch norm, and constants and identities that a tool can fold: its file."""
    torch.manual_seed(0)
    draw = np.random.default_rng(0)
    tensors = {
        "w": draw.normal(size=(4, 8)) / 2, "b": draw.normal(size=8), "scale": 0.5 + draw.random(8),
        "shift": draw.normal(size=8), "mean": draw.normal(size=8), "var": 0.5 + draw.random(8),
        "v": draw.normal(size=(8, 6)) / 3, "c": draw.normal(size=6),
        "u": draw.normal(size=(6, 3)) / 3, "d": draw.normal(size=3),
    }  # fmt: skip
    node = onnx.helper.make_node
    nodes = [
        node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["q"]),
        node("BatchNormalization", ["q", "scale", "shift", "mean", "var"], ["r"]), node("Identity", ["r"], ["i"]),
        node("Relu", ["i"], ["f"]), node("MatMul", ["f", "v"], ["s"]), node("Add", ["s", "c"], ["t"]),
        node("Relu", ["t"], ["g"]), node("MatMul", ["g", "u"], ["h"]), node("Add", ["h", "d"], ["y"]),
    ]  # fmt: skip
    ends = [onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [1, 4]), ("y", [1, 3]))]
    constants = [onnx.numpy_helper.from_array(a.astype(np.float32), n) for n, a in tensors.items()]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "original.onnx")
    return tmp_path / "original.onnx"


def checked(original, made, tolerance, **how):
    first, second = read_any_network(original), read_any_network(made, **how)
    return check_export(first, second, (-1, 1), tolerance=tolerance, seconds=20)


def test_onnxslim_folds_and_changes_nothing_but_roundings(original, tmp_path):
    slim = pytest.importorskip("onnxslim", reason=SLIM).slim
    slim(str(original), str(tmp_path / "slim.onnx"))
    assert len(onnx.load(tmp_path / "slim.onnx").graph.node) < 10
    assert checked(original, tmp_path / "slim.onnx", 1e-5).verdict == "passes"


def test_the_optimiser_of_onnxruntime(original, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason=RUNTIME)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(tmp_path / "fast.onnx")
    runtime.InferenceSession(str(original), options, providers=["CPUExecutionProvider"])
    assert checked(original, tmp_path / "fast.onnx", 1e-5).verdict == "passes"


class Calibration:
    """Inputs that a quantiser reads ranges from."""

    def __init__(self):
        draw = np.random.default_rng(1)
        self.rows = iter([{"x": 2 * draw.random((1, 4)).astype(np.float32) - 1} for _ in range(200)])

    def get_next(self):
        return next(self.rows, None)


def test_a_static_quantiser_is_bounded_with_its_rounded_values(original, tmp_path):
    quantization = pytest.importorskip("onnxruntime.quantization", reason=RUNTIME)
    made = tmp_path / "qdq.onnx"
    quantization.quantize_static(str(original), str(made), Calibration(), quant_format=quantization.QuantFormat.QDQ)
    with pytest.raises(TutelageError, match="quantised"):
        checked(original, made, 0.5)
    found = checked(original, made, 20.0, quantised_activations=True)
    assert found.verdict == "passes"  # loosely: where the box leaves the ranges of the calibration, values saturate
    runtime = pytest.importorskip("onnxruntime", reason=RUNTIME)
    sessions = [runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (original, made)]
    for row in (2 * np.random.default_rng(2).random((200, 1, 4)) - 1).astype(np.float32):
        a, b = (session.run(None, {"x": row})[0][0] for session in sessions)
        assert (np.abs(a - b) <= found.closeness.at_most.numpy() + 1e-4).all()
    assert checked(original, made, 1e-4, quantised_activations=True).verdict != "passes"


def test_a_dynamic_quantiser_is_one_sentence(original, tmp_path):
    quantization = pytest.importorskip("onnxruntime.quantization", reason=RUNTIME)
    quantization.quantize_dynamic(str(original), str(tmp_path / "dynamic.onnx"))
    with pytest.raises(TutelageError, match="DynamicQuantizeLinear"):
        checked(original, tmp_path / "dynamic.onnx", 0.5)


def test_float16_weights(original, tmp_path):
    model = onnx.load(original)
    for tensor in model.graph.initializer:
        a = onnx.numpy_helper.to_array(tensor).astype(np.float16).astype(np.float32)
        tensor.CopyFrom(onnx.numpy_helper.from_array(a, tensor.name))
    onnx.save(model, tmp_path / "half.onnx")
    assert checked(original, tmp_path / "half.onnx", 2e-2).verdict == "passes"
    assert checked(original, tmp_path / "half.onnx", 1e-6).verdict == "fails"


def test_batch_norms_that_torch_folds():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    module[1].running_mean.normal_()
    module[1].running_var.uniform_(0.5, 2)
    module.eval()
    folded = copy.deepcopy(module)
    folded[0] = torch.nn.utils.fusion.fuse_linear_bn_eval(folded[0], folded[1])
    folded[1] = nn.Identity()
    assert check_export(module, folded, (-1, 1), tolerance=1e-5, seconds=20).verdict == "passes"
    folded[3].bias.data[0] += 1e-3
    assert check_export(module, folded, (-1, 1), tolerance=1e-5, seconds=20).verdict == "fails"
