"""Normal numbers of the CUDA kernel: the coefficients of the draws, and on a GPU their bits."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch

from tutelage import draws
from tutelage.training.inputs import _normal_gpu
from tutelage.training.inputs.distributions import normals

gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or importlib.util.find_spec("cupy") is None,
    reason="needs a CUDA device and cupy",
)


def test_the_kernel_has_the_coefficients_of_the_draws():
    text = Path(_normal_gpu.__file__).with_suffix(".cu").read_text()
    tables = [
        [float(c) for c in t.split(",")] for t in re.findall(r"constexpr double \w+\[8\] = \{(.*?)\}", text, re.S)
    ]
    wanted = [list(side) for table in (draws._CENTRE, draws._TAIL, draws._FAR_TAIL) for side in table]
    assert tables == wanted
    (series,) = re.findall(r"series\[12\] = \{(.*?)\}", text, re.S)
    terms = [2.0 / int(t.split("/")[1]) if "/" in t else float(t) for t in series.split(",")]
    assert terms == [2.0 / (2 * k + 1) for k in range(12)]


def test_constants_of_host_and_kernel_agree():
    text = Path(_normal_gpu.__file__).with_suffix(".cu").read_text()
    assert f"THREADS = {_normal_gpu._THREADS}, SPAN = {_normal_gpu._SPAN};" in text
    for constant in (draws.GOLDEN, draws.MIX_1, draws.MIX_2):
        assert f"0x{constant:X}ull" in text


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 1), (5, 1600), (40, 77), (1, 4097), (2000, 1000)])
def test_the_bits_of_the_draws(shape, dtype):
    streams, count = shape
    key = draws.keys(range(streams), "x")
    out = torch.full(shape, torch.nan, dtype=dtype, device="cuda")
    _normal_gpu.fill(key.cuda(), out)
    assert torch.equal(out.cpu(), draws.normals(key, count, dtype=dtype))


@gpu
def test_points_are_those_of_the_cpu():
    key = draws.keys(range(300), "x")
    assert torch.equal(normals(key.cuda(), 16, 100, torch.float32).cpu(), normals(key, 16, 100, torch.float32))
