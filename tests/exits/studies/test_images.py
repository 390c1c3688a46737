"""The study of 150 images per class: what its scales are, and what its figure shows."""

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, WITH_UNLABELLED
from tutelage.exits.studies.images import draw, smallest
from tutelage.studies import find


def test_the_paper_scale_is_a_part_of_the_budget_studys():
    budget = {experiment.hash for experiment in find("exits-budget").plan("paper").experiments}
    assert {experiment.hash for experiment in smallest("paper")} < budget
    for quick in smallest("quick"):
        assert (quick.images, quick.labelled, quick.held, quick.total) == ("fashion-mnist", 150, 50, 500)


def test_the_figure_has_both_modes_and_the_theses_below_by_name(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    titles = [axes.get_title() for axes in draw(found).axes]
    assert ["blobs(10)" in title and "top-1" in title for title in titles] == [True, True, False, False]
    assert all("CIFAR-100(150)" in title and "top-5" in title for title in titles[2:])
