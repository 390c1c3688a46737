"""Ray on this machine: packs land as they do here, and no cluster is a sentence."""

import pytest

from tutelage import Refusal
from tutelage.runs import Spec, Store, execute, schedule

pytest.importorskip("ray", reason="pip install 'tutelage[cluster]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def several(values):
    return [Spec(**values(teacher={"polarity": p})) for p in (0, 1, 2)]


def test_packs_computed_on_ray_are_those_computed_here(values, tmp_path):
    landed = []
    away = schedule(
        several(values),
        Store(tmp_path / "away"),
        "ray",
        engine="stacked",
        on_landed=lambda p: landed.append(p.spec.hash),
    )
    local = execute(several(values), Store(tmp_path / "local"), engine="stacked")
    for a, b in zip(away, local, strict=True):
        assert {n: v.tobytes() for n, v in a.report.values.items()} == {
            n: v.tobytes() for n, v in b.report.values.items()
        }
    assert len(landed) == 3


def test_a_refusal_in_a_task_reaches_the_user(values, tmp_path):
    with pytest.raises(Refusal, match="there is no engine 'warp'"):
        schedule(several(values), Store(tmp_path), "ray", engine="warp")
