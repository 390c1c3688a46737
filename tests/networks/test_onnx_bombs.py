"""ONNX files of a few kilobytes that describe far more than they hold: an error, before memory is taken."""

import resource

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tutelage.errors import TutelageError  # noqa: E402
from tutelage.networks import load_onnx, read_any_network  # noqa: E402


def bomb(path, nodes, arrays, shape, end):
    made = [helper.make_node(kind, given, [out], **how) for kind, given, out, how in nodes]
    ends = [helper.make_tensor_value_info("x", 1, shape)], [helper.make_tensor_value_info(end, TensorProto.FLOAT, None)]
    graph = helper.make_graph(made, "g", *ends, [numpy_helper.from_array(a, n) for n, a in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert path.stat().st_size < 64_000 or len(nodes) > 10_000
    return path


EYE = np.eye(8, dtype=np.float32)


def doubled():
    nodes = [("Concat", [f"c{k}"] * 8, f"c{k + 1}", {"axis": 0}) for k in range(10)]
    return [*nodes, ("MatMul", ["x", "c10"], "y", {})], {"c0": EYE}, [None, 8]


def gathered():
    nodes = [("Gather", [f"c{k}", "i"], f"c{k + 1}", {"axis": 0}) for k in range(9)]
    nodes = [*nodes, ("MatMul", ["x", "c9"], "y", {})]
    return nodes, {"c0": np.zeros((4, 1), np.float32), "i": np.zeros((16, 16), np.int64) % 4}, [None, 4]


def rows():
    return [("MatMul", ["x", "w"], "h", {}), ("Relu", ["h"], "y", {})], {"w": EYE}, [None, 1 << 20, 8]


def many_values():
    nodes = [("Relu" if k % 2 else "Neg", [f"h{k}" if k else "x"], f"h{k + 1}", {}) for k in range(100)]
    return [*nodes, ("Mul", ["h100", "one"], "y", {})], {"one": np.float32([2])}, [None, 1 << 23]


def padded():
    pads = np.array([0, 0, 0, 1 << 25], np.int64)
    return [("MatMul", ["x", "w"], "h", {}), ("Pad", ["h", "p"], "y", {})], {"w": EYE, "p": pads}, [None, 8]


def chained():
    nodes = [("Neg", [f"h{k}" if k else "x"], f"h{k + 1}", {}) for k in range(30_000)]
    return [*nodes, ("MatMul", ["h30000", "w"], "y", {})], {"w": EYE}, [None, 8]


@pytest.mark.parametrize("make", [doubled, gathered, rows, many_values, padded, chained])
def test_small_files_take_no_large_memory(make, tmp_path):
    path = bomb(tmp_path / "net.onnx", *make(), "y")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TutelageError, match=r"far (more|larger)|operators, and at most"):
        read_any_network(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # KiB: 1 GiB


def test_constants_that_are_folded_are_still_read(tmp_path):
    nodes = [("Concat", ["a", "a"], "w", {"axis": 1}), ("Gather", ["w", "i"], "v", {"axis": 1})]
    nodes = [*nodes, ("MatMul", ["x", "v"], "y", {})]
    path = bomb(tmp_path / "net.onnx", nodes, {"a": EYE, "i": np.arange(12)}, [None, 8], "y")
    assert load_onnx(path).widths == (8, 12)
