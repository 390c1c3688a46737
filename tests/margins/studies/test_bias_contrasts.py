"""Contrasts on small flows, and the count of empty groups against a count by hand."""

import numpy as np

from tutelage.margins.datasets import clashing, cones
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.studies.bias_contrasts import (
    DATA,
    Contrasts,
    GroupsByWidth,
    _alive,
    _empty,
    contrast,
    draw,
    width,
)
from tutelage.studies import judge


def test_a_small_start_comes_nearer_than_a_large_one():
    data = cones(range(2))
    small, large = (contrast(data, range(2), (0.0, 30.0), size) for size in (1e-4, 30.0))
    assert (small.left_at(30.0) < 0.5 * large.left_at(30.0)).all()
    assert (small.units == 2).all()
    assert (small.outside == 0).all()
    assert (large.outside > 0).all()


def test_points_that_cannot_be_fitted_have_nothing_to_compare_with():
    found = contrast(clashing(range(1)), range(1), DATA["clashing"][:2])
    assert found.left is None
    assert (found.units >= 1).all()


def test_empty_groups_are_counted_as_by_hand():
    seeds = range(12)
    found = width(2, seeds)
    groups = flow(cones(seeds), balanced_start(seeds, 2, 3, 1e-4), [10.0]).groups.tolist()
    assert found.one_empty.tolist() == [float((1 in g) != (-1 in g)) for g in groups]
    assert found.both_empty.tolist() == [float(1 not in g and -1 not in g) for g in groups]
    assert (width(1, seeds).one_empty == 1).all()


def test_claims_on_widths_compare_exact_intervals_with_the_papers_bound():
    """1 of 600 starts shows less than 2^-6 and not less than 2^-8; 300 of 600 show more than 2^-2."""
    one, half = (np.arange(600) == 0).astype(float), np.arange(600) % 2.0
    evidence = Contrasts({}, {}, {}, [GroupsByWidth(p, half, one) for p in (2, 6, 8)])
    assert [judge(_alive(p), evidence)[0].verdict for p in (6, 8)] == ["holds", "undecided"]
    assert judge(_empty(2), evidence)[0].verdict == "holds"
    assert judge(_alive(6), evidence)[0].method == "exact binomial"


def test_where_no_start_loses_all_units_the_bound_on_that_shows_nothing():
    evidence = Contrasts({}, {}, {}, [GroupsByWidth(6, np.zeros(400), np.zeros(400))])
    assert judge(_alive(6), evidence)[0].verdict == "vacuous"


def test_the_figure_holds_every_contrast():
    data = cones(range(2))
    one = contrast(data, range(2), (0.0, 300.0, 690.0))
    stiff = contrast(clashing(range(2)), range(2), DATA["clashing"][:2])
    widths = [width(p, range(3)) for p in (1, 2, 3, 4, 6, 8, 12, 16)]
    evidence = Contrasts({1e-4: one, 10.0: one}, {"cones": one, "clashing": stiff}, {"logistic": one}, widths)
    assert len(draw(evidence).axes) == 4
