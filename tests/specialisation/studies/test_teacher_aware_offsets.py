"""The advantage of teacher-aware data is compared between students of the same teacher, width and number of samples."""

from types import SimpleNamespace

import numpy as np

from tutelage.specialisation.studies import teacher_aware_offsets as study
from tutelage.studies import STUDIES


def test_losses_are_paired_by_teacher_width_and_samples(monkeypatch):
    experiments = STUDIES["teacher-aware-offsets"].plan("quick").experiments
    monkeypatch.setattr(study, "at_step", lambda result, name: result.loss)

    def result(e):
        units, factor = e.teacher.widths()[1], e.student.width_factor
        aware = study._offset(e.inputs)
        loss = units * factor * e.inputs.train * (0.25 if aware == "1 to 2" else 0.5 if aware else 1.0)
        return SimpleNamespace(experiment=e, setting={"width_factor": factor}.__getitem__, loss=np.full(8, loss))

    advantage = study.advantages([result(e) for e in experiments])
    assert len(advantage) == 2 * 2 * 2
    for (offset, _, _), by_samples in advantage.items():
        assert set(by_samples) == {100, 1_000}
        for values in by_samples.values():
            assert np.array_equal(values, np.full(8, 2.0 if offset == "1 to 2" else 1.0))
