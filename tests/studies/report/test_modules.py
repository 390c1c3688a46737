"""A page about two modules holds what was found, and a picture."""

import numpy as np
import pytest

from tutelage.errors import TutelageError
from tutelage.measures import LayerMatch
from tutelage.studies.figures.matches import draw_matches
from tutelage.studies.report.modules import modules_page

MATCH = LayerMatch("relu1", "act.1", np.array([[0.1, 0.99, 0.0], [0.5, 0.2, 0.0]]), (), (2,), 120)


def test_the_page_says_what_was_found():
    page = modules_page([MATCH, MATCH], ("big.pt", "small.pt"))
    assert "big.pt" in page
    assert "rho_mean 0.745, 1 of 2 teacher units found, 1 student units idle (120 samples)" in page
    assert "data:image/png;base64," in page
    assert "://" not in page
    with pytest.raises(TutelageError, match="at least one pair"):
        modules_page([])


def test_student_units_stand_in_the_order_of_their_teachers():
    (image,) = draw_matches([MATCH]).axes[0].images
    assert np.array_equal(image.get_array(), MATCH.correlation[:, [1, 2, 0]])
