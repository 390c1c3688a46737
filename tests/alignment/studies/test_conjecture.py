"""The conjecture as experiments: what is stored can be checked again, and a spoilt box is noticed."""

import numpy as np
import pytest

from tutelage.alignment.interval_proof import prove
from tutelage.alignment.proof_checker import check
from tutelage.alignment.studies.conjecture import BoxProof, arranged, conjecture, read_proof
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
    assert plan.numbers(found).num_rows == len(plan.experiments)


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


def test_the_proof_is_the_same_wherever_it_runs():
    experiment = BoxProof(margin=3, finest=5)
    first, second = experiment.run(Context()), experiment.run(Context())
    assert np.array_equal(first["codes"].value, second["codes"].value)
