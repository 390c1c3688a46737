"""Ways of deciding are held against one another."""

import pytest
import torch

from tutelage.errors import InternalError
from tutelage.functions.comparing import deciding
from tutelage.functions.comparing.equivalence import same_function


def test_a_difference_above_a_bound_is_an_internal_error(random_net, monkeypatch):
    a, b = random_net((2, 4, 1), 1), random_net((2, 4, 1), 2)
    monkeypatch.setattr(deciding, "upper_bound", lambda *_: torch.zeros(1, dtype=torch.float64))
    with pytest.raises(InternalError, match="but a search found a difference of"):
        same_function(a, b, (-1, 1))
