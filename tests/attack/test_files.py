"""Damaged files: each is one error in a sentence, or is read as exactly what another reader finds in it."""

import gzip
import io
import json
import pickle
import tarfile
import warnings
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.torch import load as arrays_of
from safetensors.torch import save as to_bytes

from tutelage import TutelageError
from tutelage.autoencoders import MutualAutoencoder, sentence_models
from tutelage.autoencoders.sentence_training import load_sentences, save_sentences
from tutelage.cli.points import read_points
from tutelage.data import formats
from tutelage.lab.yaml_file import read_table
from tutelage.networks import Network, load, outputs, read_network, save
from tutelage.networks.activations import slope_of

NUMBERS = [0, 1, -1, 2, 3, 7, 11, 255, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1]


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """Bytes with some of them flipped, lost, doubled, moved, overwritten, or all of them replaced."""
    new = bytearray(data)
    for _ in range(random.integers(1, 4)):
        at, other = (int(i) for i in random.integers(0, len(new) + 1, 2))
        match random.integers(7):
            case 0 if new:
                new[at % len(new)] ^= 1 << int(random.integers(8))
            case 1:
                del new[at:]
            case 2:
                del new[at : at + int(random.integers(1, 20))]
            case 3:
                new[at:at] = random.bytes(int(random.integers(1, 20)))
            case 4:
                new[at:at] = new[other : other + int(random.integers(1, 50))]
            case 5:
                new[at : at + 8] = int(random.choice(NUMBERS)).to_bytes(8, "little", signed=True)
            case 6 if random.random() < 0.1:
                new = bytearray(random.bytes(int(random.integers(0, 200))))
    return bytes(new)


def read_or_sentence(read, *given):
    """What a reader gives, or None where it raised its error: one line, not too long."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of decoders, which may find odd pictures odd
            return read(*given)
    except TutelageError as refusal:
        said = str(refusal)
    assert "\n" not in said
    assert len(said) < 2000
    return None


def random_network(random, members=2):
    widths = random.integers(1, 5, random.integers(2, 5)).tolist()
    draw = lambda *shape: torch.from_numpy(random.normal(size=shape))  # noqa: E731
    pairs = list(pairwise(widths))
    weights = tuple(draw(members, i, o) for i, o in pairs)
    biases = tuple(draw(members, o) for _, o in pairs) if random.random() < 0.5 else None
    activation = str(random.choice(["relu", "leaky", "abs"]))
    return Network(weights, biases, activation, slope_of(activation, 0.25))


def same_arrays(network, arrays):
    found = {f"weights.{i}": w for i, w in enumerate(network.weights, 1)}
    found |= {f"biases.{i}": b for i, b in enumerate(network.biases or (), 1)}
    return found.keys() == arrays.keys() and all(
        torch.equal(found[n], arrays[n]) or arrays[n].isnan().any() for n in found
    )


def test_network_files(attack, tmp_path):
    random, path, read = attack.generator(1), tmp_path / "net.safetensors", 0
    for _ in attack.rounds(400):
        save(random_network(random), path)
        path.write_bytes(damaged(path.read_bytes(), random))
        found = read_or_sentence(load, path)
        assert found is None or same_arrays(found, arrays_of(path.read_bytes()))
        read += found is not None
    assert read


def test_descriptions_of_network_files(attack, tmp_path):
    """Sound arrays with a description of any values."""
    random, path = attack.generator(2), tmp_path / "net.safetensors"
    for _ in attack.rounds(300):
        network = random_network(random)
        about = {"format": "tutelage-network-1", "activation": "relu", "slope": 0.25, "depth": network.depth}
        name = str(random.choice([*about, "other"]))
        about[name] = any_value(random)
        arrays = {f"weights.{i}": w.contiguous() for i, w in enumerate(network.weights, 1)}
        if random.random() < 0.3:
            arrays[f"weights.{random.integers(1, 6)}"] = torch.zeros(
                random.integers(0, 3, random.integers(0, 5)).tolist()
            )
        if random.random() < 0.2:
            arrays = {n: a.to(random_type(random)) for n, a in arrays.items()}
        path.write_bytes(to_bytes(arrays, {"tutelage": json.dumps(about)}))
        found = read_or_sentence(read_network, path)
        assert found is None or same_arrays(found, arrays)


ANY = [*NUMBERS, None, True, "relu", "", "3", [], {}, [1], {"a": 1}, 0.5, -0.5, float("nan"), float("inf"), 10**400]


def any_value(random):
    return ANY[random.integers(len(ANY))]


def random_type(random) -> torch.dtype:
    kinds = ["complex64", "int8", "uint8", "int64", "bool", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16"]
    return getattr(torch, str(random.choice(kinds)))


def test_arrays_of_torch_models(attack, tmp_path):
    """Names, sizes and types at random: what is read has the arrays in an order that the names or sizes give."""
    random, path, read = attack.generator(3), tmp_path / "net.safetensors", 0
    names = ["0", "1", "2", "10", "fc1", "fc2", "fc10", "body", "head", "net.0", "net.2", "block.0", "skip", "a.b.c"]
    for _ in attack.rounds(600):
        widths = random.integers(1, 4, 4).tolist()
        chosen = random.choice(names, random.integers(1, 4), replace=False).tolist()
        arrays = {f"{n}.weight": torch.randn(widths[i + 1], widths[i]) for i, n in enumerate(chosen)}
        if random.random() < 0.3:
            arrays[f"{random.choice(names)}.bias"] = torch.randn(int(random.integers(0, 4)))
        if random.random() < 0.1:
            arrays = {n: a.to(random_type(random)) for n, a in arrays.items()}
        path.write_bytes(damaged(to_bytes(arrays), random) if random.random() < 0.3 else to_bytes(arrays))
        found = read_or_sentence(read_network, path)
        if found is not None:
            held = arrays_of(path.read_bytes())
            layers = [w[0].T for w in found.weights]
            stored = [a for n, a in held.items() if n.endswith(".weight")]
            assert len(layers) == len(stored)
            assert all(any(w.shape == a.shape and torch.equal(w, a) for a in stored) or w.isnan().any() for w in layers)
            read += 1
    assert read


def test_points_and_pickles(attack, tmp_path):
    random, path = attack.generator(4), tmp_path / "points.safetensors"
    for round_ in attack.rounds(200):
        path.write_bytes(damaged(to_bytes({"points": torch.randn(4, 3)}), random))
        read_or_sentence(read_points, path)
        content = pickle.dumps({"0.weight": [1.0] * int(random.integers(1, 9))}, protocol=round_ % 6)
        path.write_bytes(content if round_ % 2 else damaged(content, random))
        assert read_or_sentence(read_network, path) is None


def test_experiments(attack, tmp_path):
    random, path = attack.generator(5), tmp_path / "settings.yaml"
    text = b"teacher: {kind: levels, inputs: 6}\nseeds: &s [1, 2]\nrecord: {at: *s}\ntraining: {learning_rate: 1e-3}\n"
    for _ in attack.rounds(400):
        path.write_bytes(damaged(text, random))
        found = read_or_sentence(read_table, path)
        assert found is None or isinstance(found, dict)


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def test_idx_files(attack, tmp_path):
    """A plain file is read as its own head says, and only if it has the bytes for it."""
    random = attack.generator(6)
    arrays = [np.ones(s, np.uint8) for s in ((3, 4, 4), (3,), (2, 4, 4), (2,))]
    names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
    for round_ in attack.rounds(300):
        packed = round_ % 2 == 0
        for name, array in zip(names, arrays, strict=True):
            whole = gzip.compress(idx_bytes(array), 1) if packed else idx_bytes(array)
            (tmp_path / f"{name}{'.gz' if packed else ''}").write_bytes(whole)
        victim = tmp_path / f"{names[random.integers(4)]}{'.gz' if packed else ''}"
        victim.write_bytes(damaged(victim.read_bytes(), random))
        found = read_or_sentence(formats.idx, tmp_path)
        assert found is None or [a.ndim for a in found] == [4, 1, 4, 1]
        for name in names:
            (tmp_path / f"{name}.gz").unlink(missing_ok=True)
            (tmp_path / name).unlink(missing_ok=True)


def test_cifar_files(attack, tmp_path):
    random = attack.generator(7)
    rows = random.integers(0, 10, (2, 3073), dtype=np.uint8).tobytes()
    names = [f"cifar-10-batches-bin/{n}.bin" for n in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")]
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = len(rows)
            tar.addfile(entry, io.BytesIO(rows))
    for _ in attack.rounds(150):
        (tmp_path / "cifar-10-binary.tar.gz").write_bytes(damaged(whole.getvalue(), random))
        found = read_or_sentence(formats.cifar10_binary, tmp_path)
        assert found is None or (found[0].ndim, found[1].shape) == (4, found[0].shape[:1])


def test_sheets(attack, tmp_path):
    from PIL import Image

    random, made = attack.generator(8), io.BytesIO()
    Image.fromarray(random.integers(0, 255, (2, 1024, 3), dtype=np.uint8)).save(made, "png")
    files = [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png", "train_lables.json", "test_lables.json"]
    for _ in attack.rounds(100):
        for file in files:
            count = 10 if file.startswith("train") else 2
            (tmp_path / file).write_bytes(made.getvalue() if file.endswith("png") else json.dumps([1] * count).encode())
        victim = tmp_path / str(random.choice(files))
        victim.write_bytes(damaged(victim.read_bytes(), random))
        read_or_sentence(formats.cifar10_sheets, tmp_path)


def test_models_of_sentences(attack, tmp_path):
    random, path = attack.generator(9), tmp_path / "model"
    save_sentences(sentence_models([0], 4, 3, latent=2, hidden=3, embedding=2), ["", "<unknown>", "a", "b"], path)
    whole = path.read_bytes()
    sizes = {"members": 1, "longest": 3, "latent": 2, "hidden": 3, "embedding": 2}
    for round_ in attack.rounds(200):
        if round_ % 2:
            told = {"sizes": json.dumps(sizes), "words": json.dumps(["", "<unknown>", "a", "b"])}
            told[str(random.choice(["sizes", "words"]))] = json.dumps(any_value(random))
            if round_ % 4 == 1:
                told["sizes"] = json.dumps(sizes | {str(random.choice([*sizes, "more"])): any_value(random)})
            path.write_bytes(to_bytes(arrays_of(whole), told))
        else:
            path.write_bytes(damaged(whole, random))
        read_or_sentence(load_sentences, path)


def test_autoencoders(attack, tmp_path):
    random, path = attack.generator(11), tmp_path / "model"
    parts = {name: torch.nn.Linear(2, 4) for name in ("encoder", "decoder", "estimator")}
    arrays = {f"{name}.{key}": a for name, part in parts.items() for key, a in part.state_dict().items()}
    about = {"kind": "normal", "target": 1.0, "penalty": 1.0, "latent": 2, "beta": 1.0, "warm_up": 0, "resample": 1}
    for _ in attack.rounds(200):
        told = about | {str(random.choice([*about, "free_bits", "gradient"])): any_value(random)}
        text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in told.items()}
        path.write_bytes(to_bytes(arrays, text))
        read_or_sentence(MutualAutoencoder.load, path, parts["encoder"], parts["decoder"], parts["estimator"])


onnx = pytest.importorskip("onnx")


def random_model(random):
    from onnx import TensorProto, helper, numpy_helper

    f = lambda *shape: random.normal(size=shape).astype(np.float32)  # noqa: E731
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "k", "c"], ["h0"], pads=[1, 0, 0, 1], strides=[1, 2]),
        node("BatchNormalization", ["h0", "g", "s", "m", "u"], ["h1"], epsilon=1e-3),
        node("Relu", ["h1"], ["h2"]),
        node("Flatten", ["h2"], ["h3"]) if random.random() < 0.5 else node("Reshape", ["h3s", "z"], ["h3"]),
        node("Gemm", ["h3", "w", "b"], ["h4"], alpha=0.5, transB=1),
        node("Relu", ["h4"], ["h5"]),
        node("MatMul", ["h5", "v"], ["h6"]),
        node("Add", ["h6", "a"], ["y"]),
    ]
    if nodes[3].op_type == "Reshape":
        nodes[3].input[0] = "h2"
    arrays = {
        "k": f(2, 1, 2, 2),
        "c": f(2),
        "g": f(2),
        "s": f(2),
        "m": f(2),
        "u": f(2) ** 2 + 0.1,
        "w": f(3, 12),
        "b": f(3),
    }
    arrays |= {"v": f(3, 2), "a": f(1, 2), "z": np.array([0, -1])}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, name) for name, a in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def messages(message):
    """A message and all inside it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                yield from messages(part)


def changed(model, random):
    """One field of a model cleared, doubled, moved or given another value; names stay among those in use."""
    parts = list(messages(model))
    part = parts[random.integers(len(parts))]
    fields = list(part.DESCRIPTOR.fields)
    field = fields[random.integers(len(fields))]
    names = [
        "x",
        "y",
        "w",
        "h2",
        "h4",
        "",
        "Gemm",
        "Relu",
        "Add",
        "Sub",
        "alpha",
        "axis",
        "Flatten",
        "LeakyRelu",
        "new",
    ]
    value = {
        field.CPPTYPE_INT32: lambda: int(random.choice([0, 1, 2, 7, 11, 14, 16, 99])),
        field.CPPTYPE_INT64: lambda: int(random.choice([0, 1, 2, 3, 4, 12, -1, 2**40])),
        field.CPPTYPE_UINT64: lambda: 1,
        field.CPPTYPE_FLOAT: lambda: float(random.choice([0, 1, -1, 2.5, np.nan, 1e30])),
        field.CPPTYPE_DOUBLE: lambda: 1.5,
        field.CPPTYPE_ENUM: lambda: int(random.choice(field.enum_type.values).number),
        field.CPPTYPE_STRING: lambda: random.bytes(8) if field.type == field.TYPE_BYTES else str(random.choice(names)),
    }.get(field.cpp_type)
    if field.is_repeated:
        several = getattr(part, field.name)
        kind = random.integers(4)
        if kind == 0 and len(several):
            del several[int(random.integers(len(several)))]
        elif kind == 1 and len(several):
            several.append(several[int(random.integers(len(several)))])
        elif kind == 2 and len(several) > 1:
            moved = [several[i] for i in random.permutation(len(several))]
            copies = [m if value else type(m).FromString(m.SerializeToString()) for m in moved]
            part.ClearField(field.name)
            several.extend(copies)
        elif value and len(several):
            several[int(random.integers(len(several)))] = value()
    elif value is None or random.random() < 0.3:
        part.ClearField(field.name)
    else:
        setattr(part, field.name, value())


def reference(data: bytes, x: np.ndarray):
    """What onnx's own evaluator makes of a model; None where it cannot."""
    from onnx.reference import ReferenceEvaluator

    try:
        model = onnx.load_from_string(data)
        if model.opset_import[0].version < 14:  # there the evaluator normalises by the statistics of the batch
            return None
        with np.errstate(all="ignore"):
            (y,) = ReferenceEvaluator(model).run(None, {"x": x})
        return np.asarray(y, np.float64).reshape(len(x), -1)
    except Exception:  # whatever a damaged model makes of the evaluator
        return None


def test_onnx_models(attack, tmp_path):
    """A changed model is an error, or computes what the reference evaluator computes."""
    random, path, compared = attack.generator(10), tmp_path / "net.onnx", 0
    x = random.normal(size=(3, 1, 3, 4)).astype(np.float32)
    for round_ in attack.rounds(300):
        model = random_model(random)
        for _ in range(round_ % 3):
            changed(model, random)
        try:
            data = model.SerializeToString()
        except ValueError:
            continue
        path.write_bytes(damaged(data, random) if round_ % 4 == 3 else data)
        found = read_or_sentence(read_network, path)
        if found is None:
            continue
        wanted = reference(path.read_bytes(), x)
        if wanted is not None and found.inputs == 12:
            got = outputs(found, torch.from_numpy(x).flatten(1).to(found.dtype))[0].double().numpy()
            scale = 1 + np.abs(wanted).max()
            assert got.shape == wanted.shape
            assert np.abs(got - wanted).max() <= 1e-4 * scale
            compared += 1
    assert compared >= 50
