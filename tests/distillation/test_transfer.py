"""Transfer sets: what they hold, what they refuse, and the span of their inputs."""

import pytest
import torch

from tutelage.distillation.tasks import Isotropic
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError


@pytest.fixture
def sets():
    return Isotropic(7).transfer(range(4), 3)


def test_parts_along_and_across_the_span(sets):
    w = torch.randn(4, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    along, across = sets.along(w), sets.across(w)
    assert torch.allclose(along + across, w, atol=1e-14)
    assert sets.heights(across).abs().max() < 1e-14
    assert torch.allclose(sets.along(sets.x.transpose(0, 1)), sets.x.transpose(0, 1), atol=1e-13)
    assert sets.rank.tolist() == [3] * 4
    assert sets.full_rank.all()


def test_the_spectrum_is_that_of_the_gram_matrix(sets):
    values = torch.linalg.eigvalsh(sets.x @ sets.x.mT)
    assert torch.allclose(sets.spectrum, values[:, [0, -1]])
    many = Isotropic(3).transfer(range(4), 9)
    assert torch.allclose(many.spectrum, torch.linalg.eigvalsh(many.x.mT @ many.x)[:, [0, -1]])


def test_rank_is_found_whatever_the_lengths_and_said():
    x = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1e-12, 0.0], [1.0, 1e-12, 0.0], [0.0, 0.0, 0.0]])
    sets = TransferSet(x, torch.ones(3))
    assert sets.rank.tolist() == [2]
    assert not sets.full_rank.any()


def test_losses_stack_over_leading_axes(sets):
    w = torch.randn(5, 4, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert sets.loss(w).shape == (5, 4)
    assert torch.equal(sets.loss(w)[2], sets.loss(w[2]))
    assert torch.allclose(sets.log_loss(w), sets.loss(w).log())
    assert torch.allclose(sets.gradient(w)[3], sets.gradient(w[3]))
    y, u = sets.labels, sets.heights(w)
    entropy = -(y * y.log() + (1 - y) * (1 - y).log())
    plain = -(y * u.sigmoid().log() + (1 - y) * (-u).sigmoid().log()) - entropy
    assert torch.allclose(sets.loss(w), plain.mean(-1))


def test_labels_lead_back_to_the_teacher():
    sets = Isotropic(3).transfer(range(2), 5)
    again = TransferSet.from_labels(sets.x, sets.labels)
    assert torch.allclose(again.teacher, sets.teacher, atol=1e-10)
    few = Isotropic(6).transfer(range(2), 2)
    assert torch.allclose(TransferSet.from_labels(few.x, few.labels).teacher, few.along(few.teacher), atol=1e-10)
    with pytest.raises(TutelageError, match="no linear teacher"):
        TransferSet.from_labels(sets.x, sets.labels.flip(1))
    with pytest.raises(TutelageError, match="between 0 and 1"):
        TransferSet.from_labels(sets.x, sets.labels + 1)
    with pytest.raises(TutelageError, match="a label for each"):
        TransferSet.from_labels(sets.x, sets.labels[:, :2])


@pytest.mark.parametrize(
    ("x", "teacher", "words"),
    [
        (torch.zeros(0, 3), torch.ones(3), "nothing to learn"),
        (torch.ones(2, 3), torch.zeros(3), "is 0"),
        (torch.full((2, 3), torch.nan), torch.ones(3), "not finite"),
        (torch.ones(2, 3), torch.ones(4), "wanted inputs"),
    ],
)
def test_what_is_refused(x, teacher, words):
    with pytest.raises(TutelageError, match=words):
        TransferSet(x, teacher)


def test_joined_and_first(sets):
    more = sets.joined(Isotropic(7).transfer(range(9, 13), 2))
    assert more.count == 5
    assert torch.equal(more.first(3).x, sets.x)
    assert sets[[2]].members == 1
    with pytest.raises(TutelageError, match="different teachers"):
        sets.joined(Isotropic(7, norm=2.0).transfer(range(4), 2))


def test_sets_that_share_their_inputs_have_the_span_of_each():
    """A view of one array along the members is worked through once, with the same numbers."""
    x, w = torch.randn(6, 9, dtype=torch.float64), torch.randn(3, 9, dtype=torch.float64)
    shared, apart = TransferSet(x.expand(3, -1, -1), w), TransferSet(x.repeat(3, 1, 1), w)
    assert shared.rank.tolist() == apart.rank.tolist() == [6, 6, 6]
    assert torch.allclose(shared.along(w), apart.along(w), atol=1e-12)
    assert torch.allclose(shared.across(w), apart.across(w), atol=1e-12)
    assert torch.allclose(shared.spectrum, apart.spectrum)
