"""The conjecture as experiments: bounds, searches and climbs; its one printed sentence is false."""

from tutelage.alignment.studies.conjecture import arranged, conjecture
from tutelage.lab import Results, Store, execute
from tutelage.studies import judge


def test_a_small_run_bounds_searches_and_climbs(tmp_path):
    plan = conjecture.plan("smoke")
    found = arranged(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert set(found.bounds.values()) == {0}
    assert all(values["positive"] == values["unsettled"] == 0 for values in found.searches.values())
    assert len(plan.figure(found).axes) == 3
    assert {k for k, v in found.kernels.items() if v["positive"]} == {"Poisson, r = 0.5", "erf"}
    assert all(v["positive"] + v["negative"] <= v["sets"] for v in found.kernels.values())
    (printed, *others) = [verdict for claim in plan.claims for verdict in judge(claim, found)]
    assert printed.verdict == "does not pass", "the conjecture is false as printed"
    assert {verdict.verdict for verdict in others} == {"passes"}
