"""What the chapter says of labelled points, held and broken."""

import torch

from tutelage.margins import sectors
from tutelage.margins.certificates import data as statements


def test_every_sample_separates_orthogonally_separable_data(good, merely_linear, verdicts, monkeypatch):
    assert verdicts("orthogonal-separability", good) == ["holds"] * 3
    assert verdicts("orthogonal-separability", merely_linear) == ["not applicable"] * 3


def test_there_is_one_extremal_direction_a_sign(good, merely_linear, verdicts, monkeypatch):
    assert verdicts("extremal-directions", good) == ["holds"] * 3
    assert verdicts("extremal-directions", merely_linear) == ["not applicable"] * 3
    monkeypatch.setattr(statements, "class_sums", lambda data: tuple(v.roll(1, 1) for v in sectors.class_sums(data)))
    assert verdicts("extremal-directions", good) == ["fails"] * 3


def test_at_an_extremal_direction_g_points_along_it(good, verdicts, monkeypatch):
    assert verdicts("stationary-direction", good) == ["holds"] * 3
    monkeypatch.setattr(statements, "field", lambda w, data, loss: sectors.field(w, data, loss).roll(1, 2))
    assert verdicts("stationary-direction", good) == ["fails"] * 3


def test_g_on_a_line(good, merely_linear, impossible, verdicts, monkeypatch):
    for course in (good, merely_linear, impossible):
        assert set(verdicts("landscape-on-a-line", course)) == {"holds"}
    monkeypatch.setattr(statements, "landscape", lambda w, data, loss: sectors.landscape(w, data, loss).square())
    assert verdicts("landscape-on-a-line", good) == ["fails"] * 3


def test_the_limit_is_a_kkt_point(good, merely_linear, impossible, verdicts, monkeypatch):
    assert verdicts("kkt-point", good) == ["holds"] * 3
    assert verdicts("kkt-point", merely_linear) == ["not applicable"] * 3
    assert verdicts("kkt-point", impossible) == ["not applicable"] * 2
    made = statements.kkt_point
    monkeypatch.setattr(statements, "kkt_point", lambda *a: made(*a).map(lambda v: v * torch.tensor(1.01).double()))
    assert verdicts("kkt-point", good) == ["fails"] * 3
