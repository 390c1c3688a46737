"""Whatever reading a file raises is one sentence that names the file."""

import json
import random
import struct

import pytest
import torch
from safetensors.torch import save_file

from tutelage.errors import InternalError, TutelageError
from tutelage.networks import Network, read_any_network, read_network, save
from tutelage.networks.boundary import escaped, reader
from tutelage.networks.importing import tells_activation

NNET = "1,2,1,2,\n2,1,\n0\n-1,-1\n1,1\n0,0,0\n1,1,1\n1.0,1.0\n0.5\n"


def refused(path, **how):
    with pytest.raises(TutelageError) as said:
        read_any_network(path, **how)
    words = str(said.value)
    assert words.isprintable()
    assert len(words) <= 900
    return words


@pytest.mark.parametrize("width", ["inf", "nan", "-inf", "1e300", "9" * 1_000_000, "1e9", "-3", "0"])
@pytest.mark.parametrize("line", [0, 1])
def test_widths_that_are_none(width, line, tmp_path):
    path, lines = tmp_path / "net.nnet", NNET.splitlines()
    lines[line] = f"{width},{lines[line].split(',', 1)[1]}"
    path.write_text("\n".join(lines))
    assert "net.nnet" in refused(path)


def test_names_of_thousands_of_digits(tmp_path):
    path = tmp_path / "net.safetensors"
    names = ["1" * 5000, "2" * 5000]
    save_file({f"{n}.weight": torch.eye(2) for n in names}, path)
    assert read_network(path, "relu").depth == 2
    save_file({f"{n}.weight": torch.ones(k, 3) for k, n in enumerate(names, start=1)}, path)
    refused(path)
    save_file({f"\x1b[31m{'x' * 5000}": torch.eye(2)}, path)
    refused(path)


def test_damaged_files_of_every_kind(tmp_path):
    said: list[str] = []
    generator, network = random.Random(0), Network((torch.eye(3)[None], torch.ones(1, 3, 2)))
    save(network, tmp_path / "a.safetensors")
    save_file({"0.weight": torch.eye(3), "2.weight": torch.ones(2, 3)}, tmp_path / "b.safetensors")
    (tmp_path / "c.nnet").write_text(NNET)
    for source in ("a.safetensors", "b.safetensors", "c.nnet"):
        whole = (tmp_path / source).read_bytes()
        for _ in range(60):
            broken = bytearray(whole)
            for _ in range(generator.randint(1, 4)):
                broken[generator.randrange(len(broken))] = generator.randrange(256)
            path = tmp_path / f"broken.{source.split('.')[1]}"
            path.write_bytes(bytes(broken[: generator.randint(1, len(broken))]) if generator.random() < 0.3 else broken)
            try:
                read_any_network(path, "relu")
            except TutelageError as error:
                said.append(str(error))
    assert len(said) > 30
    assert all(map(str.isprintable, said))


@pytest.mark.parametrize("header", [
    {"a": {"dtype": "F32", "shape": [10**30], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, {"a": 3}, [], {"a": {"dtype": "X9", "shape": []}},
    {"__metadata__": {"tutelage": "[" * 100_000}}, {"__metadata__": {"tutelage": '{"depth": ' + "9" * 5000 + "}"}},
    {"__metadata__": {"tutelage": '{"format": "tutelage-network-1", "depth": 1e999}'}},
])  # fmt: skip
def test_headers_that_are_none(header, tmp_path):
    text = json.dumps(header).encode()
    path = tmp_path / "net.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
    refused(path)


def test_whatever_a_reader_raises_names_the_file():
    @reader
    def read(path, error):
        raise error

    for error in (KeyError("k"), OverflowError(), MemoryError(), RecursionError("deep"), ValueError("9" * 9000)):
        with pytest.raises(TutelageError, match=r"^net\.x cannot be read \(") as said:
            read("net.x", error)
        assert len(str(said.value)) < 250
    with pytest.raises(InternalError):
        read("net.x", InternalError("two results differ"))


def test_a_folder_or_nothing_is_no_network(tmp_path):
    for path in (tmp_path, tmp_path / "none.safetensors", tmp_path / "none.nnet", tmp_path / "none.onnx"):
        refused(path)
        assert tells_activation(path) in (True, False)


def test_escaped_text_is_short_and_printable():
    assert escaped("\x1b[31mred", 100) == "\\x1b[31mred"
    assert escaped("a" * 300, 200) == "a" * 197 + "..."
