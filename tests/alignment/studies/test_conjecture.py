"""The conjecture as experiments: what is stored can be checked again, and a spoilt box is noticed."""

import numpy as np
import pytest

from tutelage.alignment.interval_proof import prove
from tutelage.alignment.proof_checker import check
from tutelage.alignment.studies.conjecture import (
    BoxProof,
    ConjectureResults,
    arranged,
    confirmed,
    conjecture,
    covering,
    read_proof,
)
from tutelage.errors import TutelageError
from tutelage.lab import Context, Results, Store, execute
from tutelage.studies import judge


def test_a_small_run_proves_searches_and_climbs(tmp_path):
    plan = conjecture.plan("smoke")
    found = arranged(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert found.boxes["rejected"] == 0
    assert 0 < found.boxes["covered"] < 1
    assert set(found.bounds.values()) == {0}
    assert all(values["positive"] == values["unsettled"] == 0 for values in found.searches.values())
    assert len(plan.figure(found).axes) == 3
    assert {k for k, v in found.kernels.items() if v["positive"]} == {"Poisson, r = 0.5", "erf"}
    assert all(v["positive"] + v["negative"] <= v["sets"] for v in found.kernels.values())
    (printed, *others) = [verdict for claim in plan.claims for verdict in judge(claim, found)]
    assert printed.verdict == "does not pass", "the conjecture is false as printed"
    assert {verdict.verdict for verdict in others} == {"passes"}


def test_stored_boxes_are_checked_again(tmp_path):
    experiment = BoxProof(margin=3, finest=7)
    (result,) = execute([experiment], Store(tmp_path), device="cpu")
    held = {name: result[name] for name in ("codes", "lengths")}
    again = check(read_proof(experiment, held))
    assert again.rejected == int(result["rejected"][0]) == 0
    assert again.proved == int(result["proved"][0])
    with pytest.raises(TutelageError, match="do not fit their levels"):
        read_proof(experiment, held | {"codes": held["codes"][:-1]})


def test_a_box_that_is_called_proved_and_is_not_is_rejected():
    proof = prove(3, 5)
    levels = [level.copy() for level in proof.levels]
    last = levels[-1]
    last[np.flatnonzero(last == 6)[0]] = 1  # an open box
    spoilt = type(proof)(proof.margin, tuple(levels))
    assert check(spoilt).rejected == 1


def test_a_proof_that_leaves_boxes_open_or_proves_nothing_does_not_pass():
    found = arranged_boxes(valid=1.0, covered=0.16, margin=3.0)
    assert [judge(one, found)[0].verdict for one in (confirmed, covering)] == ["passes", "passes"]
    open_boxes = arranged_boxes(valid=0.0, covered=0.16, margin=3.0)
    assert judge(confirmed, open_boxes)[0].verdict == "does not pass"
    nothing = arranged_boxes(valid=1.0, covered=0.0, margin=3.0)
    assert judge(covering, nothing)[0].verdict == "does not pass"


def arranged_boxes(**boxes):
    return ConjectureResults(boxes, {}, {}, {}, {})


@pytest.mark.parametrize("margin", [3, 4, 5])
def test_a_share_of_random_sets_has_gaps_above_the_margin(margin):
    """(1 - 4/2^k)^3 of all sets of three angles and the teacher's 0, by sampling."""
    angles = np.sort(np.random.default_rng(0).random((200_000, 3)), axis=1)
    gaps = np.diff(angles, axis=1, prepend=0.0, append=1.0)
    share = (gaps.min(1) >= 2.0**-margin).mean()
    assert abs(share - (1 - 4 / 2**margin) ** 3) < 0.005
    assert prove(margin, 2 * margin).share >= (1 - 4 / 2**margin) ** 3


def test_the_proof_is_the_same_wherever_it_runs():
    experiment = BoxProof(margin=3, finest=5)
    first, second = experiment.run(Context()), experiment.run(Context())
    assert np.array_equal(first["codes"].value, second["codes"].value)
