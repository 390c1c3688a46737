"""Steps on the sphere, the time of the flow, and slopes made by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tutelage.specialisation.studies._sphere_loops import sphere_steps
from tutelage.specialisation.studies.information_exponent import (
    LINKS,
    LeavingTimes,
    directions,
    expected_steps,
    flow_time,
    slope_errors,
    start,
)


def value_and_slopes(u, link):
    """f and its derivatives by the pre-activations: u [S, J] -> [S], [S, J]."""
    match link:
        case "hermite-1":
            return u[:, 0], np.ones_like(u)
        case "hermite-2":
            return (u[:, 0] ** 2 - 1) / 2**0.5, 2**0.5 * u
        case "hermite-3":
            return (u[:, 0] ** 3 - 3 * u[:, 0]) / 6**0.5, (3 * u**2 - 3) / 6**0.5
    a, b, c = u.T
    if link == "product":
        return a * b * c, np.stack([b * c, a * c, a * b], 1)
    return a + a * b + a * b * c, np.stack([1 + b + b * c, a + a * c, a * b], 1)


def move(w, x, link, rate, a=None, noise=0.0):
    """One step in numpy, in place: w [S, J, d], x [S, d]."""
    u = np.einsum("sjd,sd->sj", w, x)
    if a is None:
        f, slopes = value_and_slopes(u, link)
        taught, _ = value_and_slopes(x[:, : w.shape[1]], link)
    else:  # a sum of cubic units with fan-outs
        h, c = lambda v: (v**3 - 3 * v) / 6**0.5, a[: w.shape[1]]
        f, slopes, taught = h(u) @ c, c * (3 * u**2 - 3) / 6**0.5, h(x[:, : len(a)]) @ a
    back = (rate * (f - taught - noise))[:, None] * slopes
    w -= back[:, :, None] * (x[:, None] - u[:, :, None] * w)
    w /= np.linalg.norm(w, axis=2, keepdims=True)


@pytest.mark.parametrize("link", [*LINKS, "graded"])
def test_the_loop_is_its_steps_in_numpy(link):
    """Weights after 30 steps, and the first step after which all overlaps are above a level."""
    random, d, steps, members = np.random.default_rng(3), 7, 30, 4
    count = 3 if link == "graded" else directions(link)
    a = np.array([1.0, 0.5, 0.3, 0.2]) if link == "graded" else np.ones(count)
    w = start(range(members), d, count)
    x, noise = random.normal(size=(members, steps, d)), random.normal(size=(members, steps))
    noise *= link == "graded"
    mine, left, level = w.copy(), np.zeros(members), 0.3
    code = 3 if link == "graded" else LINKS.index(link) + 1
    sphere_steps(0, members, mine, x, noise, a, 0.05, code, level, left, 100)
    found = np.zeros(members)
    for step in range(steps):
        move(w, x[:, step], link, 0.05, a if link == "graded" else None, noise[:, step])
        met = np.abs(w[:, :, : len(a)]).max(1).min(1) > level
        out = met & (found == 0)
        found[out] = 101 + step
    np.testing.assert_allclose(mine, w, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(left, found)


@pytest.mark.parametrize("link", LINKS)
def test_slopes_are_differences(link):
    u, h = np.random.default_rng(0).normal(size=(5, directions(link))), 1e-6
    _, slopes = value_and_slopes(u, link)
    for j in range(directions(link)):
        ahead, behind = (value_and_slopes(u + s * h * np.eye(directions(link))[j], link)[0] for s in (1, -1))
        np.testing.assert_allclose(slopes[:, j], (ahead - behind) / (2 * h), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_students_start_on_the_sphere_with_overlaps_of_their_own(link):
    d, count = 20, directions(link)
    w = start((3, 4), d, count)
    np.testing.assert_allclose(np.linalg.norm(w, axis=2), 1)
    np.testing.assert_allclose(w[:, :, :count], np.broadcast_to(np.eye(count) / d**0.5, (2, count, count)))
    move(w, np.random.default_rng(0).normal(size=(2, d)), link, 0.1)
    np.testing.assert_allclose(np.linalg.norm(w, axis=2), 1)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_mean_step_is_that_of_the_flow(degree):
    """The mean of 400,000 first steps of one student, in standard errors; and the time of the flow by an integrator."""
    rate, d, count = 1e-4, 4, 400_000
    w = np.broadcast_to(start((0,), d, 1), (count, 1, d)).copy()
    m = w[0, 0, 0]
    move(w, np.random.default_rng(1).normal(size=(count, d)), f"hermite-{degree}", rate)
    moved = (w[:, 0, 0] - m) / rate
    assert abs(moved.mean() - degree * m ** (degree - 1) * (1 - m * m)) < 4.5 * moved.std() / count**0.5 + 0.01
    slope = lambda t, m: degree * m ** (degree - 1) * (1 - m**2)  # noqa: E731
    end = solve_ivp(slope, (0, flow_time(degree, 50)), [50**-0.5], rtol=1e-10, atol=1e-12).y[0, -1]
    assert abs(end - 0.5) < 1e-8


def test_slopes_of_powers_are_found():
    d = np.array([16, 32, 64])
    times = LeavingTimes(d, {link: 7 * expected_steps(link, d)[:, None] * [1.0, 1.0] for link in LINKS}, {})
    for errors in (slope_errors(times, LINKS[:3]), slope_errors(times, LINKS[3:])):
        assert all(np.allclose(value, 0) for value in errors.values())
    times.left["hermite-3"][-1, 1] *= 4
    np.testing.assert_allclose(slope_errors(times, ("hermite-3",))["hermite-3"], [0, 1], atol=1e-12)
