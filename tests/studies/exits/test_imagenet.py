"""The protocol of ImageNet: its settings, and a rehearsal on pictures in folders made on the spot."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tutelage.data.pixels import Pixels
from tutelage.distillation.exit_training import ExitTraining
from tutelage.networks.msdnet import MSDNet
from tutelage.studies.exits import _protocol
from tutelage.studies.exits._protocol import DISTILLED, EXIT_WISE, WITH_UNLABELLED, look
from tutelage.studies.exits.imagenet import OURS, draw
from tutelage.studies.kept import Kept

TINY = MSDNet((2,) * 4, (2,) * 4, 6, (4, 6), (1,) * 4, head=4, large=True)


def test_the_paper_scale_is_the_theses_protocol():
    size = OURS["paper"]
    assert (size.held_of(100), size.total, size.top) == (10, 700, 5)
    training = size.training
    assert (training.epochs, training.batch, training.drops, training.annealing.limit) == (90, 256, (30, 60), 0.1)


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
    monkeypatch.setattr(_protocol, "IMAGENET", TINY)
    _protocol._images.cache_clear()
    yield
    _protocol._images.cache_clear()


def test_folders_of_pictures_are_learnt_from(pictures):
    size = replace(OURS["paper"], labelled=(10,), total=11, members=1, training=ExitTraining(1, batch=9))
    x, y, test, _ = _protocol._images(size)
    assert isinstance(x, Pixels)
    assert x.shape == (66, 3, 256, 256)
    assert test.shape == (12, 3, 224, 224)
    assert y.bincount().tolist() == [11] * 6
    found = look(size, (10,), (EXIT_WISE, WITH_UNLABELLED), Kept(), lambda share: None)
    for method in (EXIT_WISE, WITH_UNLABELLED):
        assert (found.values(10, method, "single") > 60).all()  # among the five likeliest of six


def test_the_figure_names_both_datasets(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    titles = [axes.get_title() for axes in draw(replace(found, size=OURS["smoke"])).axes]
    assert all("blobs(10)" in title for title in titles[:2])
    assert all("top-5\nImageNet(100)" in title for title in titles[2:])
