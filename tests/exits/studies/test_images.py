"""The study of 150 images per class: what its scales are, and what its figure shows."""

import numpy as np
import pytest
from PIL import Image

from tutelage.data.pixels import Pixels
from tutelage.exits.msdnet import MSDNet
from tutelage.exits.studies import _exit_network as exit_network
from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, THREE, WITH_UNLABELLED, accuracies, networks
from tutelage.exits.studies.images import IMAGENET, IMAGENET_LABELLED, draw_imagenet, drawn, exits_imagenet, smallest
from tutelage.lab import Results, Store, execute
from tutelage.studies.study import find
from tutelage.training import Drops


def test_the_paper_scale_is_a_part_of_the_budget_studys():
    budget = {experiment.hash for experiment in find("exits-budget").plan("paper").experiments}
    assert {experiment.hash for experiment in smallest("paper")} < budget
    for quick in smallest("quick"):
        assert (quick.images, quick.labelled, quick.held, quick.total) == ("fashion-mnist", 150, 50, 500)


def test_the_figure_has_both_modes_and_the_theses_below_by_name(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    titles = [axes.get_title() for axes in drawn(THREE)(found).axes]
    assert ["blobs(10)" in title and "top-1" in title for title in titles] == [True, True, False, False]
    assert all("CIFAR-100(150)" in title and "top-5" in title for title in titles[2:])


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


@pytest.mark.parametrize("methods", [(EXIT_WISE, DISTILLED), (DISTILLED, WITH_UNLABELLED)])
def test_a_figure_has_the_two_ways_and_those_of_the_paper_below(known, methods):
    panels = drawn(methods)(known((12,), dict.fromkeys(methods, 0.0))).axes
    assert ["blobs(12)" in axes.get_title() for axes in panels] == [True, True, False, False]
    assert {axes.get_legend_handles_labels()[1][-1] for axes in panels[:2]} == {methods[1].name}
    assert all(len(axes.lines) == 2 for axes in panels[2:])


TINY = MSDNet((2,) * 4, (2,) * 4, 6, (4, 6), (1,) * 4, head=4, large=True)


def test_the_paper_scale_is_the_theses_protocol():
    for experiment in exits_imagenet.plan("paper").experiments:
        about = experiment.labelled, experiment.held, experiment.total, experiment.top
        assert about == (100, 10, 700, 5)
        training = experiment.training
        assert (training.epochs, training.batch, experiment.objective.annealing.limit) == (90, 256, 0.1)
        assert training.schedule == Drops(at=(30, 60), unit="epochs")
    assert all(10 * IMAGENET[scale]["held"] == IMAGENET_LABELLED[scale] for scale in IMAGENET)


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """Six classes of colours, as folders of pictures."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 12), ("val", 2)):
        for c in range(6):
            folder = tmp_path / "imagenet" / part / f"class{c}"
            folder.mkdir(parents=True)
            for i in range(count):
                base = np.array([40 * c, 255 - 40 * c, 128])
                noise = rng.normal(0, 20, (256, 260, 3))
                Image.fromarray((base + noise).clip(0, 255).astype(np.uint8)).save(folder / f"{i:02}.png")
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    monkeypatch.setattr(exit_network, "IMAGENET", TINY)
    exit_network._images.cache_clear()
    yield
    exit_network._images.cache_clear()


def test_folders_of_pictures_are_learnt_from(pictures, tmp_path):
    settings = IMAGENET["paper"] | {"held": 1, "total": 11, "epochs": 1, "batch": 9, "learning_rate": 0.1, "drops": ()}
    settings |= {"limit": 0.5, "mixed": False}
    x, y, test, _ = exit_network._images("imagenet", None, 11, "cpu")
    assert isinstance(x, Pixels)
    assert x.shape == (66, 3, 256, 256)
    assert test.shape == (12, 3, 224, 224)
    assert y.bincount().tolist() == [11] * 6
    experiments = networks(settings, [10], (EXIT_WISE, WITH_UNLABELLED), 1)
    found = accuracies(Results(execute(experiments, Store(tmp_path / "store"), device="cpu")))
    for method in (EXIT_WISE, WITH_UNLABELLED):
        assert (found.values(10, method, "single") > 60).all()  # among the five likeliest of six


def test_other_pictures_are_another_experiment(pictures, tmp_path):
    (first,) = networks(IMAGENET["paper"], [10], (EXIT_WISE,), 1)
    before = first.hash
    assert before == first.model_copy().hash
    exit_network._listing.cache_clear()
    (tmp_path / "imagenet" / "train" / "class0" / "00.png").unlink()
    assert first.hash != before


def test_the_figure_names_both_datasets(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    titles = [axes.get_title() for axes in draw_imagenet(found).axes]
    assert all("blobs(10)" in title for title in titles[:2])
    assert all("top-5\nImageNet(100)" in title for title in titles[2:])
