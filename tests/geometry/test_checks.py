"""What every operation refuses, in one sentence."""

import pytest
import torch

import tutelage as tt
from tutelage.geometry.checks import bias, in_double, points_for, same_function_space
from tutelage.networks import Network


def net(inputs=2, outputs=1, members=1):
    return Network((torch.ones(members, inputs, 3), torch.ones(members, 3, outputs)))


def test_networks_come_back_in_double():
    assert in_double(net()).dtype == torch.float64
    with pytest.raises(tt.Refusal, match="the teacher has weights that are not finite"):
        in_double(net().map(lambda a: a * torch.inf), "teacher")


def test_points_are_shared_or_a_members_own():
    assert points_for(in_double(net(members=4)), torch.ones(7, 2)).shape == (4, 7, 2)
    for wrong, words in (
        (torch.ones(0, 2), "no points"),
        (torch.full((3, 2), torch.nan), "not finite"),
        (torch.ones(3, 5), "wanted"),
    ):
        with pytest.raises(tt.Refusal, match=words):
            points_for(in_double(net()), wrong)


def test_two_stacks_must_have_the_same_ends():
    same_function_space(net(), net())
    for other, words in ((net(inputs=3), "inputs"), (net(outputs=2), "outputs"), (net(members=2), "members")):
        with pytest.raises(tt.Refusal, match=words):
            same_function_space(net(), other)


def test_a_missing_bias_is_zero():
    assert bias(net(members=2), 0).shape == (2, 3)
    assert not bias(net(), 1).any()
