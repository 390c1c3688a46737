"""The sweep has one experiment for each width_factor and polarity."""

from tutelage.specialisation.studies._two_layer import SIZES, sweep


def test_the_sweep_covers_its_grid():
    experiments = sweep("quick", 20, (1, 10), (0.5, 2.0))
    assert [(s.student.width_factor, s.teacher.polarity) for s in experiments] == [
        (1, 0.5),
        (1, 2.0),
        (10, 0.5),
        (10, 2.0),
    ]


def test_the_early_step_is_recorded_at_every_scale():
    for scale, size in SIZES.items():
        (experiment,) = sweep(scale, 20, (1,), (0.5,))
        assert size.early in experiment.record.steps(experiment.training.steps)
