"""The picture holds the pieces of both networks, the difference and the witness, in the plane they lie in."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions import box, enumerate_regions, polytope, same_function
from tutelage.functions.drawing import draw_comparison
from tutelage.networks import Network


def network(inputs, seed, activation="relu"):
    draw = torch.Generator().manual_seed(seed)
    widths = ((inputs, 4), (4, 3), (3, 1))
    weights = tuple(torch.randn(1, i, o, generator=draw, dtype=torch.float64) for i, o in widths)
    return Network(
        weights, tuple(torch.randn(1, o, generator=draw, dtype=torch.float64) / 3 for _, o in widths), activation
    )


@pytest.mark.parametrize("inputs", [2, 3, 6])
@pytest.mark.parametrize("domain", ["box", "polytope", None])
def test_a_plane_through_the_witness(inputs, domain):
    where = {
        "box": box(-1, 2, dimension=inputs),
        "polytope": polytope(
            torch.cat([-torch.eye(inputs), torch.ones(1, inputs)]), torch.tensor([1.0] * inputs + [2.0])
        ),
        None: None,
    }[domain]
    a, b = network(inputs, 1), network(inputs, 2)
    witness = same_function(a, b, where).witness
    figure = draw_comparison(a, b, where, witness)
    panels = figure.axes[:3]
    for panel in panels:
        (star,) = panel.lines
        x, y = star.get_xydata()[0]
        assert panel.get_xlim()[0] - 1e-6 <= x <= panel.get_xlim()[1] + 1e-6
        assert panel.get_ylim()[0] - 1e-6 <= y <= panel.get_ylim()[1] + 1e-6
    if inputs == 2 and domain == "box":
        assert f"{len(enumerate_regions(a, where))} pieces" in panels[0].get_title()


def test_the_colours_are_the_difference():
    a, b = network(2, 1), network(2, 2)
    found = same_function(a, b, (-1, 1))
    figure = draw_comparison(a, b, box(-1, 1, dimension=2), found.witness)
    mesh = next(c for c in figure.axes[2].collections if type(c).__name__ == "QuadMesh")
    assert mesh.get_array().max() == pytest.approx(found.difference, rel=0.02)
    figure.draw_without_rendering()


@pytest.mark.parametrize("activation", ["leaky", "abs", "linear"])
def test_other_activations_and_no_witness(activation):
    a = network(3, 1, activation)
    figure = draw_comparison(a, a, box(-1, 1, dimension=3), None)
    assert not figure.axes[0].lines
    figure.draw_without_rendering()


def test_one_input_is_no_plane():
    a = network(1, 1)
    with pytest.raises(TutelageError, match="at least two inputs"):
        draw_comparison(a, a, None, None)
