"""Every index keeps its word: range, value on identical layers, what leaves it unchanged, and its textbook formula."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tutelage import TutelageError, measure, train
from tutelage.measures.report import Recorder
from tutelage.measures.second_moments import second_moments
from tutelage.measures.similarity import INDICES, kept_directions, minibatch_cka, similarity
from tutelage.networks import Network
from tutelage.training import Training
from tutelage.training.inputs import Gaussian, Inputs
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

NAMES = sorted(INDICES)
OPTIONS = {"svcca": {"keep": 0.8}}  # few directions, so that it differs from CCA on small layers


def layer(samples=400, units=6, seed=0, members=1):
    """Correlated activations with a mean, as ReLU units have."""
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(units, units, generator=generator, dtype=torch.float64)
    return (torch.randn(members, samples, units, generator=generator, dtype=torch.float64) @ mixing + 0.3).relu()


def rotation(units, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(units, units, generator=generator, dtype=torch.float64))[0]


MAPS = {
    "permutation": lambda x, seed: x[..., torch.randperm(x.shape[-1], generator=torch.Generator().manual_seed(seed))],
    "scale": lambda x, seed: 3.7 * x,
    "rotation": lambda x, seed: x @ rotation(x.shape[-1], seed),
    "invertible": lambda x, seed: MAPS["rotation"](x * torch.linspace(1, 4, x.shape[-1]).double(), seed),
}


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 6), q=st.integers(1, 6))
def test_values_lie_in_the_stated_range(name, seed, p, q):
    index = INDICES[name]
    value = similarity(layer(60, p, seed), layer(60, q, seed + 1), by=name).item()
    assert index.low <= value <= index.high


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_and_itself(name):
    x = layer()
    assert similarity(x, x, by=name).item() == pytest.approx(INDICES[name].identical, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", sorted(MAPS))
@pytest.mark.parametrize("side", [0, 1])
def test_what_leaves_an_index_unchanged_and_what_does_not(name, change, side):
    """The stated maps of either layer change nothing; the others do (PWCCA lets any map of the second pass)."""
    x, y = layer(seed=1), layer(seed=1)[..., :4] + layer(units=4, seed=2)
    mapped = (MAPS[change](x, 5), y) if side == 0 else (x, MAPS[change](y, 5))
    options = OPTIONS.get(name, {})
    before, after = (similarity(*layers, by=name, **options).item() for layers in ((x, y), mapped))
    allowed = change in INDICES[name].unchanged_by or (name == "pwcca" and side == 1)
    assert (abs(before - after) < 1e-9) == allowed


@pytest.mark.parametrize("name", NAMES)
def test_symmetry_is_as_stated(name):
    x, y = layer(seed=1), layer(seed=1)[..., :4] + layer(units=4, seed=2)
    there, back = similarity(x, y, by=name).item(), similarity(y, x, by=name).item()
    assert (abs(there - back) < 1e-9) == INDICES[name].symmetric


@pytest.mark.parametrize("name", NAMES)
def test_members_are_compared_each_by_itself(name):
    x, y = layer(members=3, seed=1), layer(members=3, units=4, seed=2)
    together = similarity(x, y, by=name)
    alone = torch.cat([similarity(x[s], y[s], by=name) for s in range(3)])
    assert torch.allclose(together, alone, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_duplicates_and_constants_are_directions_of_no_weight_to_cca(name, dtype):
    """Copies of units (to any positive scale), as over-realised students have, do not change what CCA sees."""
    x, y = layer(seed=1), layer(seed=2)
    wide = torch.cat([y, 2 * y[..., :3], torch.ones_like(y[..., :1])], dim=-1)
    options = OPTIONS.get(name, {})
    before, after = (similarity(x.to(dtype), b.to(dtype), by=name, **options).item() for b in (y, wide))
    assert (abs(before - after) < 1e-5) == (name in ("cca", "pwcca"))


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_layer_has_nothing_in_common(name):
    index, x = INDICES[name], layer()
    value = similarity(x, torch.full_like(x, 2.5), by=name).item()
    assert value == pytest.approx(0 if index.identical == index.high else index.high, abs=1e-9)


def hsic(x, y):
    """The unbiased estimate for linear kernels, from the kernel matrices with an empty diagonal (Song 2012)."""
    k, l = (a @ a.T for a in (x, y))
    k.fill_diagonal_(0)
    l.fill_diagonal_(0)
    n, one = len(k), torch.ones(len(k), dtype=k.dtype)
    middle = (one @ k @ one) * (one @ l @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * (one @ k @ l @ one)
    return ((k * l).sum() + middle) / (n * (n - 3))


@given(seed=st.integers(0, 10**6), samples=st.integers(4, 40), p=st.integers(1, 8), q=st.integers(1, 8))
def test_debiased_cka_is_that_of_the_kernel_matrices(seed, samples, p, q):
    x, y = layer(samples, p, seed)[0] + 5, layer(samples, q, seed + 1)[0] - 3
    product = hsic(x, x) * hsic(y, y)
    assume(product > 1e-6)
    expected = (hsic(x, y) / product.sqrt()).item()
    assert similarity(x, y, by="debiased_cka").item() == pytest.approx(expected, abs=1e-6)


def test_debiased_cka_of_unrelated_layers_is_zero_on_average_where_cka_is_not():
    values = {
        by: torch.stack([similarity(layer(40, 60, s), layer(40, 50, 10_000 + s), by=by)[0] for s in range(100)])
        for by in ("cka", "debiased_cka")
    }
    error = values["debiased_cka"].std() / 10
    assert values["debiased_cka"].mean().abs() < 4 * error
    assert values["cka"].mean() > 0.3


def test_samples_may_come_in_pieces_far_from_the_origin():
    x, y = layer(300, 5, 1) + 1e3, layer(300, 4, 2) - 1e3
    pieces = [(x[:, a:b], y[:, a:b]) for a, b in ((0, 7), (7, 150), (150, 300))]
    whole, parts = similarity(x, y, by="debiased_cka"), similarity(second_moments(pieces), by="debiased_cka")
    assert torch.allclose(whole, parts, atol=1e-7)


def test_minibatch_cka_averages_the_estimates_of_the_batches():
    x, y = layer(90, 5, 1), layer(90, 4, 1)[..., :4] + layer(90, 4, 2)
    cuts = ((0, 20), (20, 50), (50, 90))
    terms = [[hsic(u[0, a:b], v[0, a:b]) for a, b in cuts] for u, v in ((x, x), (y, y), (x, y))]
    xx, yy, xy = (sum(t) for t in terms)
    found = minibatch_cka((x[:, a:b], y[:, a:b]) for a, b in cuts)
    assert found.item() == pytest.approx((xy / (xx * yy).sqrt()).item(), abs=1e-10)


def test_estimates_without_bias_need_four_samples():
    with pytest.raises(TutelageError, match="at least 4 samples, got 3"):
        similarity(layer(3), layer(3), by="debiased_cka")
    with pytest.raises(TutelageError, match="at least one batch"):
        minibatch_cka([])


def test_cca_is_that_of_the_textbook():
    """Canonical correlations as cosines of principal angles between the centred column spaces."""
    from scipy.linalg import subspace_angles

    x, y = layer(seed=1)[0].numpy(), (layer(seed=1)[..., :4] + layer(units=4, seed=2))[0].numpy()
    angles = subspace_angles(x - x.mean(0), y - y.mean(0))
    assert similarity(torch.tensor(x), torch.tensor(y), by="cca").item() == pytest.approx(np.cos(angles).mean())


def test_procrustes_is_scipys_disparity():
    """scipy's disparity of two sets of unit size is sin^2 of our angle."""
    from scipy.spatial import procrustes

    x, y = layer(seed=1)[0].numpy(), layer(seed=2)[0].numpy()
    angle = similarity(torch.tensor(x), torch.tensor(y), by="procrustes").item()
    assert np.sin(angle) ** 2 == pytest.approx(procrustes(x, y)[2], abs=1e-10)


def test_cka_is_that_of_its_kernels():
    """HSIC with linear kernels, from the N x N Gram matrices."""
    x, y = layer(60, seed=1)[0], layer(60, units=4, seed=2)[0]
    centre = torch.eye(60, dtype=torch.float64) - 1 / 60
    k, m = centre @ x @ x.T @ centre, centre @ y @ y.T @ centre
    wanted = (k * m).sum() / (k.norm() * m.norm())
    assert similarity(x, y, by="cka").item() == pytest.approx(wanted.item())


def test_svcca_drops_directions_beyond_its_share():
    """Noise of a hundredth of the deviation disappears; keeping everything is CCA."""
    x = layer(seed=1)
    noisy = torch.cat([x, 1e-2 * layer(units=5, seed=7)], dim=-1)
    moments = second_moments([(x, noisy)])
    teacher, student = kept_directions(moments)
    assert student.item() <= teacher.item()
    assert similarity(moments, by="svcca").item() > 0.999
    assert similarity(moments, by="svcca", keep=1.0).item() == pytest.approx(similarity(moments, by="cca").item())


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.99])
def test_kept_directions_are_the_fewest_that_hold_the_share(keep):
    x = layer(units=8, seed=3)
    values = np.linalg.eigvalsh(np.cov(x[0].numpy().T))[::-1]
    wanted = int(np.argmax(np.cumsum(values) / values.sum() >= keep)) + 1
    assert kept_directions(second_moments([(x, x)]), keep)[0].item() == wanted


def test_too_few_samples_for_canonical_correlations_are_refused():
    x, y = layer(10, 6, 1), layer(10, 6, 2)
    for name in ("cca", "svcca", "pwcca"):
        with pytest.raises(TutelageError, match="need more than"):
            similarity(x, y, by=name, **({"keep": 1.0} if name == "svcca" else {}))
    assert similarity(x, y, by="cka").item() < 1


def test_wrong_requests_are_refused():
    x = layer()
    with pytest.raises(TutelageError, match="index of similarity"):
        similarity(x, x, by="ccka")
    with pytest.raises(TutelageError, match="two layers"):
        similarity(x)
    with pytest.raises(TutelageError, match="share of the variance"):
        similarity(x, x, by="svcca", keep=0.0)


def test_every_index_can_be_recorded():
    """A student that is its teacher has the value of identical layers at step 0, layer by layer."""
    seeds = [0, 1]
    distribution = Gaussian(std=1.5, train=300, evaluate=300)
    teacher = Levels(inputs=8, hidden=(5, 4), outputs=3).build(seeds, distribution, torch.float64, "cpu")
    run = train(teacher, teacher, distribution.draw(teacher, seeds), Training(steps=2, learning_rate=0.0))
    report = measure(run, NAMES)
    for name in NAMES:
        assert report[name].shape[1:] == (2, 2)
        assert np.allclose(report[name][0], INDICES[name].identical, atol=1e-7)


def test_students_grow_more_alike_as_they_learn():
    seeds = [0, 1, 2]
    distribution = Gaussian(std=1.5, train=500, evaluate=500)
    teacher = Levels(inputs=10, hidden=4, outputs=8).build(seeds, distribution, torch.float64, "cpu")
    students = SmallNormal(width_factor=3, scale=0.1).build(teacher, seeds)
    run = train(teacher, students, distribution.draw(teacher, seeds), Training(steps=3000, learning_rate=0.02))
    report = measure(run, NAMES)
    for name in NAMES:
        rise = report[name][-1] - report[name][0]
        assert (rise * (1 if INDICES[name].identical == 1 else -1) > 0).all()


@pytest.mark.parametrize("by", sorted(INDICES))
def test_recorded_indices_have_the_same_bits_with_any_number_of_threads(by):
    """Of wide layers, whose eigenvalues a library computes in all threads it is given."""
    generator = torch.Generator().manual_seed(3)
    teacher, students = (
        Network((torch.randn(2, 30, n, generator=generator), torch.randn(2, n, 2, generator=generator)))
        for n in (120, 160)
    )
    points = torch.randn(2, 600, 30, generator=generator)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            recorder = Recorder(teacher, Inputs(points, points, (0, 1)), (by,))
            recorder.record(0, students, torch.full((2,), -1))
            found.append(recorder.report()[by].tobytes())
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]
