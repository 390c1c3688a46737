"""The networks of Table 3.1, how they start, and what claims read off a course."""

import numpy as np
import pytest
import torch

from tutelage.data.blobs import blobs
from tutelage.lab import Context
from tutelage.margins.studies.orthogonal_representations import (
    VARIANTS,
    RepresentationCourse,
    Representations,
    RepresentationTraining,
    _layers,
    _plan,
    _some,
    cross_class,
    gap_grows,
    more_than_two,
    orthogonal_representations,
    started,
    to_the_right,
)


def test_the_paper_scale_has_the_seeds_layers():
    first = orthogonal_representations.plan("paper").experiments[0]
    plan = _plan((1, 28, 28), first.channels, first.dense)
    shapes = [(32, 28, 28)] * 2 + [(32, 14, 14)] + [(64, 14, 14)] * 2 + [(64, 7, 7), (128,)]
    assert plan.shapes() == shapes
    assert plan.fan_ins()[-2:] == [(3136,), (128,)]
    assert (first.batch, first.epochs) == (128, 50)


@pytest.mark.parametrize("zero", [True, False])
def test_a_start_has_torchs_scale_but_for_the_dense_layers(zero):
    plan = _plan((1, 12, 12), (8, 16), 32)
    model = started(plan, range(3), zero)
    for layer, fan in enumerate(plan.fan_ins()):
        bound = np.prod(fan) ** -0.5
        largest = model.weights[layer].abs().max().item() / (0.05 if len(fan) == 1 else 1)
        assert 0.9 * bound < largest <= bound * (1 + 1e-6)
        biases = model.biases[layer].abs().max().item()
        assert biases == 0 if zero else 0.3 * bound < biases <= bound


def test_layer_zero_is_the_pixels_and_the_last_is_before_its_activation():
    images = blobs(200, 10, side=12).of_classes(0, 1)
    x = torch.from_numpy(images.train).float().permute(0, 3, 1, 2)
    points, y = _some(x, torch.from_numpy(images.train_labels), 6)
    model = started(_plan((1, 12, 12), (3, 4), 8), range(2), True)
    layers = _layers(model, points)
    assert y.tolist() == [0] * 6 + [1] * 6
    assert torch.equal(layers[0][1], points.flatten(1))
    assert (layers[-1] < 0).any()
    with torch.no_grad():
        torch.testing.assert_close(layers[-1].relu(), model.features(points)[0][-1])


def test_claims_read_the_last_record():
    name = next(iter(VARIANTS))

    def course(values):
        fields = dict.fromkeys(("cross_positive", "same_not", "ahead", "gap"), np.array(values))
        singular = np.array([[10.0, 2.0, 1.5, 0.1], [10.0, 2.0, 0.5, 0.1]])
        shares = {"train": fields, "test": fields}
        ends = (np.ones((2, 2)), np.ones(2), singular, np.ones((4, 2)), np.ones(4))
        return RepresentationCourse(name, (0, 1), shares, *ends)

    rising = [[[0.0] * 4] * 2, [[0.0, 0.3, 0.2, 0.4], [0.5, 0.4, 0.3, 0.2]]]
    result = Representations("blobs", [course(rising)], [], 10)
    assert np.allclose(to_the_right.values(result)[name], [0.2, 0.2])
    assert np.allclose(gap_grows.values(result)[name], [0.8, -1.0])
    crossed = cross_class.values(result)[f"{name}, test pairs"]
    assert np.allclose(crossed.values, [0.4, 0.2])
    assert crossed.step == 1 / 90  # 45 pairs of ten images in each of two classes
    assert more_than_two.values(result)[name].tolist() == [3, 2]


def test_only_recorded_epochs_are_measured_and_progress_is_told():
    shares = []
    experiment = RepresentationTraining(
        images="blobs", train=64, pairs=10, channels=(3, 4), dense=8, epochs=3, recorded=(0, 2), batch=32, seeds=2
    )
    arrays = experiment.run(Context(progress=shares.append))
    assert arrays["train_gap"].shape == arrays["test_ahead"].shape == (2, 2, 8)
    assert arrays["accuracy"].shape == (2, 2)
    assert arrays["loss"].shape == (2,)
    assert arrays["density"].value.shape[:2] == (8, 3)
    assert shares == [0, 1 / 3, 2 / 3, 1]
