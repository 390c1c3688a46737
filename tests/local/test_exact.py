"""Loss, gradient and Hessian against high precision, samples, differences and the symmetries of the problem."""

import math

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.local import exact
from tutelage.local.residuals import residual, second_moments, teacher_matrix
from tutelage.local.setting import LocalSetting, ineffective
from tutelage.local.starts import local_students, opposite_pair, separated_teachers
from tutelage.population import expectations as population


def random_setting(seed, r=3, m=6, d=4, members=2, scale=0.7):
    draw = torch.Generator().manual_seed(seed)
    teachers = torch.randn(members, r, d, generator=draw, dtype=torch.float64)
    return LocalSetting(teachers, scale * torch.randn(members, m, d, generator=draw, dtype=torch.float64))


def in_high_precision(setting):
    """Loss and gradient of the first member with 60 digits."""
    with mp.workdps(60):
        w, taught = (mp.matrix(a[0].tolist()) for a in (setting.students, setting.teachers))
        rows = [mp.matrix(list(a[i, :])) for a in (w, taught) for i in range(a.rows)]
        sizes = [mp.norm(v) for v in rows]
        units = [v / n if n else v for v, n in zip(rows, sizes, strict=True)]
        heights = [n**2 if p < w.rows else -n for p, n in enumerate(sizes)]
        total, slopes = mp.mpf(0), []
        for p, u in enumerate(units):
            g = mp.matrix(len(u), 1)
            for q, v in enumerate(units):
                angle = 2 * mp.atan2(mp.norm(u - v), mp.norm(u + v))
                rest = mp.pi / 2 - angle
                total += heights[p] * heights[q] * (mp.sin(angle) + rest * mp.cos(angle)) / mp.pi
                g += 2 / mp.pi * heights[q] * (mp.sin(angle) * u + rest * v)
            if p < w.rows:
                along = mp.fsum(a * b for a, b in zip(g, u, strict=True))
                slopes.append([float(sizes[p] * (a + along * b)) for a, b in zip(g, u, strict=True)])
        return total, np.array(slopes)


def turned(setting, seed=3):
    """The same in a random basis, so that no coordinate is special."""
    draw = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(setting.d, setting.d, generator=draw, dtype=torch.float64))[0]
    return LocalSetting(setting.teachers @ basis, setting.students @ basis)


@pytest.mark.parametrize("spread", [0.3, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 3e-12])
@pytest.mark.parametrize(("r", "m", "d"), [(1, 2, 2), (3, 3, 4), (3, 8, 4)])
def test_relative_accuracy_is_kept_down_to_losses_of_1e_25(spread, r, m, d):
    teachers = separated_teachers(r, d, [r + m])
    setting = LocalSetting(teachers, local_students(teachers, m, [7], spread=spread))
    value, slope = exact.loss_and_gradient(setting)
    true, true_slope = in_high_precision(setting)
    assert float(abs(value.item() - true) / true) < (1e-12 if true > 1e-3 else 1e-13)
    assert np.linalg.norm(slope[0].numpy() - true_slope) < 1e-10 * np.linalg.norm(true_slope)


@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-4, 1e-6, 1e-8])
def test_claim_2_and_its_closed_form(delta):
    setting = turned(opposite_pair(delta, 3))
    true, true_slope = in_high_precision(setting)
    value, slope = exact.loss_and_gradient(setting)
    closed = (delta - math.sin(delta) * math.cos(delta)) / (math.pi * math.cos(delta) ** 2)
    # a student's angle is as good as the rounding of its coordinates: 1e-16 of an angle of 1e-8
    assert float(abs(value.item() / true - 1)) < 2e-15 / delta + 1e-13
    assert np.linalg.norm(slope[0].numpy() - true_slope) < (2e-15 / delta + 1e-11) * np.linalg.norm(true_slope)
    if delta > 1e-3:
        assert value.item() == pytest.approx(closed, rel=1e-9)
    assert value.item() / delta**3 == pytest.approx(2 / (3 * math.pi), rel=0.4 * delta + 1e-6)


def test_a_small_far_student_keeps_its_digits():
    teachers = separated_teachers(2, 3, [0])
    aside = torch.linalg.cross(teachers[0, 0], teachers[0, 1])
    for mass in (1e-4, 1e-8, 1e-12):
        extra = ineffective(mass * aside / aside.norm())
        setting = LocalSetting(teachers, torch.cat([teachers[0], extra[None]]))
        true, true_slope = in_high_precision(setting)
        value, slope = exact.loss_and_gradient(setting)
        assert float(abs(value.item() / true - 1)) < 1e-12
        assert np.linalg.norm(slope[0].numpy() - true_slope) < 1e-10 * np.linalg.norm(true_slope)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 5), st.integers(2, 6))
def test_the_two_ways_and_the_population_layer_agree(seed, r, more, d):
    setting = random_setting(seed, r, r + more, d)
    value, slope = exact.loss_and_gradient(setting)
    taught, units = setting.units()
    assert torch.allclose(value, population.loss(taught, units), rtol=1e-11)
    by_units = torch.einsum("sjab,sjb->sja", exact.jacobian(setting.students), population.gradient(taught, units)[0])
    assert torch.allclose(slope, by_units, rtol=1e-9, atol=1e-11 * float(slope.abs().max()))
    flat, mixed, spiky = second_moments(setting)
    assert torch.allclose((flat + 2 * mixed + spiky) / 2, value, rtol=1e-11)


def test_the_fine_gradient_is_the_plain_one():
    from tutelage.local._fine import fine_gradient
    from tutelage.local._plain import plain

    for seed in range(20):
        setting = random_setting(seed, 3, 7, 5, 1)
        w, taught = setting.students[0].numpy(), setting.teachers[0].numpy()
        one, other = np.empty_like(w), np.empty_like(w)
        _, _, squared = plain(w, taught, np.ones(7), one)
        assert fine_gradient(w, taught, np.ones(7), other) == pytest.approx(squared, rel=1e-12)
        assert np.allclose(one, other, rtol=1e-10, atol=1e-12)


def test_loss_and_gradient_against_samples():
    setting = random_setting(1, members=1)
    x = torch.randn(400_000, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    squares = residual(setting, x)[0] ** 2 / 2
    error = squares.std() / len(x) ** 0.5
    assert abs(squares.mean() - exact.loss(setting)[0]) < 4 * error


@given(st.integers(0, 10**6))
def test_gradient_against_differences(seed):
    setting = random_setting(seed, members=1)
    move = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    h = 1e-5
    ends = [exact.loss(setting.moved(setting.students + s * h * move)).item() for s in (1, -1)]
    slope = (exact.gradient(setting) * move).sum().item()
    size = exact.gradient_norm(setting).item() * move.norm().item()
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, abs=1e-7 * size)


def test_the_gradient_printed_in_section_5_4_is_not_the_gradient():
    """It leaves out |w_j| (I + unit unit^T)."""
    setting = random_setting(4, members=1)
    taught, units = setting.units()
    printed = population.first_layer_gradient(taught, units)
    assert not torch.allclose(printed, exact.gradient(setting), rtol=0.1)
    whole = torch.einsum("sjab,sjb->sja", exact.jacobian(setting.students), printed)
    assert torch.allclose(whole, exact.gradient(setting), rtol=1e-9)


@given(st.integers(0, 10**6))
def test_hessian_against_differences_of_the_gradient(seed):
    setting = random_setting(seed, r=2, m=3, d=3, members=2)
    move = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    h = 1e-5
    ends = [exact.gradient(setting.moved(setting.students + s * h * move)) for s in (1, -1)]
    by_difference = ((ends[0] - ends[1]) / (2 * h)).flatten(1)
    by_formula = (exact.hessian(setting) @ move.flatten(1).unsqueeze(2)).squeeze(2)
    kinks = exact.hessian(setting).abs().max()
    assert torch.allclose(by_formula, by_difference, rtol=1e-4, atol=1e-4 * float(kinks))


def test_hessian_at_the_optimum_is_m_between_jacobians_and_within_its_bound():
    teachers = separated_teachers(3, 3, [0, 1], lengths=(0.5, 2.0))
    setting = LocalSetting(teachers, ineffective(teachers))
    jac = torch.stack([torch.block_diag(*member) for member in exact.jacobian(setting.students)])
    whole = exact.hessian(setting)
    assert torch.allclose(whole, jac @ teacher_matrix(setting) @ jac, atol=1e-7)
    assert bool((torch.linalg.eigvalsh(whole)[:, -1] <= 4 * setting.total + 1e-9).all())


@given(st.integers(0, 10**6), st.floats(0.1, 10.0))
def test_symmetries(seed, c):
    setting = random_setting(seed, members=1)
    value, slope = exact.loss_and_gradient(setting)
    draw = torch.Generator().manual_seed(seed)
    sign = torch.where(torch.rand(1, 6, 1, generator=draw) < 0.5, -1.0, 1.0).double()
    flipped = exact.loss_and_gradient(setting.moved(sign * setting.students))
    order = torch.randperm(6, generator=draw)
    assert torch.allclose(flipped[0], value)
    assert torch.allclose(flipped[1], sign * slope, atol=1e-12)
    assert torch.allclose(exact.loss(setting.moved(setting.students[:, order])), value)
    assert torch.allclose(exact.loss(turned(setting, seed)), value)
    scaled = exact.loss_and_gradient(LocalSetting(c * setting.teachers, c**0.5 * setting.students))
    assert torch.allclose(scaled[0], c**2 * value)
    assert torch.allclose(scaled[1], c**1.5 * slope, atol=1e-11 * c**1.5)
    share = torch.cat([setting.students, 0.6 * setting.students[:, :1]], 1)
    share[:, 0] *= 0.8
    assert torch.allclose(exact.loss(setting.moved(share)), value)


def test_a_zero_student_has_no_gradient_and_no_hessian():
    setting = random_setting(0, members=1)
    students = torch.cat([setting.students, torch.zeros(1, 1, 4, dtype=torch.float64)], 1)
    value, slope = exact.loss_and_gradient(setting.moved(students))
    assert value.item() == pytest.approx(exact.loss(setting).item())
    assert bool((slope[:, -1] == 0).all())
    assert torch.allclose(slope[:, :-1], exact.gradient(setting))
    with pytest.raises(TutelageError, match="no second derivative"):
        exact.hessian(setting.moved(students))


def test_a_zero_student_near_the_optimum():
    teachers = separated_teachers(2, 3, [0])
    students = torch.cat([ineffective(teachers) * (1 + 1e-9), torch.zeros(1, 2, 3, dtype=torch.float64)], 1)
    with_zeros = LocalSetting(teachers, students)
    value, slope = exact.loss_and_gradient(with_zeros)
    alone = exact.loss_and_gradient(LocalSetting(teachers, students[:, :2]))
    assert value.item() == pytest.approx(alone[0].item(), rel=1e-12)
    assert bool((slope[:, 2:] == 0).all())
    assert torch.allclose(slope[:, :2], alone[1], rtol=1e-12)


def test_factors_of_the_output():
    setting = random_setting(5, members=1)
    top = torch.tensor([1.0, -1.0, 2.0, -2.0, 0.5, 1.0], dtype=torch.float64)
    value, slope = exact.loss_and_gradient(setting, top)
    h, move = 1e-6, torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ends = [exact.loss_and_gradient(setting.moved(setting.students + s * h * move), top)[0].item() for s in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx((slope * move).sum().item(), rel=1e-6)
    assert value.item() > 0
    with pytest.raises(TutelageError, match="one factor per student"):
        exact.loss_and_gradient(setting, top[:3])


def test_members_do_not_depend_on_each_other():
    torch.set_num_threads(2)
    try:
        many = random_setting(6, members=300, m=10)
        value, slope = exact.loss_and_gradient(many)
    finally:
        torch.set_num_threads(1)
    for s in (0, 150, 299):
        alone = exact.loss_and_gradient(many.member(s))
        assert alone[0].item() == value[s].item()
        assert torch.equal(alone[1][0], slope[s])


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-9])
@pytest.mark.parametrize(
    "extra",
    [
        [[0.0, 1.0, 0.0]],  # on the other teacher
        [[0.0, 0.0, 1.0]],  # at right angles to both
        [[1.0, 1.0, 0.0]],  # as far from one as from the other
        [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],  # a pair on one line
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]],  # the same student three times
        [[1.0, 1e-8, 0.0], [1.0, -1e-8, 0.0]],
    ],
)
def test_special_positions(extra, scale):
    teachers = torch.eye(2, 3, dtype=torch.float64)
    students = torch.cat([teachers, scale * torch.tensor(extra, dtype=torch.float64)])
    setting = LocalSetting(teachers, students)
    value, slope = exact.loss_and_gradient(setting)
    true, true_slope = in_high_precision(setting)
    assert float(abs(value.item() - true)) <= 1e-12 * float(true)
    assert np.linalg.norm(slope[0].numpy() - true_slope) <= 1e-9 * np.linalg.norm(true_slope)


def test_one_dimension():
    setting = LocalSetting(torch.tensor([[2.0]]), torch.tensor([[1.0], [-0.5]]))
    value, slope = exact.loss_and_gradient(setting)
    assert value.item() == pytest.approx((2 - 1.25) ** 2 / 2)
    assert slope.flatten().tolist() == pytest.approx([2 * 1.0 * (1.25 - 2), 2 * -0.5 * (1.25 - 2)])
