"""Kinds of data that differ only in the points on which students are judged have the same students."""

import numpy as np

from tutelage.lab.build import build
from tutelage.specialisation.studies import teacher_aware_data as study
from tutelage.studies import STUDIES


def test_students_judged_on_aware_points_are_the_teacher_aware_ones():
    experiments = [e for e in STUDIES["teacher-aware-data"].plan("smoke").experiments if e.inputs.train == 60]
    by_kind = {kind: build(e) for kind, e in zip(study.LAWS, experiments, strict=True)}
    same, other = by_kind["teacher-aware"][2], by_kind[study.JUDGED_ON_AWARE][2]
    assert np.array_equal(same.train, other.train)
    assert not np.array_equal(same.evaluate, other.evaluate)


def test_their_training_loss_is_judged_once(monkeypatch):
    seen = []
    monkeypatch.setattr(study, "_of", lambda results, kind: seen.append(kind) or [])
    study.both_fit.values(None)
    assert seen == ["teacher-agnostic", "teacher-aware", "agnostic set with its aware augmentation"]
