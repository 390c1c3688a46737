"""Claims of the three regimes on descents of a few steps."""

import numpy as np

from tutelage.lab import Results, Store, execute
from tutelage.local.studies import training_regimes as regimes


def test_each_claim_looks_at_its_own_regimes(tmp_path):
    plan = regimes.training_regimes.plan("smoke")
    found = plan.view(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert [r.name for r in found] == ["lazy", "mean field", "local"]
    _, field, local = found
    assert set(regimes.lazy_stands.values(found)) == {"lazy"}
    assert set(regimes.loss_vanishes.values(found)) == {"mean field", "local"}
    moved = regimes.mean_field_moves.values(found)["mean field"]
    assert (moved > 10 * regimes.lazy_stands.values(found)["lazy"]).all()
    energy = (local.masses * local.angles**2).sum(1)
    assert np.allclose(regimes.on_teachers.values(found)["local"], energy)
    assert (field.losses[-1] < field.losses[0]).all()
