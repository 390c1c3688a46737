"""`tutelage check` for continuous integration: exit codes, words, certificates."""

import hashlib
import json
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tutelage.cli import main
from tutelage.networks import Network, load, save
from tutelage.networks.exporting import save_onnx


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "check", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    """net: 3-8-2 in float32; half: its weights rounded to float16; broken: one weight of layer 2 changed; data."""
    torch.manual_seed(0)
    net = Network((torch.randn(1, 3, 8) / 2, torch.randn(1, 8, 2) / 3), (torch.randn(1, 8), torch.randn(1, 2)))
    broken = net.map(lambda a: a.clone())
    broken.weights[1][0, 2, 1] += 1
    nets = {"net": net, "half": net.map(lambda a: a.half().float()), "broken": broken}
    for name, network in nets.items():
        save(network, tmp_path / f"{name}.safetensors")
    save_file({"points": torch.rand(50, 3) * 2 - 1}, tmp_path / "data.safetensors")
    return {path.stem: path for path in tmp_path.iterdir()}


def test_rounded_weights_pass_a_wide_tolerance_with_a_proof(capsys, monkeypatch, files, tmp_path):
    page = tmp_path / "certificate.html"
    words = files["net"], files["half"], "--box", -1, 1, "--tolerance", 0.02, "--data", files["data"], "--report", page
    code, said = run(capsys, monkeypatch, *words)
    assert code == 0
    assert "passes: tolerance 0.02" in said.out
    assert "differs by at most" in said.out
    assert hashlib.sha256(files["net"].read_bytes()).hexdigest() in page.read_text()


def test_a_changed_weight_fails_and_is_placed(capsys, monkeypatch, files, tmp_path):
    record = tmp_path / "certificate.json"
    words = files["net"], files["broken"], "--data", files["data"], "--report", record, "--json"
    code, said = run(capsys, monkeypatch, *words)
    assert code == 1
    found = json.loads(said.out)
    assert found == json.loads(record.read_text())
    assert found["verdict"] == "fails"
    assert found["parting_layer"] == 2
    assert max(found["max_difference_per_output"]) <= max(found["at_most_per_output"])


def test_a_certificate_covers_weights_beside_the_file(capsys, monkeypatch, files, tmp_path):
    onnx = pytest.importorskip("onnx")
    save_onnx(load(files["net"]), tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx")
    onnx.save(model, tmp_path / "big.onnx", save_as_external_data=True, location="big.onnx.data", size_threshold=0)
    record = tmp_path / "certificate.json"
    words = tmp_path / "net.onnx", tmp_path / "big.onnx", "--box", -1, 1, "--report", record
    held = []
    for _ in range(2):
        run(capsys, monkeypatch, *words)
        held.append(json.loads(record.read_text())["files"])
        data = tmp_path / "big.onnx.data"
        weights = np.frombuffer(data.read_bytes(), np.float32) * np.float32(1.5)
        data.write_bytes(weights.tobytes())
    first, second = (files_["exported"] for files_ in held)
    assert "external" not in held[0]["original"]
    assert first["sha256"] == second["sha256"]
    assert first["external"].keys() == {"big.onnx.data"}
    assert first["external"] != second["external"]


def test_a_certificate_says_which_units_a_file_was_read_with(capsys, monkeypatch, files, tmp_path):
    arrays = {
        "0.weight": torch.eye(3),
        "0.bias": torch.zeros(3),
        "2.weight": torch.ones(2, 3),
        "2.bias": torch.zeros(2),
    }
    plain = tmp_path / "plain.safetensors"
    save_file(arrays, plain)
    words = "--activation", "leaky", "--slope", 0.25, "--box", -1, 1, "--json"
    code, said = run(capsys, monkeypatch, plain, plain, *words)
    assert code == 0
    assert {file["units"] for file in json.loads(said.out)["files"].values()} == {"leaky, slope 0.25"}
    _, said = run(capsys, monkeypatch, plain, files["net"], "--box", -1, 1, "--json")
    assert {file["units"] for file in json.loads(said.out)["files"].values()} == {"relu"}


def test_a_row_outside_the_box_that_differs_is_printed(capsys, monkeypatch, tmp_path):
    one = torch.ones(1, 1, 1)
    for name, bias in (("net", -5.0), ("late", -6.0)):  # relu(x - 5) and relu(x - 6) are 0 on the box
        save(Network((one, one), (torch.full((1, 1), bias), torch.zeros(1, 1))), tmp_path / f"{name}.safetensors")
    save_file({"points": torch.tensor([[0.0], [7.5], [0.5]])}, tmp_path / "data.safetensors")
    words = [tmp_path / f"{name}.safetensors" for name in ("net", "late")]
    words += ["--data", tmp_path / "data.safetensors", "--box", -1, 1]
    code, said = run(capsys, monkeypatch, *words)
    assert code == 1
    assert "worst input found, row 1 of the data (from 0), outside the box: 7.5" in said.out
    assert "largest difference found in the box: 0" in said.out
    code, said = run(capsys, monkeypatch, *words, "--json")
    found = json.loads(said.out)
    assert (found["worst_row"], found["worst_input"], found["worst_input_outside"]) == (1, [7.5], True)
    assert found["parting_layer"] == 1
    assert "worst input found in the box" in run(capsys, monkeypatch, *words[:4], "--box", -1, 5.5)[1].out


@pytest.mark.parametrize(
    ("words", "why"),
    [([], "needs inputs"), (["--box", "0", "1", "--report", "a.txt"], ".json or .html"),
     (["--box", "0", "1", "--tolerance", "-1"], "tolerance must be")],
)  # fmt: skip
def test_bad_input_is_one_sentence_with_code_2(capsys, monkeypatch, files, words, why):
    code, said = run(capsys, monkeypatch, files["net"], files["half"], *words)
    assert code == 2
    assert why in said.err


def test_quantised_activations_are_bounded_where_asked(capsys, monkeypatch, tmp_path):
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = {"w": torch.linspace(-1, 1, 12).view(3, 4).numpy(), "v": torch.linspace(1, -1, 8).view(4, 2).numpy()}
    scales = {"s": torch.tensor(0.02).numpy(), "z": torch.tensor(128, dtype=torch.uint8).numpy()}
    arrays = [onnx.numpy_helper.from_array(a, name) for name, a in (weights | scales).items()]
    for name, inside in (("plain", []), ("int8", ["QuantizeLinear", "DequantizeLinear"])):
        nodes = [make.make_node("MatMul", ["x", "w"], ["h"]), make.make_node("Relu", ["h"], ["r0"])]
        nodes += [make.make_node(op, [f"r{k}", "s", "z"], [f"r{k + 1}"]) for k, op in enumerate(inside)]
        nodes += [make.make_node("MatMul", [f"r{len(inside)}", "v"], ["y"])]
        ends = make.make_tensor_value_info("x", kind, ["N", 3]), make.make_tensor_value_info("y", kind, ["N", 2])
        graph = make.make_graph(nodes, "g", [ends[0]], [ends[1]], arrays)
        onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 21)]), tmp_path / f"{name}.onnx")
    files = tmp_path / "plain.onnx", tmp_path / "int8.onnx"
    code, said = run(capsys, monkeypatch, *files, "--box", -1, 1)
    assert code == 2
    assert "--quantised-activations" in said.err
    asked = "--box", -1, 1, "--quantised-activations", "--seconds", 1
    code, said = run(capsys, monkeypatch, *files, *asked, "--tolerance", 0.1)
    assert code == 0, said.out
    code, said = run(capsys, monkeypatch, *files, *asked, "--tolerance", 0.001)
    assert code == 1
