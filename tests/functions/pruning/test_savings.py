"""Costs are counted from the weights and measured on both networks."""

import torch

from tutelage.functions import savings
from tutelage.networks import Network


def test_counts_are_those_of_a_member_and_bytes_those_of_the_file():
    wide, narrow = (
        Network(
            (torch.ones(2, 4, n, dtype=dtype), torch.ones(2, n, 3, dtype=dtype)),
            (torch.ones(2, n, dtype=dtype), torch.ones(2, 3, dtype=dtype)),
        )
        for n, dtype in ((10, torch.float64), (5, torch.float32))
    )
    found = savings(wide, narrow)
    assert found.multiply_adds == (70, 35)
    assert found.bytes == (2 * 8 * 83, 2 * 4 * 43)
    assert min(found.microseconds) > 0
