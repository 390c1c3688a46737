"""Event files hold the curves they were told."""

import pytest

from tutelage.lab import Store, execute
from tutelage.studies import STUDIES, reproduce
from tutelage.studies.tracking import open_tracker

pytest.importorskip("tensorboard", reason="pip install 'tutelage[track]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # TensorBoard's own


def test_curves_come_back_from_the_event_files(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (outcome,) = reproduce(["focus-shifting"], "smoke", tmp_path)
    (result,) = execute(STUDIES["focus-shifting"].plan("smoke").experiments, Store(tmp_path / "results"))
    tracker = open_tracker(f"tensorboard:{tmp_path / 'events'}")
    tracker.result(result)
    tracker.study(outcome)
    events = EventAccumulator(str(tmp_path / "events" / result.experiment.hash)).Reload()
    points = events.Scalars("evaluate_loss")
    assert [p.step for p in points] == list(result.report.steps)
    assert points[0].value == pytest.approx(result.report["evaluate_loss"][0].mean(), rel=1e-5)
    claims = EventAccumulator(str(tmp_path / "events" / "focus-shifting")).Reload()
    assert "claims_holds" in claims.Tags()["scalars"]
