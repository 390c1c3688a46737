"""Devices by name."""

import pytest
import torch

from tutelage.devices import pick_device
from tutelage.errors import TutelageError


def test_devices_that_are_not_there_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pick_device().type == "cpu"
    for name in ("cuda", "cuda:1", torch.device("cuda")):
        with pytest.raises(TutelageError, match="no CUDA device is available here"):
            pick_device(name)


@pytest.mark.parametrize("name", ["gpu", "cpu:1", "auto:0", "cuda:first", "", "cuda::1"])
def test_what_is_no_device_is_named(name):
    with pytest.raises(TutelageError, match=f"device must be auto, cpu or cuda, got '{name}'"):
        pick_device(name)


def test_a_gpu_is_taken_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device() == pick_device("cuda") == torch.device("cuda")
    assert pick_device("cuda:1") == torch.device("cuda:1")
    assert pick_device("cpu") == torch.device("cpu")
