"""Mutual autoencoders on disk."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tutelage.autoencoders.saving import from_file, into, to_file
from tutelage.errors import TutelageError

ABOUT = {"kind": "normal", "target": None, "penalty": 2.5, "latent": 3}


def test_settings_and_weights_come_back(tmp_path):
    part = nn.Linear(2, 3)
    to_file(tmp_path / "one", {"encoder": part}, ABOUT | {"gradient": "sum"})
    told, tensors = from_file(tmp_path / "one")
    assert told == ABOUT | {"gradient": "sum"}
    other = nn.Linear(2, 3)
    into({"encoder": other}, tensors, "one")
    assert torch.equal(other.weight, part.weight)
    with pytest.raises(TutelageError, match="the encoder in one does not fit"):
        into({"encoder": nn.Linear(3, 3)}, tensors, "one")


def test_files_from_before_the_switches_are_read(tmp_path):
    words = {"kind": "normal", "target": "None", "penalty": "1.0", "latent": "2"}
    save_file({"a": torch.zeros(1)}, tmp_path / "old", words)
    assert from_file(tmp_path / "old")[0] == {"kind": "normal", "target": None, "penalty": 1.0, "latent": 2}


def test_other_files_are_refused(tmp_path):
    with pytest.raises(TutelageError, match="cannot be read"):
        from_file(tmp_path / "none")
    save_file({"a": torch.zeros(1)}, tmp_path / "other")
    with pytest.raises(TutelageError, match="holds no mutual autoencoder"):
        from_file(tmp_path / "other")
