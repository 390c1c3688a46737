"""`tutelage verify` and `--proof`: exit codes, words and files."""

import json
import sys

import pytest
import torch

from tutelage.cli import main
from tutelage.networks import Network, save
from tutelage.networks.exporting import save_onnx

pytest.importorskip("onnx")


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two networks 3-8-2 whose weights differ by roundings to half precision."""
    torch.manual_seed(0)
    net = Network((torch.randn(1, 3, 8) / 2, torch.randn(1, 8, 2) / 3), (torch.randn(1, 8), torch.randn(1, 2)))
    save_onnx(net, tmp_path / "net.onnx")
    save_onnx(net.map(lambda a: a.half().float()), tmp_path / "half.onnx")
    save(net, tmp_path / "net.safetensors")
    monkeypatch.chdir(tmp_path)
    return "net.onnx", "half.onnx"


def test_a_proof_of_compare_is_verified(capsys, monkeypatch, files):
    question = "--box", -1, 1, "--epsilon", 0.01, "--proof", "proof.json"
    code, said = run(capsys, monkeypatch, "compare", *files, *question)
    assert code == 0
    assert "proof: proof.json (" in said.out
    code, said = run(capsys, monkeypatch, "verify", "proof.json", *files)
    assert code == 0
    assert said.out.startswith("verified: no output differs by more than 0.01, for every input of the box (")
    code, said = run(capsys, monkeypatch, "compare", *files, *question, "--json")
    assert json.loads(said.out)["proof"] == "proof.json"


def test_top_classes_and_one_output_are_verified(capsys, monkeypatch, files):
    for question, words in (
        (("--top-1", "--margin", 0.2), "same top class wherever A leads by 0.2 or more"),
        (("--bound", "--output", 1), "output 1 differs by at most"),
        (("--epsilon", "0.01,0.02"), "output 0 differs by at most 0.01; output 1 differs by at most 0.02"),
    ):
        run(capsys, monkeypatch, "compare", *files, "--box", -1, 1, *question, "--proof", "proof.json.gz")
        code, said = run(capsys, monkeypatch, "verify", "proof.json.gz", *files)
        assert code == 0
        assert words in said.out


def test_a_check_and_equality_have_proofs(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, "check", *files, "--box", -1, 1, "--tolerance", 0.01, "--proof", "proof.json")
    assert code == 0
    assert "proof: proof.json (" in said.out
    assert run(capsys, monkeypatch, "verify", "proof.json", *files)[0] == 0
    code, said = run(capsys, monkeypatch, "compare", files[0], files[0], "--proof", "same.json")
    assert "proof: same.json" in said.out
    code, said = run(capsys, monkeypatch, "verify", "same.json", files[0], files[0])
    assert code == 0
    assert "no output differs by more than 0.0, times max(1, |x|), for all inputs x" in said.out


def test_a_proof_about_other_networks_is_not_verified(capsys, monkeypatch, files):
    run(capsys, monkeypatch, "compare", files[0], files[0], "--proof", "same.json")
    code, said = run(capsys, monkeypatch, "verify", "same.json", *files)
    assert code == 1
    assert said.out.startswith("not verified: the weights leave larger differences possible")


def test_where_there_is_no_proof_the_command_says_so(capsys, monkeypatch, files, tmp_path):
    code, said = run(
        capsys, monkeypatch, "compare", *files, "--box", -1, 1, "--epsilon", 1e-9, "--proof", "proof.json", "--json"
    )
    assert code == 1
    assert json.loads(said.out)["no_proof"] == 'only "holds" and "same" have a proof, and the answer is "violated"'
    assert not (tmp_path / "proof.json").exists()
    for words, what in (
        (("compare", "net.safetensors", files[1], "--proof", "proof.json"), "two ONNX files, got net.safetensors"),
        (("verify", "proof.json", *files), "there is no file proof.json"),
    ):
        code, said = run(capsys, monkeypatch, *words)
        assert code == 2
        assert what in said.err
    (tmp_path / "proof.json").write_text("{}")
    code, said = run(capsys, monkeypatch, "verify", "proof.json", *files)
    assert code == 1
    assert said.out.startswith("not verified: proof.json is no proof that can be read")
