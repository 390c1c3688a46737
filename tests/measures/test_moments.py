"""The compiled pass over the points, held to the generic measures at every remainder of its tiles and blocks."""

import json
import os
import subprocess
import sys

import pytest
import torch

from tutelage.measures import Snapshot, correlations, half_squares, moments
from tutelage.measures.correlation import by_layer
from tutelage.measures.registry import find
from tutelage.networks import Network, forward
from tutelage.networks.activations import slope_of

ERROR = {torch.float32: 2e-6, torch.float64: 1e-13}
"""Allowed in correlations, and in losses as a share: some units of rounding."""


def network(widths, members, bias, activation, dtype, seed):
    source = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(members, *shape, generator=source, dtype=torch.float64).to(dtype)

    d, n, c = widths
    biases = (0.3 * normal(n), 0.3 * normal(c)) if bias else None
    return Network((normal(d, n) / d**0.5, normal(n, c) / n**0.5), biases, activation, slope_of(activation, 0.1))


def snapshot(d=7, m=3, n=11, c=5, samples=131, members=2, bias=True, activation="relu", dtype=torch.float64):
    teacher = network((d, m, c), members, bias, activation, dtype, seed=1)
    students = network((d, n, c), members, bias, activation, dtype, seed=2)
    source = torch.Generator().manual_seed(3)
    points = torch.randn(members, samples, d, generator=source, dtype=torch.float64).to(dtype)
    return Snapshot(teacher, students, points, points)


def generic(s):
    """Loss and correlations from whole activations, in float64."""
    teacher, students = (forward(net.to(dtype=torch.float64), s.evaluate.double()) for net in (s.teacher, s.students))
    return half_squares(teacher.outputs, students.outputs), correlations(teacher.features[1], students.features[1])


def check(s):
    assert moments.applies(s)
    (rho,), loss = by_layer(s), find("evaluate_loss")(s)
    wanted_loss, wanted_rho = generic(s)
    assert (loss.dtype, rho.dtype, rho.shape) == (s.evaluate.dtype, s.evaluate.dtype, wanted_rho.shape)
    error = ERROR[s.evaluate.dtype]
    torch.testing.assert_close(loss.double(), wanted_loss, rtol=error, atol=0)
    torch.testing.assert_close(rho.double(), wanted_rho, rtol=0, atol=error)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
def test_every_activation_with_and_without_biases(dtype, activation, bias):
    check(snapshot(activation=activation, bias=bias, dtype=dtype))


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("n", range(1, 41)),
        ("m", range(1, 11)),
        ("c", range(1, 21)),
        ("d", range(1, 21)),
        ("samples", [2, 5, 7, 8, 9, 47, 48, 49, 63, 64, 65, 95, 97, 127, 128, 129, 640, 1000]),
    ],
)
def test_every_remainder_of_tiles_and_blocks(dtype, axis, values):
    for value in values:
        check(snapshot(dtype=dtype, **{axis: value}))


def test_a_single_point_has_a_loss_and_no_correlation(dtype):
    s = snapshot(samples=1, dtype=dtype)
    assert (by_layer(s)[0] == 0).all()
    torch.testing.assert_close(find("evaluate_loss")(s).double(), generic(s)[0], rtol=ERROR[dtype], atol=0)


def test_points_that_members_share(dtype):
    s = snapshot(members=3, dtype=dtype)
    shared = s.evaluate[:1].expand(3, -1, -1)
    check(Snapshot(s.teacher, s.students, shared, shared))


def test_points_in_an_order_whose_first_block_is_unlike_the_others(dtype):
    s = snapshot(samples=6400, dtype=dtype)
    order = s.evaluate[..., 0].argsort(1)
    points = s.evaluate.gather(1, order.unsqueeze(2).expand_as(s.evaluate))
    check(Snapshot(s.teacher, s.students, points, points))


def test_weights_in_another_layout():
    s = snapshot()
    students = s.students.map(lambda a: a.mT.contiguous().mT if a.ndim == 3 else a)
    points = s.evaluate.mT.contiguous().mT
    check(Snapshot(s.teacher, students, points, points))


@pytest.mark.parametrize("activation", ["relu", "linear"])
def test_units_with_a_mean_of_ten_thousand_deviations(dtype, activation):
    """Activations as rounded then decide; the sums over them must add next to nothing to that."""
    s = snapshot(samples=2000, activation=activation, dtype=dtype)
    lifted = s.students.map(lambda a: a)
    lifted.biases[0][:] = 1e4 * s.students.weights[0].norm(dim=1)
    s = s.after(lifted)
    rounded = correlations(s.teacher_activity.features[1].double(), s.activity.features[1].double())
    rounding = torch.finfo(dtype).eps * 1e4
    torch.testing.assert_close(by_layer(s)[0].double(), rounded, rtol=0, atol=rounding / 10)
    torch.testing.assert_close(by_layer(s)[0].double(), generic(s)[1], rtol=0, atol=rounding / 10)


def test_constant_and_dead_units_have_correlation_zero(dtype):
    s = snapshot(dtype=dtype)
    s.students.weights[0][..., :4] = 0
    s.students.biases[0][:, :4] = torch.tensor([3.7, 1e6, 0.0, -2.0], dtype=dtype)
    s.students.biases[0][:, 4] = -100
    s.teacher.weights[0][..., 0] = 0
    (rho,) = by_layer(s)
    assert (rho[:, :, :5] == 0).all()
    assert (rho[:, 0] == 0).all()
    assert (rho[:, 1:, 5:] != 0).all()


def test_a_copy_of_the_teacher_has_no_loss_and_recovers_every_unit(dtype):
    s = snapshot(m=6, samples=1000, dtype=dtype)
    s = s.after(s.teacher)
    assert (find("evaluate_loss")(s) == 0).all()
    unit = by_layer(s)[0].diagonal(dim1=1, dim2=2)
    assert (unit <= 1).all()
    torch.testing.assert_close(unit, torch.ones_like(unit), rtol=0, atol=ERROR[dtype])


def test_a_member_among_others_is_the_member_alone_bit_for_bit(dtype):
    s = snapshot(members=7, dtype=dtype)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        (rho,), loss = by_layer(s), find("evaluate_loss")(s)
    finally:
        torch.set_num_threads(threads)
    for i in range(7):
        points = s.evaluate[i : i + 1]
        alone = Snapshot(s.teacher[i], s.students[i], points, points)
        assert torch.equal(by_layer(alone)[0][0], rho[i])
        assert torch.equal(find("evaluate_loss")(alone)[0], loss[i])


def test_one_pass_at_later_steps_gives_what_single_ones_give(dtype, monkeypatch):
    first = snapshot(dtype=dtype)
    loss, (rho,) = find("evaluate_loss")(first), by_layer(first)
    passes = []
    spread = moments.spread
    monkeypatch.setattr(moments, "spread", lambda *arguments: (passes.append(1), spread(*arguments)))
    later = first.after(first.students)
    assert torch.equal(find("evaluate_loss")(later), loss)
    assert torch.equal(by_layer(later)[0], rho)
    assert len(passes) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_seen_in_their_member_alone(dtype, value):
    s = snapshot(dtype=dtype)
    s.students.weights[0][0, 2, 3] = value
    assert find("evaluate_loss")(s).isfinite().tolist() == [False, True]
    (rho,) = by_layer(s)
    assert not rho[0, :, 3].isfinite().any()
    assert rho[1].isfinite().all()


def test_deep_networks_other_precisions_and_gradients_are_left_to_the_generic_code(problem):
    deep = problem(widths=(6, 4, 5, 3))
    assert not moments.applies(Snapshot(deep.teacher, deep.students, deep.inputs.train, deep.inputs.evaluate))
    s = snapshot()
    for elsewhere in ({"dtype": torch.bfloat16}, {"device": "meta"}):
        points = s.evaluate.to(**elsewhere)
        assert not moments.applies(Snapshot(s.teacher.to(**elsewhere), s.students.to(**elsewhere), points, points))
    learning = s.after(s.students.map(lambda a: a.clone().requires_grad_()))
    assert find("evaluate_loss")(learning).requires_grad
    with torch.no_grad():
        assert moments.applies(learning)


def test_where_it_does_not_apply_the_generic_code_gives_the_same(monkeypatch):
    s = snapshot()
    fused = [find(name)(s) for name in ("evaluate_loss", "correlation")]
    monkeypatch.setattr(moments, "applies", lambda s: False)
    again = s.after(s.students)
    torch.testing.assert_close([find(name)(again) for name in ("evaluate_loss", "correlation")], fused)


def test_plain_loops_give_the_same():
    code = (
        "import json, runpy, sys; here = runpy.run_path(sys.argv[1]); s = here['snapshot'](n=21, c=9)\n"
        "print(json.dumps([here['find']('evaluate_loss')(s).tolist(), here['by_layer'](s)[0].tolist()]))"
    )
    plain = {**os.environ, "TUTELAGE_VECTOR": "plain"}
    done = subprocess.run([sys.executable, "-c", code, __file__], env=plain, capture_output=True, text=True, check=True)
    loss, rho = (torch.tensor(values, dtype=torch.float64) for values in json.loads(done.stdout))
    s = snapshot(n=21, c=9)
    torch.testing.assert_close(find("evaluate_loss")(s), loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(by_layer(s)[0], rho, rtol=0, atol=1e-13)
