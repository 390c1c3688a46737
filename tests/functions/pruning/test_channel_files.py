"""Channels that do nothing go from ONNX files, and onnx's own reference evaluator computes the same."""

import warnings

import numpy as np
import pytest
import torch
from tests.functions.matching.test_channels import MAKERS, POINTS, made
from tests.functions.pruning.test_channels import without

from tutelage.errors import InternalError, TutelageError
from tutelage.functions import prune_channels
from tutelage.functions.matching._channel_groups import channel_groups
from tutelage.functions.pruning.channel_files import rerun

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

KINDS = ["Conv", "Relu", "BatchNormalization", "Add", "Mul", "Clip", "Tanh", "Sub", "bias", "factor"]
X = np.random.default_rng(5).normal(size=(3, 2, 6, 6)).astype(np.float32)


def normal(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def model(nodes, arrays, shape=("N", 2, 6, 6), opset=17, out="y"):
    """A model of nodes given as (operator, inputs, output, attributes)."""
    made = [
        helper.make_node(kind, given.split(), made.split(), name=f"{kind}_{made}", **dict(*how))
        for kind, given, made, *how in nodes
    ]
    ends = [helper.make_tensor_value_info(name, 1, s) for name, s in (("x", shape), (out, None))]
    constants = [numpy_helper.from_array(a, name) for name, a in arrays.items()]
    graph = helper.make_graph(made, "g", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def pruned(tmp_path, made, x=X):
    """The pruning of a model, whose outputs the reference evaluator finds unchanged."""
    path = tmp_path / "net.onnx"
    onnx.save(made, path)
    found = prune_channels(path)
    onnx.shape_inference.infer_shapes(found.module, check_type=True, strict_mode=True)
    for before, after in zip(*(ReferenceEvaluator(m).run(None, {"x": x}) for m in (made, found.module)), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-5 * max(1, np.abs(before).max()))
    rerun(path, found.module)
    return found


def silenced(channel=1, bias=-0.5):
    """A convolution from 2 to 4 channels, one of which is a constant."""
    arrays = {"w": normal(4, 2, 3, 3), "b": normal(4), "v": normal(3, 4, 2, 2, seed=1)}
    arrays["w"][channel], arrays["b"][channel] = 0, bias
    return arrays


@pytest.mark.parametrize("folded", [True, False], ids=["folded", "norms"])
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_what_torch_exports_loses_what_the_module_loses(tmp_path, kind, folded):
    module = made(kind, 0).float().eval()
    draw = torch.Generator().manual_seed(1)
    for group in channel_groups(module):
        without(module, group, torch.randperm(group.size, generator=draw)[: 1 + group.size // 3].tolist())
    mode = torch.onnx.TrainingMode.EVAL if folded else torch.onnx.TrainingMode.PRESERVE
    path, x = tmp_path / "net.onnx", POINTS.float()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (x[:1],), path, dynamo=False, do_constant_folding=folded, training=mode,
            input_names=["x"], dynamic_axes={"x": {0: "n"}},
        )  # fmt: skip
    found, reference = prune_channels(path), prune_channels(module)
    assert [*found.removed.values()] == [*reference.removed.values()]
    (after,) = ReferenceEvaluator(found.module).run(None, {"x": x.numpy()})
    np.testing.assert_allclose(after, module(x).detach().numpy(), atol=1e-5)
    assert rerun(path, found.module).largest < 1e-5


def test_a_skip_connection_keeps_what_one_side_uses(tmp_path):
    arrays = silenced() | {"u": normal(4, 4, 1, 1)}
    nodes = [
        ("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Conv", "f u", "g"), ("Add", "g f", "s"), ("Relu", "s", "h"),
        ("Conv", "h v", "y"),
    ]  # fmt: skip
    assert not pruned(tmp_path, model(nodes, arrays)).removed
    arrays["u"][1] = 0
    assert pruned(tmp_path, model(nodes, arrays)).removed == {"Conv_a": (1,)}


def test_constants_per_channel_and_gates(tmp_path):
    # a bias and a factor of their own, a gate from the mean of the channels, and slopes of a PRelu
    arrays = silenced(bias=0.0) | {
        "bias": np.array([1, -1, 0.5, 0], np.float32)[:, None, None], "factor": normal(1, 4, 1, 1),
        "slopes": normal(4, 1, 1), "two": np.float32(2), "axes": np.array([2, 3]),
    }  # fmt: skip
    nodes = [
        ("Conv", "x w", "a"), ("Add", "bias a", "p"), ("Relu", "p", "f"), ("Mul", "f factor", "m"),
        ("Mul", "m two", "d"), ("ReduceMean", "d", "q", {"axes": [2, 3]}), ("Sigmoid", "q", "gate"),
        ("Mul", "d gate", "e"), ("Conv", "e v", "y"),
    ]  # fmt: skip
    found = pruned(tmp_path, model(nodes, arrays))
    assert not found.removed  # 0 times a gate is 0, and is not followed
    plain = [*nodes[:5], ("Conv", "d v", "y")]
    assert pruned(tmp_path, model(plain, arrays)).removed == {"Conv_a": (1,)}
    arrays["v"][:, 2] = 0
    assert pruned(tmp_path, model(nodes, arrays)).removed == {"Conv_a": (2,)}
    sloped = [*nodes[:2], ("PRelu", "p slopes", "d"), *nodes[5:]]
    assert pruned(tmp_path, model(sloped, arrays)).removed == {"Conv_a": (2,)}


@pytest.mark.parametrize("shape", [[0, -1], [-1, 64], [3, 64], [3, -1]], ids=str)
@pytest.mark.parametrize("turned", [0, 1], ids=["plain", "transposed"])
def test_reshapes_and_matrices_behind_them(tmp_path, shape, turned):
    rows = normal(64, 5)
    rows[32:48] = 0
    arrays = silenced() | {"shape": np.array(shape), "m": rows.T.copy() if turned else rows, "c": normal(5)}
    nodes = [
        ("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Reshape", "f shape", "r"),
        ("Gemm", "r m c", "y", {"transB": turned}),
    ]  # fmt: skip
    found = pruned(tmp_path, model(nodes, arrays, shape=(3, 2, 6, 6)))
    assert found.removed == {"Conv_a": (1, 2)}
    if not turned:
        product = [*nodes[:3], ("MatMul", "r m", "z"), ("Add", "z c", "y")]
        assert pruned(tmp_path, model(product, arrays, shape=(3, 2, 6, 6))).removed == {"Conv_a": (1, 2)}


def test_channels_stay_where_an_operator_is_not_followed(tmp_path):
    arrays = silenced() | {"two": normal(2, 2, 3, 3), "big": normal(3, 8, 1, 1), "group": normal(4, 2, 1, 1)}
    head = [("Conv", "x w b", "a"), ("Relu", "a", "f")]
    for tail in (
        [("Concat", "f f", "g", {"axis": 1}), ("Conv", "g big", "y")],
        [("Conv", "f group", "g", {"group": 2}), ("Conv", "g v", "y")],
        [("Transpose", "f", "g", {"perm": [0, 1, 3, 2]}), ("Conv", "g v", "y")],
        [("Softmax", "f", "g", {"axis": 1}), ("Conv", "g v", "y")],
        [("Relu", "f", "y")],
    ):
        assert not pruned(tmp_path, model([*head, *tail], arrays)).removed


def test_sums_that_spread_one_axis_over_another_are_not_followed(tmp_path):
    # [N, 4] added to [N, 4, 4, 4] adds to columns, not to channels
    arrays = silenced()
    nodes = [
        ("Conv", "x w b", "a"), ("Relu", "a", "f"), ("ReduceMean", "f", "m", {"axes": [2, 3], "keepdims": 0}),
        ("Add", "f m", "s"), ("Conv", "s v", "y"),
    ]  # fmt: skip
    assert not pruned(tmp_path, model(nodes, arrays, shape=(4, 2, 6, 6)), X[[0, 1, 2, 0]]).removed


def test_a_clip_keeps_zero_where_its_range_holds_it(tmp_path):
    nodes = [("Conv", "x w b", "a"), ("Clip", "a low high", "f"), ("Conv", "f v", "y")]
    for low, high, bias, removed in ((0, 6, -0.5, True), (-1, 1, 0.0, True), (-1, 1, -0.5, False), (0.5, 1, -1, False)):
        arrays = silenced(bias=bias) | {"low": np.float32(low), "high": np.float32(high)}
        assert bool(pruned(tmp_path, model(nodes, arrays)).removed) == removed


def test_padding_with_zeros_and_with_others(tmp_path):
    nodes = [("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Pad", "f pads value", "p"), ("Conv", "p v", "y")]
    for pads, value, removed in (([0, 0, 1, 1, 0, 0, 1, 1], 0, True), ([0, 0, 1, 1, 0, 0, 1, 1], 2, False)):
        arrays = silenced() | {"pads": np.array(pads), "value": np.float32(value)}
        assert bool(pruned(tmp_path, model(nodes, arrays)).removed) == removed


def test_arrays_that_two_layers_share_are_cut_for_each(tmp_path):
    # exporters store equal arrays once
    w = normal(4, 4, 1, 1)
    w[1] = 0
    arrays = silenced() | {"u": w, "zero": np.zeros(4, np.float32)}
    nodes = [
        ("Conv", "x w zero", "a"), ("Relu", "a", "f"), ("Conv", "f u zero", "g"), ("Relu", "g", "h"),
        ("Conv", "h u zero", "i"), ("Relu", "i", "j"), ("Conv", "j v", "y"),
    ]  # fmt: skip
    arrays["v"][:, 3] = 0
    found = pruned(tmp_path, model(nodes, arrays))
    assert found.removed == {"Conv_a": (1,), "Conv_g": (1,), "Conv_i": (1, 3)}
    assert len({t.name for t in found.module.graph.initializer}) == len(found.module.graph.initializer)


def test_several_outputs_all_keep_their_channels(tmp_path):
    made = model([("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Conv", "f v", "y")], silenced())
    made.graph.output.append(helper.make_tensor_value_info("f", 1, None))
    assert not pruned(tmp_path, made).removed


def test_weights_in_another_file_are_in_the_new_one(tmp_path):
    nodes = [("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Conv", "f v", "y")]
    made = model(nodes, silenced())
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, silenced()), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    found = prune_channels(path)
    assert found.removed == {"Conv_a": (1,)}
    onnx.save(found.module, tmp_path / "elsewhere.onnx")
    (tmp_path / "weights.bin").unlink()
    before, after = (ReferenceEvaluator(m).run(None, {"x": X})[0] for m in (made, str(tmp_path / "elsewhere.onnx")))
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_quantised_weights_and_choices_are_errors(tmp_path):
    arrays = silenced()
    arrays |= {"q": np.round(arrays.pop("v") * 20).astype(np.int8), "scale": np.float32(0.05)}
    nodes = [
        ("DequantizeLinear", "q scale", "v"), ("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Conv", "f v", "y"),
    ]  # fmt: skip
    with pytest.raises(TutelageError, match="prune the model before it is quantised"):
        pruned(tmp_path, model(nodes, arrays))
    body = helper.make_graph(
        [helper.make_node("Relu", ["a"], ["r"])], "then", [], [helper.make_tensor_value_info("r", 1, None)]
    )
    choice = model([("Conv", "x w b", "a"), ("Relu", "a", "y")], silenced() | {"yes": np.array(True)})
    choice.graph.node[1].CopyFrom(helper.make_node("If", ["yes"], ["y"], then_branch=body, else_branch=body))
    with pytest.raises(TutelageError, match="without If, Loop and Scan"):
        pruned(tmp_path, choice)


def test_a_file_that_is_not_what_was_proved_is_an_internal_error(tmp_path):
    nodes = [("Conv", "x w b", "a"), ("Relu", "a", "f"), ("Conv", "f v", "y")]
    onnx.save(model(nodes, silenced()), tmp_path / "net.onnx")
    with pytest.raises(InternalError, match="were said to do nothing"):
        rerun(tmp_path / "net.onnx", model(nodes, silenced() | {"v": normal(3, 4, 2, 2, seed=9)}))


def random_model(seed):
    """A net of convolutions, sums and norms with random zeros and biases."""
    draw = np.random.default_rng(seed)
    nodes, arrays, values = [("Conv", "x w b", "v0")], {"w": normal(4, 2, 3, 3), "b": draw.normal(size=4)}, ["v0"]
    zeros = draw.random(4) < 0.4
    arrays["w"][zeros] = 0
    for step in range(1, 9):
        made, given = f"v{step}", values[-1] if draw.random() < 0.7 else str(draw.choice(values))
        kind = draw.choice(
            ["Conv", "Relu", "BatchNormalization", "Add", "Mul", "Clip", "Tanh", "Sub", "bias", "factor"]
        )
        constant = draw.choice([0, 0, -1, 0.5], size=(4, 1, 1)).astype(np.float32)
        if kind == "Conv":
            w = normal(4, 4, 3, 3, seed=step) / 4
            w[draw.random(4) < 0.4] = 0
            w[:, draw.random(4) < 0.2] = 0
            arrays |= {f"w{step}": w, f"b{step}": constant.ravel()}
            nodes.append((kind, f"{given} w{step} b{step}", made, {"pads": [1, 1, 1, 1]}))
        elif kind == "BatchNormalization":
            rows = {"s": draw.choice([0, 1, -2], size=4), "o": constant.ravel(), "m": draw.choice([0, 0.3], size=4)}
            rows |= {"q": draw.choice([0.5, 1], size=4)}
            arrays |= {f"{name}{step}": row for name, row in rows.items()}
            nodes.append((kind, f"{given} s{step} o{step} m{step} q{step}", made))
        elif kind in ("Add", "Mul", "Sub"):
            nodes.append((kind, f"{given} {draw.choice(values)}", made))
        elif kind in ("bias", "factor"):
            arrays[f"c{step}"] = constant
            nodes.append(("Add" if kind == "bias" else "Mul", f"{given} c{step}", made))
        elif kind == "Clip":
            arrays |= {f"l{step}": np.float32(draw.choice([-1, 0])), f"h{step}": np.float32(1)}
            nodes.append((kind, f"{given} l{step} h{step}", made))
        else:
            nodes.append((kind, given, made))
        values.append(made)
    arrays["end"] = normal(2, 4, 1, 1)
    nodes.append(("Conv", f"{values[-1]} end", "y"))
    return model(nodes, {name: np.asarray(a, np.float32) for name, a in arrays.items()})


def test_random_nets_keep_their_function(tmp_path):
    gone = [sum(map(len, pruned(tmp_path, random_model(seed)).removed.values())) for seed in range(60)]
    assert sum(g > 0 for g in gone) > 10
