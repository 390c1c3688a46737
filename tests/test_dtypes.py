"""No tensor is made of two Python numbers that float32, the default precision of torch, would round."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

SOURCES = sorted((Path(__file__).parents[1] / "src" / "tutelage").rglob("*.py"))
_EXACT = {"torch.inf", "-torch.inf", "math.inf", "-math.inf", "torch.nan", "math.nan"}


def rounded(branch: ast.expr) -> bool:
    """Whether a branch is a number that float32 does not hold; names of numbers count as such."""
    text = ast.unparse(branch)
    if text in _EXACT:
        return False
    try:
        value = float(ast.literal_eval(branch))
    except (TypeError, ValueError):
        return text in _SCALARS or text.endswith((".slope", ".factor", ".leak", ".limit"))
    return float(np.float32(value)) != value


_SCALARS = {"left", "right", "math.pi", "math.e"}


def number(branch: ast.expr) -> bool:
    text = ast.unparse(branch)
    try:
        ast.literal_eval(branch)
    except (TypeError, ValueError):
        return text in _EXACT or rounded(branch)
    return True


def faults(text: str) -> list[int]:
    """Lines with torch.where of two numbers of which float32 rounds one."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.where" and len(node.args) == 3:
            branches = node.args[1:]
            if all(map(number, branches)) and any(map(rounded, branches)):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(p.parents[2])))
def test_no_number_is_rounded_to_float32_by_where(path):
    assert faults(path.read_text()) == []


def test_the_check_finds_what_it_looks_for():
    assert faults("torch.where(a > b, right, left)") == [1]
    assert faults("torch.where(a, 0.01, 1.0)") == [1]
    assert faults("torch.where(a, -1.0, 1)\ntorch.where(a, torch.inf, 0.0)\ntorch.where(a, b, 0.1)") == []
    assert torch.where(torch.tensor(True), 0.01, 1.0).item() != 0.01
