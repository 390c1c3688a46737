"""Merged layers against the exact rational functions of random graphs, from torch modules and ONNX files."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

_PLACE = Path(__file__).parents[1] / "networks" / "graphs" / "test_merging.py"
_spec = importlib.util.spec_from_file_location("merging_of_graphs", _PLACE)
merging = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(merging)


@pytest.mark.parametrize("reader", ["torch", "onnx"])
def test_merged_layers_stay_within_their_error(attack, reader, tmp_path):
    for number in attack.rounds(5):
        seed = int(np.random.default_rng((attack.seed, number)).integers(100, 2**31))
        merging.test_merged_layers_stay_within_their_error_of_the_exact_function(reader, seed, tmp_path)


def test_bounds_hold_for_the_exact_functions(attack, tmp_path):
    for number in attack.rounds(3):
        seed = int(np.random.default_rng((attack.seed, 1, number)).integers(100, 2**31))
        merging.test_bounds_hold_for_the_exact_functions(seed, tmp_path)
