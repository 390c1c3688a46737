"""`tutelage prune` writes the smaller network and says what went and why."""

import json
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from tutelage.cli import main
from tutelage.networks import Network, load, outputs, read_network, save


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "prune", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def file(tmp_path):
    """Two members; units 0 and 1 are co-linear, unit 2 is idle in the first, unit 3 never fires on -1 .. 1."""
    w = torch.tensor([[1.0, 2.0, 1.0, 0.5], [-1.0, -2.0, 1.0, 0.5]], dtype=torch.float64).expand(2, -1, -1)
    v = torch.tensor([[[1.0], [1.0], [0.0], [2.0]], [[1.0], [1.0], [1.0], [2.0]]], dtype=torch.float64)
    b = torch.tensor([[0.5, 1.0, 0.0, -3.0]] * 2, dtype=torch.float64)
    save(Network((w.clone(), v), (b, torch.zeros(2, 1, dtype=torch.float64))), tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def test_a_smaller_network_is_written_and_the_table_says_why(capsys, monkeypatch, file, tmp_path):
    small = tmp_path / "small.safetensors"
    code, said = run(capsys, monkeypatch, file, "--out", small, "--member", 0)
    assert code == 0
    assert load(small).widths == (2, 2, 1)
    x = torch.randn(1, 50, 2, dtype=torch.float64)
    assert torch.allclose(outputs(load(small), x), outputs(load(file)[0], x))
    words = " ".join(said.out.split())
    for wanted in (
        "merged",
        "no fan-out",
        "hidden units: 4 before, 2 now",
        "equal up to rounding",
        f"written: {small}",
    ):
        assert wanted in words


def test_json_holds_every_step(capsys, monkeypatch, file):
    code, said = run(capsys, monkeypatch, file, "--box", "-1", "1", "--json")
    found = json.loads(said.out)
    assert code == 0
    assert found["hidden_before"] == [4]
    assert found["hidden_now"] == [[1], [2]]
    assert found["proof"]["domain"] == "the box"
    assert found["proof"]["exact"]
    assert max(found["proof"]["bound"]) < 1e-12
    assert {(s["member"], s["unit"]) for s in found["steps"]} >= {(0, 2), (0, 3), (1, 3)}
    assert found["written"] is None


def test_points_are_looked_at(capsys, monkeypatch, file, tmp_path):
    points = tmp_path / "points.safetensors"
    save_file({"points": torch.zeros(3, 2)}, points)
    code, said = run(capsys, monkeypatch, file, "--points", points, "--json")
    assert code == 0
    assert "never active on the points" in {s["reason"] for s in json.loads(said.out)["seen"]}
    code, said = run(capsys, monkeypatch, file, "--points", points, "--on-samples", "--json")
    assert json.loads(said.out)["proof"]["bound"] is None
    code, said = run(capsys, monkeypatch, file, "--points", points, "--on-samples")
    assert "nothing is proved" in said.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--member", "7"], "--member must be from 0 to 1"),
        (["--box", "1", "-1"], "a low above its high"),
        (["--tolerance", "3"], "from 0 to below 1"),
        (["--points", "nowhere.safetensors"], "there is no file"),
        (["--on-samples"], "needs points"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(capsys, monkeypatch, file, words, sentence):
    code, said = run(capsys, monkeypatch, file, *words)
    assert code == 2
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_a_file_of_several_arrays_needs_one_called_points(capsys, monkeypatch, file, tmp_path):
    points = tmp_path / "two.safetensors"
    save_file({"a": torch.zeros(3, 2), "b": torch.zeros(3, 2)}, points)
    code, said = run(capsys, monkeypatch, file, "--points", points)
    assert code == 2
    assert "name the samples 'points'" in said.err


def test_a_time_limit_ends_the_steps(capsys, monkeypatch, file):
    code, said = run(capsys, monkeypatch, file, "--seconds", "0", "--json")
    assert code == 0
    assert json.loads(said.out)["steps"] == []
    assert json.loads(said.out)["time_limit_reached"]
    code, said = run(capsys, monkeypatch, file, "--seconds", "600", "--json")
    assert json.loads(said.out)["steps"]
    assert not json.loads(said.out)["time_limit_reached"]
    code, said = run(capsys, monkeypatch, file, "--seconds", "0")
    assert "the time limit of 0 seconds ended the search" in " ".join(said.out.split())


def test_data_set_the_box_and_what_is_said_of_them(capsys, monkeypatch, file, tmp_path):
    points = torch.rand(40, 2, dtype=torch.float64)
    save_file({"points": points}, tmp_path / "data.safetensors")
    code, said = run(capsys, monkeypatch, file, "--data", tmp_path / "data.safetensors")
    words = " ".join(said.out.split())
    assert code == 0
    assert "equal up to rounding on the box of these data; no output differs by more than" in words
    assert "on 40 samples" in words
    assert "multiply-adds: 12 before" in words
    code, said = run(capsys, monkeypatch, file, "--data", tmp_path / "data.safetensors", "--box", "0", "1")
    assert code == 2
    assert "--data stands for --box and --points" in said.err


def test_a_budget_is_kept_and_onnx_written(capsys, monkeypatch, file, tmp_path):
    small = tmp_path / "small.onnx"
    words = (file, "--member", 0, "--box", "-1", "1", "--within", "100", "--out", small, "--json")
    code, said = run(capsys, monkeypatch, *words)
    found = json.loads(said.out)
    assert code == 0
    assert found["hidden_now"] == [[]]
    assert max(found["proof"]["bound"]) <= 100
    assert found["cost"]["multiply_adds"][1] < found["cost"]["multiply_adds"][0]
    assert read_network(small).widths == (2, 1)
    code, said = run(capsys, monkeypatch, file, "--out", tmp_path / "small.pt")
    assert code == 2
    assert "--out must end in .safetensors or .onnx" in said.err


def test_a_network_without_hidden_units_has_none_to_remove(capsys, monkeypatch, tmp_path):
    save(Network((torch.ones(1, 3, 2, dtype=torch.float64),)), tmp_path / "linear.safetensors")
    code, said = run(capsys, monkeypatch, tmp_path / "linear.safetensors")
    assert code == 0
    assert "hidden units: the network has none, so there are none to remove" in said.out


def test_torch_loads_the_smaller_network_under_its_own_names(capsys, monkeypatch, tmp_path):
    class Own(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.last = torch.nn.Linear(3, width), torch.nn.Linear(width, 2)

        def forward(self, x):
            return self.last(self.first(x).relu())

    model = Own(6)
    with torch.no_grad():
        model.last.weight[:, 2:] = 0
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    small = tmp_path / "small.safetensors"
    words = tmp_path / "model.safetensors", "--activation", "relu", "--out", small, "--format"
    assert run(capsys, monkeypatch, *words, "torch")[0] == 0
    smaller = Own(2)
    smaller.load_state_dict(load_file(small))
    x = torch.randn(20, 3)
    torch.testing.assert_close(smaller(x), model(x))
    code, said = run(capsys, monkeypatch, *words, "pickle")
    assert code == 2
    assert "must be 'tutelage' or 'torch', got 'pickle'" in " ".join(said.err.split())
    code, said = run(capsys, monkeypatch, *words[:-3], "--out", tmp_path / "a.onnx", "--format", "torch")
    assert code == 2
    assert "written to a .safetensors file" in " ".join(said.err.split())


def test_several_members_do_not_fit_into_a_state_dict(capsys, monkeypatch, file, tmp_path):
    code, said = run(capsys, monkeypatch, file, "--out", tmp_path / "s.safetensors", "--format", "torch")
    assert code == 2
    assert "holds one member" in " ".join(said.err.split())


@pytest.fixture
def convolutions(tmp_path):
    """An ONNX file with a convolution whose channel 1 is never active."""
    onnx = pytest.importorskip("onnx")
    node, array = onnx.helper.make_node, onnx.numpy_helper.from_array
    w = torch.randn(4, 1, 3, 3, generator=torch.Generator().manual_seed(0)).numpy()
    w[1] = 0
    arrays = {"w": w, "b": torch.tensor([0.1, -0.5, 0.2, 0.3]).numpy(), "v": torch.ones(16, 2).numpy()}
    nodes = [
        node("Conv", ["x", "w", "b"], ["a"], name="first"), node("Relu", ["a"], ["f"]), node("Flatten", ["f"], ["h"]),
        node("MatMul", ["h", "v"], ["y"]),
    ]  # fmt: skip
    ends = [onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", ["N", 1, 4, 4]), ("y", ["N", 2]))]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], [array(a, name) for name, a in arrays.items()])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_channels_of_a_convolutional_file_go(capsys, monkeypatch, convolutions, tmp_path):
    small = tmp_path / "small.onnx"
    code, said = run(capsys, monkeypatch, convolutions, "--out", small)
    words = " ".join(said.out.split())
    assert code == 0
    for wanted in ("channels removed: 1", "no output differs for any input", "first", "weights: 72 before, 54 now"):
        assert wanted in words
    x = torch.randn(1, 50, 16)
    before, after = (read_network(path) for path in (convolutions, small))
    assert torch.allclose(outputs(after, x), outputs(before, x), atol=1e-5)
    code, said = run(capsys, monkeypatch, convolutions, "--json")
    found = json.loads(said.out)
    assert found["channels"] == {"first": [1]}
    assert found["weights"] == [72, 54]
    assert found["checked"]["largest"] <= 1e-6 * found["checked"]["size"]
    assert found["written"] is None
    code, said = run(capsys, monkeypatch, small)
    assert "channels removed: none" in said.out


def test_units_of_a_convolutional_file_go_where_asked(capsys, monkeypatch, convolutions):
    for words in (("--units",), ("--box", "-1", "1")):
        code, said = run(capsys, monkeypatch, convolutions, "--json", *words)
        assert code == 0
        assert json.loads(said.out)["hidden_before"] == [16]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--box", "0", "1"], "--channels cannot be given with --box"),
        (["--seconds", "0", "--member", "0"], "--channels cannot be given with --member, --seconds"),
        (["--out", "small.safetensors"], "--out must end in .onnx with --channels"),
    ],
)
def test_what_channels_cannot_do_is_one_sentence(capsys, monkeypatch, convolutions, file, words, sentence):
    code, said = run(capsys, monkeypatch, convolutions, "--channels", *words)
    assert code == 2
    assert sentence in said.err
    code, said = run(capsys, monkeypatch, file, "--channels")
    assert code == 2
    assert "--channels needs an .onnx file" in said.err
