"""Small ONNX files whose constants and values grow at random: read, or an error, and never gigabytes."""

import resource

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tutelage.errors import TutelageError  # noqa: E402
from tutelage.networks import read_any_network  # noqa: E402

MOST = 3 << 19  # KiB that reading may add: 1.5 GiB, for files of some kilobytes


def grown(draw, path):
    """A chain of operators that enlarge a constant, or the value of the network, and a product at the end."""
    nodes, arrays = [], {"w": np.eye(8, dtype=np.float32)}
    at, of_value = {"constant": "w", "value": "x"}, "value"
    for number in range(int(draw.integers(1, 14))):
        of_value = str(draw.choice(["constant", "value"]))
        given, out = at[of_value], f"n{number}"
        kind = str(draw.choice(["Concat", "Gather", "Tile", "Expand", "Pad", "Unsqueeze", "Relu", "Add"]))
        copies = int(draw.choice([2, 16, 64, 4096]))
        if kind == "Concat":
            nodes.append(helper.make_node(kind, [given] * min(copies, 64), [out], axis=int(draw.integers(0, 2))))
        elif kind == "Relu":
            nodes.append(helper.make_node(kind, [given], [out]))
        elif kind == "Add":
            nodes.append(helper.make_node(kind, [given, given], [out]))
        else:
            arrays[f"a{number}"] = {
                "Gather": np.zeros(copies, np.int64),
                "Tile": np.array([1, copies], np.int64),
                "Expand": np.array([copies, 1, 1], np.int64),
                "Pad": np.array([0, 0, 0, copies * 1000], np.int64),
                "Unsqueeze": np.array([0], np.int64),
            }[kind]
            how = {"axis": int(draw.integers(0, 2))} if kind == "Gather" else {}
            nodes.append(helper.make_node(kind, [given, f"a{number}"], [out], **how))
        at[of_value] = out
    nodes.append(helper.make_node("MatMul", [at["value"], at["constant"]], ["y"]))
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [None, 8]), ("y", None))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [numpy_helper.from_array(a, n) for n, a in arrays.items()]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def test_files_that_grow_are_read_or_an_error(attack, tmp_path):
    draw, errors = attack.generator(90), 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in attack.rounds(40):
        grown(draw, tmp_path / "net.onnx")
        try:
            read_any_network(tmp_path / "net.onnx")
        except TutelageError:
            errors += 1
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST, number
    assert errors
