"""What several tests of the equations of the overlaps share."""

import pytest
import torch

from tutelage.population.order_parameters import OverlapRows


@pytest.fixture
def change():
    """dQ/dt, dR/dt, dc/dt, and with biases db/dt and da/dt, at overlaps and rates [S]."""

    def slopes(now, rate, second_rate, label_noise=0.0, batch=1):
        state = OverlapRows(now)
        who = torch.arange(len(now.q))
        rows, *small = state.unpacked(state.slope(state.packed(), who, rate, second_rate, label_noise, batch))
        return rows[:, 0, :, : state.k], rows[:, 0, :, state.k :].mT, *small

    return slopes
