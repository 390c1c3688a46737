"""Commands with words and files of any kind: a verdict, or one error in a sentence, and never an internal error."""

import json
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tutelage.cli import main
from tutelage.networks import Network, save

ODD = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1",
    "3",
    "0.5",
    "1e-300",
    "1e30",
    "1e300",
    "99999999999999999999",
    "",
    "text",
    "\n",
]
COMMANDS = {
    "certify": (
        ["THEOREM", "NETWORK", "NETWORK", "--points", "ARRAY"],
        [
            "--std",
            "--samples",
            "--seed",
            "--option tolerance=",
            "--option epsilon=",
            "--option batch=",
            "--distribution",
        ],
    ),
    "distil": (
        ["NETWORK", "NETWORK", "--points", "ARRAY", "--epochs", "1"],
        [
            "--temperature",
            "--hard-share",
            "--batch",
            "--learning-rate",
            "--seed",
            "--seconds",
            "--held-out",
            "--labels",
        ],
    ),
    "compare": (["NETWORK", "NETWORK", "--seconds", "2"], ["--on", "--tolerance", "--seed", "--activation"]),
    "experiment explain": (["SPEC"], ["--limit"]),
    "report": (["STUDIES"], []),
    "ledger": (["STUDIES"], []),
    "data check": (["mnist", "--data", "FOLDER"], []),
}
THEOREMS = ["alignment", "pruning", "zero-gradient", "polynomial-samples", "free-point", "lemma-1", "noisy-recovery"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of every kind, sound and odd, by kind."""
    root = tmp_path_factory.mktemp("files")
    draw = torch.Generator().manual_seed(0)
    kinds: dict[str, list] = {"NETWORK": [], "ARRAY": []}
    for i, scale in enumerate((1.0, 1.0, 0.0, 1e30, float("nan"))):
        w = tuple(scale * torch.randn(1, a, b, generator=draw) for a, b in ((3, 4), (4, 2)))
        kinds["NETWORK"].append(root / f"{i}.safetensors")
        save(Network(w, tuple(torch.zeros(1, n) for n in (4, 2))), kinds["NETWORK"][-1])
    arrays = [torch.randn(9, 3, generator=draw) * s for s in (1.0, 1.0, 0.0, 1e30, float("inf"))]
    arrays += [
        arrays[0].to(kind) for kind in (torch.int64, torch.complex64, torch.bool, torch.float8_e4m3fn, torch.float16)
    ]
    arrays += [torch.zeros(size) for size in ((0, 3), (3,), (9, 0), (2, 9, 3), (9, 4), ())]
    for i, array in enumerate(arrays):
        kinds["ARRAY"].append(root / f"x{i}.safetensors")
        labels = {"labels": torch.arange(len(array)) % 3 - 1} if array.ndim == 2 and i % 2 else {}
        save_file({"points": array, **labels}, kinds["ARRAY"][-1])
    (root / "settings.yaml").write_text("seeds: 3")
    (root / "empty").mkdir()
    (root / "studies" / "one").mkdir(parents=True)
    (root / "studies" / "one" / "claims.json").write_text(json.dumps([{"study": 3}]))
    (root / "bytes").write_bytes(b"\0\xff" * 100)
    kinds |= {"SPEC": [root / "settings.yaml"], "STUDIES": [root / "studies"], "FOLDER": [root / "empty"]}
    kinds["OTHER"] = [root, root / "none", root / "bytes", root / "empty", root / "settings.yaml"]
    return kinds


def words(random: np.random.Generator, files: dict[str, list], command: str) -> list[str]:
    """A call of a command: mostly files of the right kind, and up to two odd options."""
    places, options = COMMANDS[command]
    said = command.split()
    for place in places:
        kind = "OTHER" if place in files and random.random() < 0.1 else place
        some = THEOREMS if kind == "THEOREM" else files.get(kind, [place])
        said.append(str(some[int(random.integers(len(some)) * (random.random() < 0.7))]))
    for option in random.permutation(options)[: random.integers(0, 3)].tolist():
        value = str(random.choice(ODD)) if random.random() < 0.8 else str(files["OTHER"][random.integers(5)])
        name, _, setting = option.partition(" ")
        said += [name] if name == "--labels" else [name, f"{setting}{value}"]
    return said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_in_a_verdict_or_a_sentence(attack, files, command, monkeypatch, capsys):
    random, codes = attack.generator(list(COMMANDS).index(command)), set()
    for _ in attack.rounds(25):
        said = words(random, files, command)
        monkeypatch.setattr(sys, "argv", ["tutelage", *said])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        codes.add(end.value.code or 0)
        assert end.value.code in (None, 0, 1, 2, 3), (said, out.err)
        assert "Traceback" not in out.err, said
    assert (codes & {0, 1, 3}) if command in ("certify", "distil", "compare") else 2 in codes, codes
