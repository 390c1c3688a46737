"""Linear programs decide what lines cannot, and their answers hold."""

import itertools

import torch

from tutelage.functions.bounds.programs import Program, tightened
from tutelage.functions.bounds.ranges import bounds
from tutelage.functions.domain import box_for
from tutelage.networks import Network
from tutelage.networks.forward import activate, linear


def hat():
    """relu(x) + relu(-x) = |x| in the first layer, and a unit 0.6 - |x| above it on -1 <= x <= 1, twice summed."""
    w = torch.tensor([[[1.0, -1.0]]], dtype=torch.float64)
    above = torch.tensor([[[1.0, -1.0], [1.0, -1.0]]], dtype=torch.float64)
    top = torch.ones(1, 2, 1, dtype=torch.float64)
    zero = torch.zeros(1, 2, dtype=torch.float64)
    return Network((w, above, top), (zero, torch.tensor([[-1.1, 1.1]], dtype=torch.float64), zero[:, :1]))


def test_a_program_finds_the_end_that_intervals_miss():
    """|x| <= 1 in the box, but each half reaches 1: intervals say 2 and the chords 1."""
    net = hat()
    box = box_for(net, (-1, 1))
    known = bounds(net, box)
    program = Program(net, [(low[0], high[0]) for low, high in known[:1]], box, 1, 0)
    assert abs(program.end(0, +1) - (-0.1)) < 1e-9
    assert abs(program.end(0, -1) - (-1.1)) < 1e-9
    loose = (known[1][0].clone().fill_(-3), known[1][1].clone().fill_(3))
    tried = linear(net, 1, activate(net, linear(net, 0, box.sample(64))))
    low, high = tightened(net, known, box, 1, loose, tried)
    assert high[0, 0] < 0  # never active: proved
    assert low[0, 1] > 0  # always active: proved
    assert low[0, 0] == -3  # what no sample calls for is left alone
    assert high[0, 1] == 3


def test_answers_hold_on_random_networks():
    draw = torch.Generator().manual_seed(0)
    for seed in range(5):
        widths = (3, 6, 6, 2)
        pairs = list(itertools.pairwise(widths))
        net = Network(
            tuple(torch.randn(1, a, b, generator=draw, dtype=torch.float64) for a, b in pairs),
            tuple(torch.randn(1, b, generator=draw, dtype=torch.float64) for _, b in pairs),
            ("relu", "leaky", "abs")[seed % 3],
        )
        box = box_for(net, (-0.5, 0.5))
        known = bounds(net, box)
        program = Program(net, [(low[0], high[0]) for low, high in known[:2]], box, 2, 0)
        x = box.sample(4000)
        for layer in (0, 1):
            x = activate(net, linear(net, layer, x))
        u = linear(net, 2, x)[0]
        for unit in range(2):
            low, high = program.end(unit, -1), program.end(unit, +1)
            assert low <= u[:, unit].min()
            assert high >= u[:, unit].max()
            assert low >= known[2][0][0, unit] - 1e-9  # at least as tight as the lines it is made of
            assert high <= known[2][1][0, unit] + 1e-9
