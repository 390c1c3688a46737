"""The sweep has one pack for each multiple and polarity."""

from tutelage.specialisation.studies.two_layer import SIZES, sweep


def test_the_sweep_covers_its_grid():
    specs = sweep("quick", 20, (1, 10), (0.5, 2.0))
    assert [(s.student.multiple, s.teacher.polarity) for s in specs] == [(1, 0.5), (1, 2.0), (10, 0.5), (10, 2.0)]


def test_the_early_step_is_recorded_at_every_scale():
    for scale, size in SIZES.items():
        (spec,) = sweep(scale, 20, (1,), (0.5,))
        assert size.early in spec.record.steps(spec.training.steps)
