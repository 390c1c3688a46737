"""What a course says of the limits, on courses built to be at them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tutelage.margins.datasets import cones
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.limits import kkt_point
from tutelage.margins.max_margin import max_margins
from tutelage.margins.studies.orthogonal_limits import (
    CASES,
    HALF,
    QUANTITIES,
    TIMES,
    Nearing,
    like_one_over_log,
    like_the_root,
    nearing,
    no_faster,
    still_closes,
)
from tutelage.studies.claims import met


def test_a_course_that_is_at_its_limit_has_nothing_left():
    """Units along w_+ and w_-, scaled so that |W|^2 = |w_+| log t, with the loss that belongs to it."""
    data = cones(range(2))
    margins = max_margins(data)
    course = flow(data, balanced_start(range(2), 6, 3), TIMES)
    sign = course.a[-1].sign()
    point = kkt_point(margins, (sign > 0).double(), (sign < 0).double())
    w, a = point.weights[0].mT, point.weights[1].squeeze(2)
    log_t = torch.tensor(TIMES, dtype=torch.float64).clamp_min(1e-9).sqrt()
    made = replace(course, w=log_t[:, None, None, None] * w, a=log_t[:, None, None] * a)
    found = nearing(CASES[1], made, margins)
    assert np.allclose(found.first[-1], 0, atol=1e-7)
    assert np.allclose(found.second[-1], 0, atol=1e-7)
    assert np.allclose(found.max_margin[-1], 1)
    for name in ("pace", "share", "factor"):
        assert np.allclose(found.off[name][-1], 0, atol=1e-7), name
    assert (found.off["smoothed margin"][-1] < 0.01).all()  # several support samples share the loss


def built(spans: list[bool], ratio: float) -> Nearing:
    members = len(spans)
    first = np.ones((len(TIMES), members))
    first[-1] = ratio * first[TIMES.index(HALF)]
    zero = np.zeros((len(TIMES), members))
    sums = np.linspace(1, 0, len(TIMES))[:, None] + zero
    settled = np.array([3.0, 2.1, np.inf, -4.0])[:members]
    off = dict.fromkeys(QUANTITIES, zero)
    return Nearing(CASES[0], zero, sums, first, zero, off, zero + 1, zero[0], settled, np.array(spans))


def test_networks_whose_supports_span_are_judged_apart():
    found = [built([True, False, True, False], 0.5)]
    assert np.isfinite(like_one_over_log.values(found)[CASES[0].name]).tolist() == [True, False, True, False]
    assert np.isfinite(like_the_root.values(found)[CASES[0].name]).tolist() == [False, True, False, True]
    assert like_one_over_log.values([built([False, False], 0.5)]) == {}


@pytest.mark.parametrize(("power", "spans", "holds"), [
    (2.0, True, [True, False]), (1.0, True, [True, True]), (0.5, True, [False, True]),
    (1.0, False, [False, True]), (0.5, False, [True, True]), (0.0, False, [True, False]),
])  # fmt: skip
def test_each_pace_is_told_from_a_faster_and_from_a_slower_one(power, spans, holds):
    found = [built([spans] * 4, 0.5**power)]
    pair = (like_one_over_log, no_faster) if spans else (like_the_root, still_closes)
    assert [met(claim.expected, claim.values(found)[CASES[0].name][0]) for claim in pair] == holds


def test_the_first_record_after_all_units_have_settled_is_taken():
    one = built([True] * 4, 0.5)
    places = [TIMES.index(3), TIMES.index(2.5), None, 0]
    wanted = [np.nan if p is None else one.class_sum[p, 0] for p in places]
    assert np.allclose(one.at_settled(), wanted, equal_nan=True)
