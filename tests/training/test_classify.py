"""SGD with cross-entropy, against automatic differentiation."""

import pytest
import torch

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.margins.datasets import orthants
from tutelage.training import Cosine, Sgd
from tutelage.training.classify import Residual, classify, small_uniform


def by_autograd(start, x, y, seeds, epochs, batch, rate):
    weights = [w.clone().requires_grad_() for w in start.weights]
    keys = draws.keys(seeds, "classifier batches")
    n = y.shape[1]
    for epoch in range(epochs):
        order = draws.permutations(keys, n, epoch)
        for at in range(0, n, batch):
            rows = order[:, at : at + batch]
            xb = x.gather(1, rows.unsqueeze(2).expand(-1, -1, x.shape[2]))
            h = Residual(tuple(weights)).outputs(xb)
            loss = torch.nn.functional.softplus(-y.gather(1, rows) * h).mean(1).sum()
            for w, g in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                w.data -= rate * g
    return weights


@pytest.mark.parametrize("layers", [2, 4])
def test_it_takes_the_steps_of_sgd(layers):
    data = orthants(range(3), count=23, dimension=4)
    x, y = data.x.float(), data.y.float()
    start = small_uniform(range(3), 4, 6, layers, factor=1.0)
    found = classify(start, x, y, range(3), epochs=6, batch=5, learning_rate=0.2)
    wanted = by_autograd(start, x, y, range(3), 6, 5, 0.2)
    for a, b in zip(found.weights, wanted, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)


def test_a_member_does_not_depend_on_its_company():
    data = orthants(range(3), count=20, dimension=4)
    start = small_uniform(range(3), 4, 6)
    many = classify(start, data.x, data.y, range(3), epochs=3, batch=5)
    one = classify(Residual(tuple(w[1:2] for w in start.weights)), data.x[1:2], data.y[1:2], [1], epochs=3, batch=5)
    assert all(torch.equal(a[1:2], b) for a, b in zip(many.weights, one.weights, strict=True))


def test_separable_data_are_learnt():
    data = orthants(range(2), count=100)
    start = small_uniform(range(2), 20, 30)
    told = []
    found = classify(start, data.x, data.y, range(2), epochs=60, on_progress=told.append)
    assert (data.y * found.outputs(data.x.float()) > 0).all()
    assert told[-1] == 1
    assert found.network.widths == (20, 30, 1)


def test_bad_settings_are_refused():
    data, start = orthants(range(2), count=20, dimension=4), small_uniform(range(2), 4, 6, 3)
    for options, said in (
        ({"epochs": -1}, "'epochs' in the training"),
        ({"batch": 21}, "a batch of 21 without replacement needs as many samples; there are 20"),
        ({"schedule": Cosine()}, "Training.schedule='cosine' is not supported by classify: use 'constant'"),
        ({"optimiser": Sgd(momentum=0.9)}, "momentum and weight decay are not supported by classify"),
        ({"loss": "mse"}, "use 'binary-cross-entropy'"),
    ):
        with pytest.raises(TutelageError, match=said):
            classify(start, data.x, data.y, range(2), **{"batch": 5, **options})
    with pytest.raises(TutelageError, match="recode"):
        classify(start, data.x, data.y + 1, range(2), batch=5)
    with pytest.raises(TutelageError, match="seeds"):
        classify(start, data.x, data.y, range(3), batch=5)
    with pytest.raises(TutelageError, match="no plain stack"):
        _ = start.network
    with pytest.raises(TutelageError, match="layers must be at least 2, got 1"):
        small_uniform([0], 4, 6, 1)
    with pytest.raises(TutelageError, match="diverged"):
        classify(start, 1e8 * data.x, data.y, range(2), batch=5, learning_rate=1e30, epochs=3)
