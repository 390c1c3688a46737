"""`tutelage compare` gives the verdict by words, JSON and exit code."""

import json
import sys
from functools import partial

import pytest
import torch
from safetensors.torch import save_file

from tutelage import functions, networks
from tutelage.cli import main
from tutelage.errors import InternalError
from tutelage.functions import exhibit
from tutelage.networks import Network, SparseNetwork, load, save


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "compare", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    """a: two units; copy: permuted and scaled; other: another function; stack: both; wide: one unit split in two."""
    w = torch.tensor([[[3.0, 0.0], [0.0, 0.5]]], dtype=torch.float64)
    v = torch.tensor([[[1.0], [4.0]]], dtype=torch.float64)
    a = Network((w, v))
    nets = {
        "a": a,
        "copy": Network((w.flip(2) * 2, v.flip(1) / 2)),
        "other": Network((w, v + 0.25)),
        "stack": Network((torch.cat([w, w]), torch.cat([v, v + 0.25]))),
        "wide": Network((torch.cat([w, w[:, :, :1]], 2), torch.tensor([[[0.5], [4.0], [0.5]]], dtype=torch.float64))),
        "three": Network((torch.ones(1, 3, 1, dtype=torch.float64),)),
    }
    for name, network in nets.items():
        save(network, tmp_path / f"{name}.safetensors")
    save_file({"0.weight": w[0].T.contiguous(), "2.weight": v[0].T.contiguous()}, tmp_path / "torch.safetensors")
    return {path.stem: path for path in tmp_path.glob("*.safetensors")}


def test_copies_are_the_same_with_code_0(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, files["a"], files["copy"])
    assert code == 0
    assert "same and related on all inputs" in said.out
    code, said = run(capsys, monkeypatch, files["a"], files["copy"], "--json")
    found = json.loads(said.out)
    assert found["related"]["permutations"] == [[1, 0]]
    assert found["related"]["scales"] == [[0.5, 0.5]]
    assert max(found["related"]["residual"]) < 1e-12
    assert found["witness"] is None


def test_a_torch_state_dict_is_read(capsys, monkeypatch, files):
    assert run(capsys, monkeypatch, files["a"], files["torch"])[0] == 0
    assert run(capsys, monkeypatch, files["a"], files["torch"], "--activation", "abs")[0] == 1


def test_an_activation_that_both_files_have_themselves_is_no_option(capsys, monkeypatch, files):
    assert run(capsys, monkeypatch, files["a"], files["copy"], "--activation", "relu")[0] == 0
    code, said = run(capsys, monkeypatch, files["a"], files["copy"], "--activation", "abs")
    assert code == 2
    assert "says that its units are relu, not abs: leave the activation out" in " ".join(said.err.split())
    code, said = run(capsys, monkeypatch, files["a"], files["torch"], "--slope", "0.3")
    assert code == 2
    assert "slope=0.3 has no effect on relu units" in " ".join(said.err.split())


def test_a_redundancy_is_named(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, files["a"], files["wide"], "--json")
    found = json.loads(said.out)
    assert code == 0
    assert found["verdict"] == "same, not related"
    assert found["related"] is None
    assert found["redundancies"] == {"a": [], "b": [{"layer": 1, "unit": 2, "kind": "duplicate", "other": 0}]}


def test_a_difference_has_a_witness_and_code_1(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, files["a"], files["other"], "--box", "-1", "1", "--json")
    found = json.loads(said.out)
    assert code == 1
    assert found["verdict"] == "different"
    assert found["domain"] == "the box from -1 to 1 in 2 dimensions"
    assert found["exact"]
    assert found["max_difference"] == pytest.approx(0.25 * 3.5)
    assert found["witness"] == pytest.approx([1.0, 1.0])
    at = found["outputs_at_witness"]
    assert abs(at["a"][0] - at["b"][0]) == pytest.approx(found["max_difference"])
    code, said = run(capsys, monkeypatch, files["a"], files["other"])
    assert code == 1
    assert "largest difference found" in said.out
    assert "witness:" in said.out
    assert run(capsys, monkeypatch, files["a"], files["other"], "--box", "-1", "1", "--tolerance", "2")[0] == 0


def test_members_of_stacks_are_chosen(capsys, monkeypatch, files):
    assert run(capsys, monkeypatch, files["stack"], files["a"], "--member-a", "0")[0] == 0
    assert run(capsys, monkeypatch, files["a"], files["stack"], "--member-b", "1")[0] == 1


def test_a_domain_from_a_file(capsys, monkeypatch, files, tmp_path):
    domain = tmp_path / "domain.yaml"
    domain.write_text("normals: [[-1, 0], [0, -1], [1, 1]]\noffsets: [0, 0, 1]\n")
    code, said = run(capsys, monkeypatch, files["a"], files["other"], "--on", domain, "--json")
    found = json.loads(said.out)
    assert code == 1
    assert found["domain"] == "a polytope of 3 constraints in 2 dimensions"
    assert found["max_difference"] == pytest.approx(0.75)
    domain.write_text("low: [-1, -1]\nhigh: [-0.5, -0.5]\n")
    assert run(capsys, monkeypatch, files["a"], files["other"], "--on", domain)[0] == 0


def test_not_decided_is_code_3(capsys, monkeypatch, tmp_path):
    draw = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    first = [normal(1, 4, 10), normal(1, 10, 10), normal(1, 10, 1)]
    more = [torch.cat([first[0], normal(1, 4, 1)], 2), torch.zeros(1, 11, 12, dtype=torch.float64)]
    more[1][:, :10, :10] = first[1]
    more[1][:, 10, 10], more[1][:, 10, 11] = 1, 1
    more[1][:, 0, 10], more[1][:, 0, 11] = -1, -1  # units 10 and 11 of layer 2 are equal but for their constants,
    biases = [torch.zeros(1, n, dtype=torch.float64) for n in (11, 12, 1)]
    biases[1][0, 10:] = torch.tensor([0.0, 1e-11])  # and cancel but for these
    top = torch.cat([first[2], torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)], 1)
    save(Network(tuple(first)), tmp_path / "a.safetensors")
    save(Network((*more, top), tuple(biases)), tmp_path / "b.safetensors")
    words = (tmp_path / "a.safetensors", tmp_path / "b.safetensors", "--box", "-1", "1")
    monkeypatch.setattr(functions, "same_function", partial(functions.same_function, budget=20))
    code, said = run(capsys, monkeypatch, *words, "--tolerance", "1e-10", "--seconds", "5")
    assert code == 3
    assert "not decided" in said.out
    assert "was not proved" in said.out


@pytest.mark.parametrize(("inputs", "domain"), [(2, ["--box", "-1", "1"]), (2, []), (3, ["--box", "-1", "1"])])
def test_a_slice_is_drawn(capsys, monkeypatch, tmp_path, inputs, domain):
    draw = torch.Generator().manual_seed(1)
    for name in ("a", "b"):
        weights = [torch.randn(1, i, o, generator=draw) for i, o in ((inputs, 5), (5, 4), (4, 1))]
        save(Network(tuple(weights)), tmp_path / f"{name}.safetensors")
    picture = tmp_path / "slice.png"
    files = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    code, said = run(capsys, monkeypatch, *files, *domain, "--slice", picture)
    assert code == 1
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"drawn: {picture}" in said.out


def test_a_slice_of_equal_networks_has_no_witness(capsys, monkeypatch, tmp_path):
    shown = exhibit("dead-unit")
    save(shown.first, tmp_path / "a.safetensors")
    save(shown.second, tmp_path / "b.safetensors")
    words = (tmp_path / "a.safetensors", tmp_path / "b.safetensors", "--box", "-1", "1", "--slice", tmp_path / "s.png")
    assert run(capsys, monkeypatch, *words)[0] == 0
    assert (tmp_path / "s.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a", "three"], "2 and 3 inputs"),
        (["a", "stack"], "choose one with --member-b, from 0 to 1"),
        (["a", "copy", "--member-a", "4"], "--member-a must be from 0 to 0"),
        (["a", "copy", "--box", "1", "-1"], "got 1 to -1 for input 0"),
        (["a", "other", "--box", "-1e308", "1e308"], "is too large"),
        (["a", "nowhere"], "there is no file"),
        (["a", "copy", "--tolerance", "-1"], "tolerance must be a finite number of at least 0, got -1.0"),
        (["three", "three", "--on", "missing.yaml"], "cannot be read"),
        (["a", "copy", "--on", "missing.yaml", "--box", "0", "1"], "choose one of them"),
        (["model.pt", "a"], "is a pickle"),
        (["a", "other", "--slice", "slice.doc"], "--slice must end in .png"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(capsys, monkeypatch, files, tmp_path, words, sentence):
    given = [files.get(w, tmp_path / w if w in ("nowhere", "model.pt") else w) for w in words]
    code, said = run(capsys, monkeypatch, *given)
    assert code == 2
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--member-b", "7"], "has one network: leave --member-b out, got 7"),
        (["--slice", "s.png"], "leave --slice out"),
    ],
)
def test_sparse_networks_refuse_what_has_no_effect_on_them(capsys, monkeypatch, files, words, sentence):
    def sparse(path, *_, **__):
        return SparseNetwork.of_network(load(path))

    monkeypatch.setattr(networks, "read_any_network", sparse)
    code, said = run(capsys, monkeypatch, files["a"], files["copy"], "--box", "0", "1", *words)
    assert code == 2
    assert sentence in said.err


BOMB = (
    "low:\n- &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n"
    + "".join(f"- &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    + "high: [1, 1]"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1", "must have normals and offsets, or low and high"),
        ("normals: [[1, 0]]\noffsets: [1]", "unbounded"),
        ("normals: [[1, x]]\noffsets: [1]", "must have arrays of numbers"),
        ("low: [0, 0]\nhigh: [-1, 1]", "got 0 to -1 for input 0"),
        ("- 1", "must hold a table with normals and offsets"),
        (BOMB, "unfolds aliases into too many values"),
        ("normals: [[1, 0], [-1, 0], [0, 1], [0, -1]]\noffsets: [-2, 1, 1, 1]", "no inside"),
    ],
)
def test_a_domain_file_that_is_none_is_refused(capsys, monkeypatch, files, tmp_path, text, sentence):
    (tmp_path / "domain.yaml").write_text(text)
    code, said = run(capsys, monkeypatch, files["a"], files["copy"], "--on", tmp_path / "domain.yaml")
    assert code == 2
    assert sentence in said.err


def test_a_report_holds_verdict_picture_and_reason(capsys, monkeypatch, files, tmp_path):
    page = tmp_path / "page.html"
    words = files["a"], files["other"], "--box", "-1", "1", "--report", page
    code, said = run(capsys, monkeypatch, *words)
    text = page.read_text()
    assert code == 1
    assert f"written: {page}" in said.out
    assert json.loads(run(capsys, monkeypatch, *words, "--json")[1].out)["report"] == str(page)
    assert "<h1>Different</h1>" in text
    assert "data:image/png;base64," in text
    assert "witness:" in text
    assert "://" not in text


def test_a_time_limit_is_code_3_and_an_internal_error_code_70(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, files["a"], files["wide"], "--seconds", "0")
    assert code == 3
    assert "the time limit of 0 seconds was reached" in said.out
    assert run(capsys, monkeypatch, files["a"], files["wide"], "--seconds", "600")[0] == 0
    code, said = run(capsys, monkeypatch, files["a"], files["wide"], "--seconds", "-1")
    assert code == 2
    assert "seconds must be at least 0, got -1.0" in said.err

    def fails(*_, **__):
        raise InternalError("two results contradict each other")

    monkeypatch.setattr(functions, "same_function", fails)
    code, said = run(capsys, monkeypatch, files["a"], files["wide"])
    assert code == 70
    assert "please report" in said.err
