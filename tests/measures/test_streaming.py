"""Correlations from pieces are those from the whole."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.measures import correlations
from tutelage.measures.streaming import StreamedCorrelation


@given(cuts=st.lists(st.integers(1, 199), max_size=4, unique=True), offset=st.sampled_from([0.0, 1e4, -1e6]))
def test_any_cut_gives_the_correlations_of_the_whole(cuts, offset):
    generator = torch.Generator().manual_seed(len(cuts))
    x = torch.randn(2, 200, 5, generator=generator, dtype=torch.float64) + offset
    y = torch.cat([x[..., :3] * -2 + 1, torch.randn(2, 200, 4, generator=generator, dtype=torch.float64)], dim=2)
    running = StreamedCorrelation()
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), 200], strict=True):
        running.add(x[:, begin:end], y[:, begin:end])
    torch.testing.assert_close(running.correlations(), correlations(x, y), rtol=1e-8, atol=1e-8)
    assert running.count == 200


def test_constant_units_have_correlation_0(dtype):
    x = torch.randn(1, 1000, 3, dtype=dtype)
    x[..., 1] = 0.3
    running = StreamedCorrelation()
    running.add(x[:, :400], x[:, :400])
    running.add(x[:, 400:], x[:, 400:])
    rho = running.correlations()[0]
    assert (rho[1] == 0).all()
    assert (rho[:, 1] == 0).all()
    assert running.norms()[0][0].tolist()[1] == 0
    assert abs(rho[0, 0] - 1) < 1e-6


def test_what_cannot_be_compared_is_refused():
    running = StreamedCorrelation()
    with pytest.raises(TutelageError, match="same samples"):
        running.add(torch.zeros(1, 3, 2), torch.zeros(1, 4, 2))
    running.add(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
    with pytest.raises(TutelageError, match="at least two"):
        running.correlations()
    with pytest.raises(TutelageError, match="units of the first"):
        running.add(torch.zeros(1, 3, 5), torch.zeros(1, 3, 2))
    running.add(torch.full((1, 3, 2), torch.nan), torch.zeros(1, 3, 2))
    with pytest.raises(TutelageError, match="not finite"):
        running.correlations()
