"""Kernels run on a GPU, or where TRITON_INTERPRET=1 is set, slowly, on the host."""

import importlib.util
import os

import pytest
import torch


@pytest.fixture
def device():
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    if torch.cuda.is_available():
        return torch.device("cuda")
    if os.environ.get("TRITON_INTERPRET") == "1":
        return torch.device("cpu")
    pytest.skip("there is no CUDA device")
