"""A walk over all registered studies: what each must say and have at every scale."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import tutelage
from tutelage import TutelageError
from tutelage.discover import SUBJECTS
from tutelage.lab.experiment import plain
from tutelage.studies import STUDIES, Claim, Plan, study
from tutelage.studies.study import SCALES, find

NAMED_BY_THE_DESIGN = {
    "boundaries-2d": ("tian2020", "3"),
    "l-shape": ("tian2020", "5"),
    "success-rate": ("tian2020", "7"),
    "specialisation-dynamics": ("tian2020", "8"),
    "focus-shifting": ("tian2019", "8"),
    "loss-curves": ("tian2019", "11"),
    "teacher-aware-data": ("tian2020", "9"),
}


def test_all_studies_are_there():
    assert {name: (s.paper, s.figure) for name, s in STUDIES.items()}.items() >= NAMED_BY_THE_DESIGN.items()


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_says_what_it_shows_and_what_would_refute_it(name):
    study = find(name)
    assert study.title
    assert study.shows.endswith(".")
    for claim in study.plan("quick").claims:
        assert claim.sentence
        assert claim.statistic


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_scales_grow_and_claims_do_not_depend_on_them(name):
    plans = [find(name).plan(scale) for scale in SCALES]
    assert all(plan.experiments for plan in plans), "no study computes outside of experiments"
    settings = [[e.description() for e in plan.experiments] for plan in plans]
    assert settings[0] != settings[2]
    said = [[(c.sentence, c.statistic, c.expected) for c in plan.claims] for plan in plans]
    assert said[0] == said[1] == said[2]


def test_a_claim_that_its_members_cannot_decide_is_an_error_of_the_plan(monkeypatch):
    """Three outcomes of 1, or of 0, leave it open whether most members have 1."""
    claim = Claim("s", "t", "> 0.5", lambda _: {}, "a half", possible=(0.0, 1.0), kind="outcome")
    experiments = [SimpleNamespace(members=3)]
    monkeypatch.setitem(STUDIES, "mine", None)
    made = study("mine", paper="tian2020", figure="5", shows="It.")(lambda _: Plan(experiments, None, [claim]))
    assert made.plan("smoke").claims == [claim]  # a rehearsal decides nothing
    with pytest.raises(TutelageError, match="no outcome of 3 members"):
        made.plan("paper")


@pytest.mark.parametrize("scale", SCALES)
def test_experiments_of_a_study_are_distinct(scale):
    for known in STUDIES.values():
        hashes = [s.hash for s in known.plan(scale).experiments]
        assert len(set(hashes)) == len(hashes)


def test_the_paper_scale_is_the_seeds_own():
    """32 seeds, 100 epochs of 1,000 batches of 16, 10,000 training and evaluation points, d = 100, C = 50."""
    for name in ("l-shape", "success-rate", "loss-curves", "specialisation-dynamics"):
        for experiment in find(name).plan("paper").experiments:
            assert len(experiment.seeds) == 32
            assert (experiment.training.steps, experiment.training.batch, experiment.training.learning_rate) == (
                100_000,
                16,
                0.01,
            )
            assert (experiment.inputs.train, experiment.inputs.evaluate) == (10_000, 10_000)
            assert (experiment.teacher.inputs, experiment.teacher.outputs) == (100, 50)


def test_an_unknown_study_is_refused_with_the_nearest_name():
    with pytest.raises(TutelageError, match="did you mean 'l-shape'"):
        find("lshape")


def test_a_study_of_a_known_name_is_an_error():
    with pytest.raises(TutelageError, match="there is a study 'l-shape' already"):

        @study("l-shape", paper="tian2020", figure="5", shows="Something else.")
        def other(scale):
            """Another one."""


@pytest.mark.parametrize("scale", SCALES)
def test_settings_of_every_experiment_are_plain_data(scale):
    for name in STUDIES:
        for experiment in find(name).plan(scale).experiments:
            again = type(experiment)(**json.loads(json.dumps(plain(experiment))))
            assert again.hash == experiment.hash, name


def test_no_study_looks_for_a_gpu_by_itself():
    """The device is passed in: a study that asks torch for one would ignore --device."""
    files = [file for name in SUBJECTS for file in (Path(tutelage.__file__).parent / name / "studies").glob("*.py")]
    assert len(files) > 60
    assert [file.name for file in files if "is_available" in file.read_text()] == []
