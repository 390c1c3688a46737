"""Samples are found by their name, or by being alone; everything else is a sentence."""

import pytest
import torch
from safetensors.torch import save_file

from tutelage import TutelageError
from tutelage.cli.points import read_points


def test_the_array_called_points_or_the_only_one(tmp_path):
    x = torch.randn(3, 2)
    save_file({"anything": x}, tmp_path / "one")
    save_file({"points": x, "labels": x + 1}, tmp_path / "two")
    assert torch.equal(read_points(tmp_path / "one"), x)
    assert torch.equal(read_points(tmp_path / "two"), x)


def test_what_holds_no_samples_is_refused(tmp_path):
    save_file({"a": torch.ones(1), "b": torch.ones(1)}, tmp_path / "unnamed")
    (tmp_path / "junk").write_text("no")
    for name, sentence in (("unnamed", "has the arrays a, b"), ("junk", "not a safetensors"), ("none", "no file")):
        with pytest.raises(TutelageError, match=sentence):
            read_points(tmp_path / name)
