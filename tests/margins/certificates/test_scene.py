"""What the statements share."""

from tutelage.margins.certificates.scene import MarginScene
from tutelage.margins.max_margin import MaxMargins


def test_conditions_carry_their_witnesses(good, merely_linear, impossible):
    assert all(c.holds for c in MarginScene(good).separable(0))
    acute = MarginScene(merely_linear).separable(0)[0]
    assert acute.holds is False
    assert "pair (" in acute.witness
    assert isinstance(MarginScene(good).margins, MaxMargins)
    [missing] = MarginScene(impossible).margins_exist()
    assert missing.holds is False
    assert "convex hull of samples" in missing.witness


def test_balance_and_groups_are_looked_up(good, merely_linear, spoilt):
    assert MarginScene(good).balanced(1).holds
    assert MarginScene(good).grouped(1).holds
    assert MarginScene(spoilt(good, a=1.1 * good.a)).balanced(0).holds is False
    assert MarginScene(merely_linear).grouped(0).holds is False
