"""The questions of `tutelage compare`: epsilon, top class, bounds around a point."""

import json
import sys

import pytest
import torch
from safetensors.torch import save_file

from tutelage.cli import main
from tutelage.functions import box
from tutelage.functions.bounds.pieces import upper_bound
from tutelage.networks import Network, save


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "compare", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    """a and b: relu(x) and relu(x) with the second output 0.25 larger per unit; point: (1, 0.5)."""
    eye = torch.eye(2, dtype=torch.float64).unsqueeze(0)
    save(Network((eye, eye)), tmp_path / "a.safetensors")
    save(Network((eye, eye * torch.tensor([1.0, 1.25]))), tmp_path / "b.safetensors")
    save_file({"points": torch.tensor([1.0, 0.5])}, tmp_path / "point.safetensors")
    (tmp_path / "flat.yaml").write_text("low: [1, 0]\nhigh: [1, 1]")
    return {path.stem: path for path in tmp_path.iterdir()}


def test_epsilon_per_output(capsys, monkeypatch, files):
    pair = files["a"], files["b"], "--box", -1, 1
    code, said = run(capsys, monkeypatch, *pair, "--epsilon", 0.26)
    assert code == 0
    assert "holds: every output differs by at most 0.26" in said.out
    assert "output 1: within 0.2" in said.out
    assert "differs by at least 0.25" in said.out
    assert run(capsys, monkeypatch, *pair, "--epsilon", 0.2)[0] == 1
    assert run(capsys, monkeypatch, *pair, "--epsilon", "0.01,0.3")[0] == 0
    assert run(capsys, monkeypatch, *pair, "--epsilon", 0.01, "--output", 0)[0] == 0


def test_a_witness_comes_with_both_outputs(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, files["a"], files["b"], "--on", files["flat"], "--epsilon", 0.1, "--json")
    found = json.loads(said.out)
    assert code == 1
    assert found["verdict"] == "violated"
    assert found["witness"][0] == 1.0
    apart = abs(found["outputs_at_witness"]["a"][1] - found["outputs_at_witness"]["b"][1])
    assert apart == pytest.approx(found["max_difference"])
    assert apart > 0.1


def test_a_property_file_gives_box_and_epsilon(capsys, monkeypatch, files, tmp_path):
    path = tmp_path / "p.vnnlib"
    networks = "".join(
        f"(declare-network {n} (declare-input {x} real [2]) (declare-output {y} real [2]))"
        for n, x, y in (("f", "X", "Y"), ("g", "U", "V"))
    )
    box = "".join(f"(assert (>= X[{k}] -1)) (assert (<= X[{k}] 1))" for k in (0, 1))
    limits = "(or (> (- Y[1] V[1]) EPS) (> (- V[1] Y[1]) EPS))"
    for epsilon, code in (("0.3", 0), ("0.2", 1)):
        path.write_text(f"{networks}(assert (== X U)){box}(assert {limits.replace('EPS', epsilon)})")
        assert run(capsys, monkeypatch, files["a"], files["b"], "--on", path)[0] == code


def test_top_classes(capsys, monkeypatch, files):
    pair = files["a"], files["b"]
    assert run(capsys, monkeypatch, *pair, "--box", 0.5, 1, "--top-1")[0] == 1
    assert run(capsys, monkeypatch, *pair, "--box", 0.5, 1, "--top-1", "--margin", 0.3)[0] == 0


def test_a_curve_around_a_point(capsys, monkeypatch, files):
    words = files["a"], files["b"], "--bound", "--around", files["point"], "--radius", "0,0.1,0.5", "--json"
    code, said = run(capsys, monkeypatch, *words)
    bounds = [json.loads(line)["at_most"] for line in said.out.splitlines()]
    assert code == 0
    assert bounds == pytest.approx([0.125, 0.15, 0.25], rel=0.06)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--epsilon", "1"], "needs a bounded domain"),
        (["--epsilon", "one", "--box", "0", "1"], "must be numbers"),
        (["--epsilon", "1", "--top-1", "--box", "0", "1"], "two questions"),
        (["--margin", "1", "--box", "0", "1"], "--top-1"),
        (["--bound", "--radius", "1"], "belong together"),
        (["--bound", "--epsilon", "1", "--box", "0", "1"], "--bound and --epsilon are two questions"),
        (["--output", "1"], "--output is without effect where no question is asked: add --epsilon"),
        (["--radius", "1"], "--radius is without effect where no question is asked"),
        (["--around", "p.npy", "--radius", "1"], "--around and --radius are without effect where no question"),
        (["--device", "abacus"], "abacus"),
        (["--top-1", "--output", "1", "--box", "0", "1"], "give one of both"),
        (["--bound", "--box", "0", "1", "--device", "abacus"], "abacus"),
    ],
)
def test_bad_questions_are_one_sentence_with_code_2(capsys, monkeypatch, files, words, why):
    code, said = run(capsys, monkeypatch, files["a"], files["b"], *words)
    assert code == 2
    assert why in said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize("question", [["--bound"], ["--epsilon", "1"], ["--top-1"]])
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--slice", "s.png"], "--slice is without effect on the question"),
        (["--report", "r.html"], "--report is without effect on the question"),
        (["--tolerance", "1"], "--tolerance is without effect on the question"),
        (["--tolerance", "9", "--report", "r.html"], "--tolerance and --report are without effect on the question"),
    ],
)
def test_options_without_effect_on_a_question_are_refused(capsys, monkeypatch, files, tmp_path, question, words, why):
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, monkeypatch, files["a"], files["b"], "--box", "0", "1", *question, *words)
    assert code == 2
    assert why in said.err
    assert "leave" in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not said.out


@pytest.mark.parametrize("question", [[], ["--bound"]])
def test_cuda_is_refused_where_there_is_no_gpu(capsys, monkeypatch, files, question):
    words = (files["a"], files["b"], "--box", "0", "1", "--device", "cuda", *question)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, said = run(capsys, monkeypatch, *words)
    assert code == 2
    assert "no CUDA device is available here: use the device cpu or auto" in said.err


def test_a_gpu_needs_a_question(capsys, monkeypatch, files):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    code, said = run(capsys, monkeypatch, files["a"], files["b"], "--box", "0", "1", "--device", "cuda")
    assert code == 2
    assert "--device cuda is without effect where no question is asked" in said.err


def test_a_violated_claim_shows_what_both_give_at_the_witness(capsys, monkeypatch, files):
    pair = files["a"], files["b"], "--on", files["flat"]
    _, said = run(capsys, monkeypatch, *pair, "--epsilon", 0.1)
    assert "outputs of A: 1, " in said.out
    assert "outputs of B: 1, " in said.out
    _, said = run(capsys, monkeypatch, files["a"], files["b"], "--box", 0.5, 1, "--top-1")
    assert "classes: A chooses 0, B chooses 1" in said.out


def test_the_bound_of_one_output_is_told_alone(capsys, monkeypatch, files):
    """Output 0 is the same function in both networks, output 1 is not."""
    words = files["a"], files["b"], "--box", -1, 1, "--bound", "--output", 0
    _, said = run(capsys, monkeypatch, *words, "--json")
    assert json.loads(said.out)["at_most"] < 1e-290  # what a sum may lose by underflow
    assert json.loads(said.out)["max_difference"] == 0
    _, said = run(capsys, monkeypatch, *words)
    assert "output 1" not in said.out
    assert "the largest difference of output 0 lies between 0 and " in said.out


def test_a_limit_is_spent_on_the_bound_of_networks_that_differ(capsys, monkeypatch, tmp_path):
    """Regions of 30 units in 8 dimensions are too many to count; boxes bound the difference all the same."""
    draw = torch.Generator().manual_seed(0)
    weights = [torch.randn(1, 8, 30, generator=draw), torch.randn(1, 30, 1, generator=draw)]
    nearly = [w * (1 + 1e-3 * torch.randn(w.shape, generator=draw)) for w in weights]
    pair = [Network(tuple(w.double() for w in of)) for of in (weights, nearly)]
    for name, network in zip("ab", pair, strict=True):
        save(network, tmp_path / f"{name}.safetensors")
    words = tmp_path / "a.safetensors", tmp_path / "b.safetensors", "--box", -1, 1, "--json", "--seconds", 15
    code, said = run(capsys, monkeypatch, *words)
    assert code == 1
    # Without boxes the bound is the sum of the ranges of both networks, a thousand times what they differ by.
    assert json.loads(said.out)["at_most"] < 0.1 * upper_bound(*pair, box(-1, 1, 8)).item()
