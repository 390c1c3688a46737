"""Slurm through submitit: without a cluster its local executor stands in, task for task."""

import shutil
from dataclasses import replace

import pytest

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent
from tutelage.lab.jobs import Job
from tutelage.lab.on_slurm import on_slurm, submit

pytest.importorskip("submitit", reason="pip install 'tutelage[cluster]'")


def jobs_of(values, folder):
    experiments = [TeacherStudent(**values(teacher={"polarity": p})) for p in (0, 1)]
    return experiments, [Job.of(s, str(folder), "cpu", "stacked", 1) for s in experiments]


def test_an_array_of_results_lands(values, tmp_path):
    experiments, jobs = jobs_of(values, tmp_path)
    landed = []
    submit(jobs, landed.append, cluster="local")
    assert sorted(landed) == sorted(s.hash for s in experiments)
    assert all(s in Store(tmp_path) for s in experiments)


def test_results_that_never_land_are_given_up_with_the_place_of_their_logs(values, tmp_path):
    _, jobs = jobs_of(values, tmp_path)
    broken = replace(jobs[0], engine="warp")
    with pytest.raises(TutelageError, match=r"1 experiment did not land in 3 attempts: see the logs in .*\.slurm"):
        submit([broken], lambda name: None, cluster="local")


@pytest.mark.skipif(shutil.which("srun") is not None, reason="there is a Slurm here")
def test_no_slurm_is_a_sentence(values, tmp_path):
    _, jobs = jobs_of(values, tmp_path)
    with pytest.raises(TutelageError, match="there is no Slurm on this machine"):
        on_slurm("")(jobs, lambda name: None)
