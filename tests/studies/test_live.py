"""How studies stand while their experiments land."""

import pytest

from tutelage.lab import Store, execute
from tutelage.studies.live import Landing
from tutelage.studies.reproduce import plans


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    planned = plans(["l-shape", "focus-shifting"], "smoke")
    experiments = [s for plan in planned.values() for s in plan.experiments]
    return planned, execute(experiments, Store(tmp_path_factory.mktemp("results")))


def test_nothing_landed_means_every_claim_waits(landed):
    planned, _ = landed
    for standing in Landing(planned).standings():
        assert standing.landed == 0
        assert standing.waiting == len(planned[standing.study].claims)
        assert not standing.verdicts


def test_claims_by_setting_are_judged_as_their_results_land(landed):
    planned, results = landed
    landing = Landing(planned)
    landing.add(results[0])
    first = landing.standings()[0]
    assert (first.study, first.landed, first.experiments) == ("l-shape", 1, 12)
    assert sum(first.verdicts.values()) == 2  # the two claims made of every setting by itself
    assert first.waiting == 2  # those that compare settings


def test_in_the_end_everything_is_judged(landed):
    planned, results = landed
    landing = Landing(planned)
    for result in results:
        landing.add(result)
    for standing in landing.standings():
        assert standing.landed == standing.experiments
        assert standing.waiting == 0
