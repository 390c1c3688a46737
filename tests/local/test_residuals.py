"""The split of the residual: pointwise, in its moments, and the matrix M."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tutelage.local import residuals
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import plane_teachers


def random_setting(seed, members=2, m=7):
    draw = torch.Generator().manual_seed(seed)
    teachers = torch.randn(members, 3, 4, generator=draw, dtype=torch.float64)
    return LocalSetting(teachers, torch.randn(members, m, 4, generator=draw, dtype=torch.float64))


def points(count, d=4, seed=1):
    return torch.randn(count, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(st.integers(0, 10**6))
def test_the_parts_add_up_and_the_second_is_not_negative(seed):
    setting, x = random_setting(seed), points(200)
    found = groups(setting)
    flat, spiky = residuals.split(found, x)
    assert torch.allclose(flat + spiky, residuals.residual(setting, x), atol=1e-11)
    assert spiky.min() >= -1e-12
    most = x.norm(dim=1) * setting.r * found.error.norm(dim=2).amax(1, keepdim=True)
    assert bool((flat.abs() <= most + 1e-12).all())


def test_moments_against_samples():
    setting, x = random_setting(3, 1), points(300_000)
    flat, spiky = residuals.split(groups(setting), x)
    for exact, sample in zip(residuals.second_moments(setting), (flat**2, flat * spiky, spiky**2), strict=True):
        assert abs(sample.mean() - exact[0]) < 4 * sample.std() / len(x) ** 0.5
    v = groups(setting).error.flatten(1)
    by_matrix = (v.unsqueeze(1) @ residuals.teacher_matrix(setting) @ v.unsqueeze(2)).flatten()
    assert torch.allclose(residuals.second_moments(setting)[0], by_matrix, rtol=1e-11)


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0, math.pi])
def test_sign_moments_against_samples(angle):
    u = torch.tensor([[[2.0, 0.0, 0.0]]], dtype=torch.float64)
    v = torch.tensor([[[math.cos(angle), math.sin(angle), 0.0]]], dtype=torch.float64)
    x = points(200_000, 3)
    gate = (x @ u[0, 0]).sign() * (x @ v[0, 0]).sign()
    products = gate[:, None, None] * x.unsqueeze(2) * x.unsqueeze(1)
    error = products.std(0) / len(x) ** 0.5
    assert bool(((products.mean(0) - residuals.sign_moments(u, v)[0, 0, 0]).abs() < 4.5 * error).all())


@pytest.mark.parametrize("apart", [1.5, 0.5, 0.1, 0.01])
def test_two_teachers_have_a_known_least_eigenvalue(apart):
    teachers = plane_teachers([0, math.degrees(apart)])
    found = residuals.least_eigenvalue(LocalSetting(teachers, teachers)).item()
    assert found == pytest.approx(2 / math.pi * (apart - math.sin(apart)), abs=1e-14)


@pytest.mark.parametrize(("r", "value"), [(2, 0.3634), (3, 0.08905), (4, 0.02920), (6, 0.00805), (12, 0.000965)])
def test_equispaced_lines(r, value):
    teachers = plane_teachers([180 * i / r for i in range(r)])
    assert residuals.least_eigenvalue(LocalSetting(teachers, teachers)).item() == pytest.approx(value, rel=2e-3)


def wedge_second_moment(phi: Tensor) -> Tensor:
    r"""E[(b.x)^2 1{signs differ}] = (phi - sin phi cos phi) / pi for a unit b, at the angle phi (Zhou et al. 2021,
    Lemma D.2).
    """
    return (phi - phi.sin() * phi.cos()) / math.pi


def gated_moment_norm(phi: Tensor) -> Tensor:
    r"""|E[|a.x| (I + b b^T) x sgn(b.x)]| = sqrt(4 k(phi)^2 + ((1 - 2 phi / pi) sin phi)^2) <= 2 (Zhou et al. 2021,
    Lemma D.3).
    """
    k = 2 / math.pi * (phi.sin() + (math.pi / 2 - phi) * phi.cos())
    return (4 * k**2 + ((1 - 2 / math.pi * phi) * phi.sin()) ** 2).sqrt()


@pytest.mark.parametrize("phi", [0.2, 1.0, 2.5])
def test_wedge_moments_against_samples(phi):
    x = points(400_000, 2)
    b = torch.tensor([math.cos(phi), math.sin(phi)], dtype=torch.float64)
    first, second = x[:, 0], x @ b
    angle = torch.tensor(phi, dtype=torch.float64)
    apart = second**2 * (first * second < 0)
    assert abs(apart.mean() - wedge_second_moment(angle)) < 4 * apart.std() / len(x) ** 0.5
    moment = (first.abs() * second.sign())[:, None] * x
    mean = moment.mean(0) + (moment.mean(0) @ b) * b
    assert mean.norm().item() == pytest.approx(gated_moment_norm(angle).item(), abs=1e-2)
    assert gated_moment_norm(torch.linspace(0, math.pi, 99)).max() <= 2 + 1e-6


def test_the_square_of_a_difference_of_signs_is_four_which_the_proof_of_lemma_12_drops():
    phi = 0.7
    x = points(400_000, 2)
    b = torch.tensor([math.cos(phi), math.sin(phi)], dtype=torch.float64)
    squares = (x @ b) ** 2 * (x[:, 0].sign() - (x @ b).sign()) ** 2
    wedge = wedge_second_moment(torch.tensor(phi, dtype=torch.float64))
    error = 4 * squares.std() / len(x) ** 0.5
    assert abs(squares.mean() - 4 * wedge) < error
    assert squares.mean() - wedge > error


def test_four_points_across_a_teacher_see_its_error_by_a_sum_and_not_by_a_product():
    """-g(x--) - g(x+) + 2 g(x-) = -2 v.x+ (Zhou et al. 2021, C.4.1), where a plus is missing between g^2(x++) and
    g^2(x--).
    """
    teachers = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    start, width = torch.tensor([0.02, 1.0], dtype=torch.float64), 0.1
    plus, minus, further, back = (start + shift * width * teachers[0] for shift in (0.0, -0.5, 0.5, -1.0))

    def seen(x):
        """g(x) = sum_i v_i.x sgn(w*_i.x) as a linear function of v: [4]."""
        return ((teachers @ x).sign()[:, None] * x).flatten()

    error = torch.cat([plus, torch.zeros(2, dtype=torch.float64)])  # v -> v_1.x+
    assert torch.allclose(-seen(back) - seen(plus) + 2 * seen(minus), -2 * error, atol=1e-12)
    conditions = torch.stack([seen(plus), seen(minus), error])
    v = torch.linalg.pinv(conditions) @ torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
    for size in (1.0, 0.1, 0.01):
        g = [float(seen(x) @ v) * size for x in (plus, minus, further, back)]
        wanted = size**2 / 4
        assert g[0] ** 2 + g[1] ** 2 + g[2] ** 2 + g[3] ** 2 >= wanted
    assert g[0] ** 2 + g[1] ** 2 + g[2] ** 2 * g[3] ** 2 < wanted
