"""The studies with as many images as the paper: what they share, and what their figures show."""

import pytest

from tutelage.exits.studies import size_matched, unlabelled
from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, WITH_UNLABELLED
from tutelage.studies import find


def hashes(name, scale, **settings):
    plan = find(name).plan(scale)
    return {e.hash for e in plan.experiments if all(getattr(e, k) == v for k, v in settings.items())}


def test_images_and_steps_are_as_many_as_the_papers():
    for e in find("exits-size-matched").plan("paper").experiments:
        learnt = 10 * (e.labelled - e.held)  # of ten classes
        assert learnt == 100 * (150 - 50)  # of a hundred
        assert e.epochs * (learnt // e.batch) == 46_800


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_the_distilled_networks_are_the_same_ones(scale):
    ours = hashes("exits-size-matched", scale, teachers="last")
    assert ours == hashes("exits-unlabelled", scale, unlabelled=False)
    assert not ours & hashes("exits-unlabelled", scale, unlabelled=True)


@pytest.mark.parametrize(
    ("module", "methods"), [(size_matched, (EXIT_WISE, DISTILLED)), (unlabelled, (DISTILLED, WITH_UNLABELLED))]
)
def test_a_figure_has_the_two_ways_and_those_of_the_paper_below(known, module, methods):
    panels = module.draw(known((12,), dict.fromkeys(methods, 0.0))).axes
    assert ["blobs(12)" in axes.get_title() for axes in panels] == [True, True, False, False]
    assert {axes.get_legend_handles_labels()[1][-1] for axes in panels[:2]} == {methods[1].name}
    assert all(len(axes.lines) == 2 for axes in panels[2:])
