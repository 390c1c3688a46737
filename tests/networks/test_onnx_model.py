"""Malformed ONNX models: each is one sentence, and none is read as another network."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import load_onnx

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, external_data_helper, helper, numpy_helper  # noqa: E402


def sound(nodes=None, shape=("N", 3), opset=17, **arrays):
    """A model that is read: x [N, 3] -> Gemm -> Relu -> Gemm -> y [N, 2], or other nodes."""
    normal = np.random.default_rng(0).normal
    arrays = {
        "w": normal(size=(3, 4)).astype(np.float32),
        "b": normal(size=4).astype(np.float32),
        "v": normal(size=(4, 2)).astype(np.float32),
    } | arrays
    graph = helper.make_graph(
        nodes
        or [
            helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="first"),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("Gemm", ["r", "v"], ["y"], name="last"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, name) for name, a in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def changed(**fields):
    """A sound model with one field of its parts changed: initializer, node or graph, by a function each."""
    model = sound()
    for part, change in fields.items():
        change({"array": model.graph.initializer[0], "node": model.graph.node[0]}.get(part, model))
    return model


def one(operator, *names, shape=("N", 3), arrays=None, opset=17, outputs=("y",), **attributes):
    node = helper.make_node(operator, ["x", *names], list(outputs), **attributes)
    return sound([node], shape, opset, **(arrays or {}))


IMAGE = ("N", 2, 5, 5)
KERNEL = {"k": np.ones((4, 2, 3, 3), np.float32)}
NORM = {name: np.ones(3, np.float32) for name in ("g", "s", "m", "u")}


CORPUS = {
    "another domain": lambda: changed(node=lambda n: setattr(n, "domain", "com.example")),
    "a local function": lambda: changed(model=lambda m: m.functions.append(
        helper.make_function("", "Gemm", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], m.opset_import))),
    "no opset": lambda: changed(model=lambda m: m.ClearField("opset_import")),
    "an old opset": lambda: sound(opset=6),
    "an unknown operator": lambda: one("Softmax"),
    "training-mode normalisation": lambda: one("BatchNormalization", *"gsmu", arrays=NORM, training_mode=1),
    "normalisation with batch statistics": lambda: one(
        "BatchNormalization", *"gsmu", arrays=NORM, opset=9, outputs=("y", "mean", "var")),
    "normalisation per pixel": lambda: one("BatchNormalization", *"gsmu", arrays=NORM, opset=7, spatial=0),
    "normalisation of another width": lambda: one(
        "BatchNormalization", *"gsmu", arrays=NORM | {"g": np.ones(1, np.float32)}),
    "a negative variance": lambda: one("BatchNormalization", *"gsmu", arrays=NORM | {"u": -np.ones(3, np.float32)}),
    "training-mode dropout": lambda: one("Dropout", "p", "t", arrays={"p": np.float32(0.5), "t": np.array(True)}),
    "missing weights": lambda: changed(model=lambda m: m.graph.initializer.pop(0)),
    "weights of rank 3": lambda: sound(w=np.ones((3, 4, 1), np.float32)),
    "weights of rank 0": lambda: sound(w=np.float32(1)),
    "complex weights": lambda: sound(w=np.ones((3, 4), np.complex64) * 1j),
    "integer weights": lambda: sound(w=np.ones((3, 4), np.int64)),
    "boolean weights": lambda: sound(w=np.ones((3, 4), bool)),
    "text weights": lambda: changed(array=lambda a: a.CopyFrom(
        helper.make_tensor("w", TensorProto.STRING, [1], [b"one"]))),
    "float8 weights": lambda: changed(array=lambda a: a.CopyFrom(
        helper.make_tensor("w", TensorProto.FLOAT8E4M3FN, [3, 4], np.ones(12)))),
    "weights in mixed precision": lambda: sound(w=np.ones((3, 4))),
    "weights that are not finite": lambda: sound(w=np.full((3, 4), np.nan, np.float32)),
    "weights that multiply beyond all numbers": lambda: sound(
        [helper.make_node("Gemm", ["x", "w"], ["h"]), helper.make_node("Gemm", ["h", "v"], ["y"])],
        w=np.full((3, 4), 1e30, np.float32), v=np.full((4, 2), 1e30, np.float32)),
    "an unknown type of weights": lambda: changed(array=lambda a: setattr(a, "data_type", 999)),
    "no type of weights": lambda: changed(array=lambda a: setattr(a, "data_type", 0)),
    "a negative size": lambda: changed(array=lambda a: a.dims.__setitem__(0, -1)),
    "a zero size": lambda: sound(w=np.ones((3, 0), np.float32), b=np.ones(0, np.float32)),
    "a huge size": lambda: changed(array=lambda a: a.dims.extend([2**62, 4])),
    "too few bytes": lambda: changed(array=lambda a: setattr(a, "raw_data", a.raw_data[:-3])),
    "segments": lambda: changed(array=lambda a: setattr(a.segment, "begin", 1)),
    "a name given twice": lambda: changed(model=lambda m: m.graph.initializer.append(m.graph.initializer[0])),
    "an output given twice": lambda: changed(model=lambda m: m.graph.node.append(m.graph.node[0])),
    "an output that is a constant": lambda: changed(node=lambda n: n.output.__setitem__(0, "w")),
    "a nameless output": lambda: changed(node=lambda n: n.output.__setitem__(0, "")),
    "no output of a node": lambda: changed(node=lambda n: n.ClearField("output")),
    "a cycle": lambda: sound(
        [helper.make_node("Relu", ["z"], ["h"]), helper.make_node("Gemm", ["h", "w"], ["z"])]),
    "nodes in the wrong order": lambda: changed(model=lambda m: m.graph.node.insert(0, m.graph.node.pop())),
    "too few inputs": lambda: changed(node=lambda n: n.input.__delitem__(slice(1, 3))),
    "too many inputs": lambda: changed(node=lambda n: n.input.extend(["w", "w"])),
    "a missing first input": lambda: changed(node=lambda n: n.input.__setitem__(0, "")),
    "a constant in the first place": lambda: sound(
        [helper.make_node("Conv", ["k", "k", "x"], ["y"])], IMAGE, **KERNEL),
    "an attribute of another type": lambda: changed(node=lambda n: n.attribute.append(
        helper.make_attribute("alpha", "much"))),
    "an attribute twice": lambda: changed(node=lambda n: n.attribute.extend(
        [helper.make_attribute("alpha", 1.0), helper.make_attribute("alpha", 2.0)])),
    "an unknown attribute": lambda: changed(node=lambda n: n.attribute.append(helper.make_attribute("beta2", 1.0))),
    "an attribute of no type": lambda: changed(node=lambda n: n.attribute.add(name="alpha", f=2.0)),
    "an attribute by reference": lambda: changed(node=lambda n: n.attribute.add(
        name="alpha", type=1, ref_attr_name="other")),
    "a bias down the batch": lambda: one("Gemm", "w", "c", arrays={"c": np.ones((4, 1), np.float32)}),
    "a bias of another width": lambda: sound(b=np.ones(3, np.float32)),
    "a sum that widens the samples": lambda: one("Add", "c", shape=("N", 1), arrays={"c": np.ones((4, 1), np.float32)}),
    "a sum of two axes": lambda: one("Add", "c", arrays={"c": np.ones((2, 3), np.float32)}),
    "a Constant without a value": lambda: sound(
        [helper.make_node("Constant", [], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])]),
    "a Constant of text": lambda: sound([
        helper.make_node("Constant", [], ["c"], value_string="s"), helper.make_node("Add", ["x", "c"], ["y"])]),
    "a convolution of too few strides": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, strides=[1]),
    "a convolution with stride 0": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, strides=[0, 1]),
    "a convolution with negative pads": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, pads=[-1, 0, 0, 0]),
    "a convolution with huge pads": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, pads=[2**40, 0, 0, 0]),
    "a convolution with another kernel": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, kernel_shape=[2, 2]),
    "a convolution of no groups": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, group=0),
    "a convolution in 3 groups": lambda: one("Conv", "k", shape=IMAGE, arrays=KERNEL, group=3),
    "a convolution with one bias": lambda: one(
        "Conv", "k", "c", shape=IMAGE, arrays=KERNEL | {"c": np.ones(1, np.float32)}),
    "a kernel larger than the image": lambda: one("Conv", "k", shape=("N", 2, 2, 2), arrays=KERNEL),
    "a convolution padded two ways": lambda: one(
        "Conv", "k", shape=IMAGE, arrays=KERNEL, auto_pad="VALID", pads=[1, 1, 1, 1]),
    "a Reshape over the batch": lambda: one("Reshape", "s", shape=("N", 2, 3), arrays={"s": np.array([1, -1])}),
    "a Reshape by two guesses": lambda: one("Reshape", "s", shape=("N", 2, 3), arrays={"s": np.array([-1, -1])}),
    "a Reshape by numbers": lambda: one("Reshape", "s", shape=("N", 6), arrays={"s": np.array([0.0, -1.0])}),
    "an input that is a single number": lambda: sound(shape=()),
    "an input of unknown images": lambda: sound(shape=("N", "T", 3)),
    "an input of negative size": lambda: sound(shape=("N", -3)),
    "an input of whole numbers": lambda: changed(model=lambda m: setattr(
        m.graph.input[0].type.tensor_type, "elem_type", TensorProto.INT64)),
    "an input that is no array": lambda: changed(model=lambda m: m.graph.input[0].ClearField("type")),
    "no input": lambda: changed(model=lambda m: m.graph.ClearField("input")),
    "no output": lambda: changed(model=lambda m: m.graph.ClearField("output")),
    "two outputs": lambda: changed(model=lambda m: m.graph.output.append(m.graph.output[0])),
    "an output that nothing gives": lambda: changed(model=lambda m: setattr(m.graph.output[0], "name", "z")),
    "no graph": lambda: changed(model=lambda m: m.ClearField("graph")),
    "a slope above 1": lambda: one("LeakyRelu", alpha=2.0),
    "a slope that is no number": lambda: one("LeakyRelu", alpha=float("nan")),
    "too wide an activation": lambda: one("Relu", shape=("N", 10**6)),
    "a product too wide": lambda: sound(
        [helper.make_node("Gemm", ["x", "w"], ["h"]), helper.make_node("Gemm", ["h", "v"], ["y"])],
        ("N", 10**5), w=np.ones((10**5, 1), np.float32), v=np.ones((1, 10**5), np.float32)),
}  # fmt: skip


def write(model, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def test_the_sound_model_is_read(tmp_path):
    assert load_onnx(write(sound(), tmp_path / "net.onnx")).widths == (3, 4, 2)


@pytest.mark.parametrize("name", CORPUS)
def test_a_malformed_model_is_one_sentence(tmp_path, name):
    path = write(CORPUS[name](), tmp_path / "net.onnx")
    with pytest.raises(TutelageError) as said:
        load_onnx(path)
    assert "\n" not in str(said.value)


def test_a_fixed_batch_may_be_named_in_a_reshape(tmp_path):
    nodes = [helper.make_node("Reshape", ["x", "s"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])]
    for batch, shape in ((1, [1, -1]), (1, [1, 6]), ("N", [0, -1]), ("N", [-1, 6])):
        model = sound(nodes, (batch, 2, 3), s=np.array(shape), w=np.ones((6, 2), np.float32))
        assert load_onnx(write(model, tmp_path / "net.onnx")).widths == (6, 2)


def outside(folder: Path, value: float, location: str = "weights.bin") -> Path:
    """A model whose weights, all of one value, lie beside it."""
    folder.mkdir(exist_ok=True)
    model = sound(w=np.full((3, 4), value, np.float32))
    tensor = model.graph.initializer[0]
    (folder / "weights.bin").write_bytes(b"head" + tensor.raw_data)
    external_data_helper.set_external_data(tensor, location, offset=4, length=48)
    tensor.ClearField("raw_data")
    return write(model, folder / "net.onnx")


def test_external_data_is_read_beside_the_model_wherever_one_stands(tmp_path, monkeypatch):
    first, second = outside(tmp_path / "one", 1.0), outside(tmp_path / "two", 2.0)
    monkeypatch.chdir(tmp_path / "two")
    assert torch.equal(load_onnx(first).weights[0], torch.full((1, 3, 4), 1.0))
    assert torch.equal(load_onnx("net.onnx").weights[0], torch.full((1, 3, 4), 2.0))
    assert torch.equal(load_onnx(second).weights[0], torch.full((1, 3, 4), 2.0))


@pytest.mark.parametrize("location", ["../two/weights.bin", "none.bin", "", "link.bin", "folder", "one\0two", "."])
def test_external_data_elsewhere_is_an_error(tmp_path, monkeypatch, location):
    outside(tmp_path / "two", 2.0)
    path = outside(tmp_path / "one", 1.0, location)
    (tmp_path / "one" / "link.bin").symlink_to(tmp_path / "two" / "weights.bin")
    (tmp_path / "one" / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "two")
    with pytest.raises(TutelageError, match="the array w lies in"):
        load_onnx(path)
    with pytest.raises(TutelageError, match="the array w lies in"):
        load_onnx(outside(tmp_path / "one", 1.0, str(tmp_path / "two" / "weights.bin")))


@pytest.mark.parametrize(("key", "value"), [("offset", "-4"), ("offset", "x"), ("length", "49"), ("length", "44")])
def test_external_data_that_does_not_fit_is_an_error(tmp_path, key, value):
    path = outside(tmp_path / "one", 1.0)
    model = onnx.load(str(path), load_external_data=False)
    next(e for e in model.graph.initializer[0].external_data if e.key == key).value = value
    with pytest.raises(TutelageError, match="array w"):
        load_onnx(write(model, path))
