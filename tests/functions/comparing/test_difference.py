"""Questions about two networks: proofs, witnesses, and what neither decides."""

import itertools

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.comparing.difference import difference_bound, difference_curve, top_class_agreement
from tutelage.functions.domain import box, polytope
from tutelage.functions.rounding import exact_difference, exact_outputs
from tutelage.networks import Network


def net(seed, widths=(2, 6, 5, 2), scale=1.0):
    torch.manual_seed(seed)
    pairs = list(itertools.pairwise(widths))
    weights = tuple(scale * torch.randn(1, m, n, dtype=torch.float64) / m**0.5 for m, n in pairs)
    return Network(weights, tuple(scale * torch.randn(1, n, dtype=torch.float64) / 2 for _, n in pairs))


def near(network, size=1e-2, seed=5):
    torch.manual_seed(seed)
    return network.map(lambda a: a + size * torch.randn_like(a))


@pytest.mark.parametrize("seed", range(6))
def test_the_verdict_is_that_of_all_regions(seed):
    first = net(seed)
    second = near(first, 10.0 ** -(seed % 3 + 1))
    exact = supremum(first, second, box(-1, 1, dimension=2))
    above = difference_bound(first, second, (-1, 1), exact.value * 1.02)
    assert above.holds
    assert exact.value * (1 - 1e-9) <= above.at_most.max() <= exact.value * 1.02 * (1 + 1e-12)
    below = difference_bound(first, second, (-1, 1), exact.value * 0.98)
    assert below.verdict == "violated"
    assert max(exact_difference(first, second, below.witness)) > exact.value * 0.98


@pytest.mark.parametrize("seed", range(4))
def test_without_epsilon_the_bound_comes_close_to_the_largest_difference(seed):
    first, second = net(seed), near(net(seed))
    exact = supremum(first, second, box(-1, 1, dimension=2)).value
    found = difference_bound(first, second, (-1, 1))
    assert found.holds
    assert exact * (1 - 1e-9) <= found.at_most.max().item() <= 1.06 * exact
    assert found.largest.max().item() <= exact * (1 + 1e-9)


def test_networks_of_other_widths_and_depths():
    first, second = net(0, (2, 7, 2)), net(1, (2, 3, 4, 2))
    exact = supremum(first, second, box(-1, 1, dimension=2)).value
    assert difference_bound(first, second, (-1, 1), 1.05 * exact).holds
    assert difference_bound(first, second, (-1, 1), 0.95 * exact).verdict == "violated"


def reordered(network, kept, seed=7):
    """Some hidden units of every layer, in another order; the others must have no effect."""
    torch.manual_seed(seed)
    weights, biases = [w[0] for w in network.weights], [b[0] for b in network.biases]
    for layer, count in enumerate(kept):
        order = torch.randperm(count)
        weights[layer], biases[layer] = weights[layer][:, order], biases[layer][order]
        weights[layer + 1] = weights[layer + 1][order]
    return Network(tuple(w[None] for w in weights), tuple(b[None] for b in biases))


@pytest.mark.parametrize(("kept", "size"), [((24, 20), 0.0), ((24, 20), 1e-7), ((20, 20), 1e-7), ((15, 12), 1e-7)])
@pytest.mark.parametrize("swapped", [False, True])
def test_units_that_were_removed_or_changed_places_do_not_widen_the_bound(kept, size, swapped):
    whole = net(3, (30, 24, 20, 3))
    for layer, count in enumerate(kept):
        whole.weights[layer + 1][:, count:] = 0  # these units are not read
    pair = whole, near(reordered(whole, kept), size)
    found = difference_bound(*(pair[::-1] if swapped else pair), (-1, 1), 1e-4, seconds=20)
    assert found.holds
    assert found.parts == 1
    assert (found.largest <= found.at_most).all()


def test_one_output_and_one_limit_per_output():
    first = net(2)
    second = near(first)
    found = difference_bound(first, second, (-1, 1))
    limits = found.at_most * 1.01
    assert difference_bound(first, second, (-1, 1), limits).holds
    assert difference_bound(first, second, (-1, 1), limits[1].item(), output=1).holds
    assert difference_bound(first, second, (-1, 1), found.largest[0].item() / 2, output=0).verdict == "violated"


def test_flat_sides_and_points():
    first, second = net(3), near(net(3))
    low = torch.tensor([0.5, -1.0], dtype=torch.float64)
    high = torch.tensor([0.5, 1.0], dtype=torch.float64)
    found = difference_bound(first, second, (low, high))
    assert found.holds
    assert found.witness[0] == 0.5
    whole = difference_bound(first, second, (-1, 1))
    assert found.largest.max() <= whole.at_most.max()
    at = difference_bound(first, second, (low, low))
    exact = [float(v) for v in exact_difference(first, second, low)]
    assert at.at_most.tolist() == pytest.approx(exact, rel=1e-9)


def test_a_polytope_is_smaller_than_its_box():
    first, second = net(4), near(net(4))
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([1.0, 1.0, -1.0]))
    exact = supremum(first, second, triangle).value
    assert difference_bound(first, second, triangle, 1.05 * exact).holds
    refuted = difference_bound(first, second, triangle, 0.9 * exact)
    assert refuted.verdict == "violated"
    assert refuted.witness.sum() <= -1


def test_top_classes_that_agree_and_that_do_not():
    first = Network((torch.eye(2, dtype=torch.float64).unsqueeze(0),))
    second = first.map(lambda a: a.clone())
    second.weights[0][0, 0, 0] = 1.1
    apart = torch.tensor([1.0, -1.0]), torch.tensor([2.0, 0.5])
    assert top_class_agreement(first, second, apart).holds
    refuted = top_class_agreement(first, second, (0.5, 1.0))
    assert refuted.verdict == "violated"
    a, b = exact_outputs(first, refuted.witness), exact_outputs(second, refuted.witness)
    assert (a[0] > a[1]) != (b[0] > b[1])
    assert top_class_agreement(first, second, (0.5, 1.0), margin=0.11).holds


def test_equal_networks_need_no_boxes():
    found = difference_bound(net(0), net(0), (-1, 1), 0.0)
    assert found.holds
    assert found.parts == 0
    assert found.at_most.max() == 0


def test_a_time_limit_returns_the_best_bound():
    first, second = net(0, (4, 20, 20, 20, 2)), net(1, (4, 20, 20, 20, 2))
    found = difference_bound(first, second, (-3, 3), seconds=0.0)
    assert found.verdict == "not decided"
    assert found.largest.max() < found.at_most.max() < torch.inf


def test_a_curve_grows_with_the_box():
    first, second = net(0), near(net(0))
    curve = difference_curve(first, second, torch.zeros(2), (0.1, 0.5, 1.0))
    bounds = [c.at_most.max().item() for c in curve]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: difference_bound(net(0), net(0, (3, 2, 2)), (-1, 1)), "inputs"),
        (lambda: difference_bound(net(0), near(net(0)), (-1, 1), -1.0), "epsilon must be"),
        (lambda: difference_bound(net(0), near(net(0)), (-1, 1), [1.0, 2.0, 3.0]), "2 numbers"),
        (lambda: difference_bound(net(0), near(net(0)), (-1, 1), 1.0, output=2), "output must be from 0 to 1"),
        (lambda: difference_bound(net(0), near(net(0)), (1, -1)), "high of a box must lie above its low"),
        (lambda: top_class_agreement(net(0), near(net(0)), (-1, 1), margin=-1.0), "margin must be"),
        (lambda: top_class_agreement(net(0, (2, 3, 1)), net(1, (2, 3, 1)), (-1, 1)), "two outputs"),
    ],
)
def test_what_cannot_be_asked_is_an_error(call, words):
    with pytest.raises(TutelageError, match=words):
        call()


def test_many_inputs_are_answered_by_branching_on_units():
    torch.manual_seed(0)
    first = net(0, (40, 12, 10, 3))
    second = first.map(lambda a: a + 0.05 * torch.randn_like(a))
    found = difference_bound(first, second, (-0.3, 0.3))
    bound = difference_bound(first, second, (-0.3, 0.3), 0.9 * found.at_most.max().item(), seconds=20)
    assert bound.largest.max() <= found.at_most.max()
    centre = torch.randn(40, dtype=torch.float64)
    agreed = top_class_agreement(first, second, (centre - 0.05, centre + 0.05), seconds=20)
    assert agreed.verdict != "not decided"


def test_progress_tells_bound_and_largest_difference_for_branching_on_units():
    torch.manual_seed(0)
    first = net(0, (40, 12, 10, 3))
    second = first.map(lambda a: a + 0.05 * torch.randn_like(a))
    told = []
    found = difference_bound(first, second, (-0.3, 0.3), seconds=5, on_progress=lambda *a: told.append(a))
    assert told
    assert all(bound >= largest - 1e-9 for bound, largest, _ in told)
    assert min(bound for bound, _, _ in told) >= found.largest.max() - 1e-9


def mirrored(network):
    """The same function on [-1, 1]: max(0, u) = u + max(0, -u), with u from a unit that is active throughout."""
    w, b = network.weights[0], network.biases[0]
    far = w.abs().sum(1) + b.abs() + 1
    above = network.weights[1]
    return Network(
        (torch.cat([-w, w], 2), torch.cat([above, above], 1)),
        (torch.cat([-b, b + far], 1), network.biases[1] - torch.einsum("sn,snc->sc", far, above)),
    )


def test_units_that_were_turned_round_are_proved_close_by_their_normal_forms():
    draw = torch.Generator().manual_seed(3)
    first = Network(
        (torch.randn(1, 10, 12, generator=draw).double(), torch.randn(1, 12, 2, generator=draw).double()),
        (torch.randn(1, 12, generator=draw).double(), torch.randn(1, 2, generator=draw).double()),
    )
    found = difference_bound(first, mirrored(first), (-1, 1), 1e-9, seconds=20)
    assert found.verdict == "holds"
    assert found.reason == "one is the other with units moved, scaled, removed or merged, up to rounding"
    assert found.parts == 0
    bound = difference_bound(first, mirrored(first), (-1, 1), enough=1e-9, seconds=20)
    assert bound.holds
    assert bound.at_most.max() <= 1e-9
    assert top_class_agreement(first, mirrored(first), (-1, 1), 1e-8, seconds=20).verdict == "holds"


def test_a_proof_whose_boxes_are_kept_consists_of_boxes():
    one, two = (torch.full((1, 1, 1), v, dtype=torch.float64) for v in (1.0, 2.0))
    first = Network((torch.cat([one, -one], 2), torch.cat([one, -one], 1)))
    second = Network((torch.cat([two, -two], 2), torch.cat([one, -one], 1) / 2))
    found = difference_bound(first, second, (-1, 1), 1e-9, keep=True)
    assert found.holds
    assert found.leaves is not None


def test_rounding_of_a_search_is_no_difference():
    """Units without weights change no output; sums in another order differ in floats all the same."""
    draw, shapes = torch.Generator().manual_seed(0), ((40, 30), (30, 20), (20, 2))
    low, middle, top = (torch.randn(1, *shape, generator=draw, dtype=torch.float64) for shape in shapes)
    idle = torch.zeros(1, 40, 7, dtype=torch.float64), torch.ones(1, 7, 20, dtype=torch.float64)
    more = Network((torch.cat([low[..., :10], idle[0], low[..., 10:]], 2),
                    torch.cat([middle[:, :10], idle[1], middle[:, 10:]], 1), top))  # fmt: skip
    answer = difference_bound(more, Network((low, middle, top)), (-1, 1), 1e-6)
    assert answer.holds
    assert (answer.largest == 0).all()
