import copy

import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.exits.msdnet import MSDNet
from tutelage.exits.stacked.layout import layout
from tutelage.exits.stacked.passes import Passes, grid
from tutelage.exits.tasks import PAPER_SGD

SMALL = MSDNet((6, 12), (6, 12), 2, (1, 2), (4, 4), head=20)
PLAN = layout(SMALL.build(10, seed=None), (3, 16, 16))


@given(st.integers(1, 20), st.integers(1, 130), st.sampled_from(PLAN.units))
def test_programs_cover_every_pixel(members, images, unit):
    g = grid(PLAN, unit, members, images)
    count = images * PLAN.maps[unit.into].side ** 2
    assert g.parts * g.turns * 64 >= count > (g.parts - 1) * g.turns * 64
    assert g.tiles * g.over["PIXELS"] * g.over["TURNS"] >= count
    assert g.tiles <= 1024  # whose sums one program adds up


def test_gradients_and_a_step_are_those_of_torch(device):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    models = [SMALL.build(10, seed=seed).to(device).train() for seed in range(2)]
    passes = Passes(PLAN, 2, 3, PAPER_SGD, torch.float32, device)
    passes.rate.fill_(0.1)
    x = torch.randn(2, 3, 3, 16, 16, generator=torch.Generator().manual_seed(1)).to(device)
    for member, model in enumerate(models):
        passes.load(member, model.state_dict())
    passes.maps[0].copy_(x.flatten(3))
    z = passes.logits(lambda z: z.square().sum() / 100)
    for member, model in enumerate(models):
        optimiser = PAPER_SGD.for_module(model.parameters(), 0.1)
        logits = torch.stack(model(x[member]))
        (logits.square().sum() / 100).backward()
        assert torch.allclose(z[member], logits, atol=1e-5)
        found = PLAN.parameters(passes.gradients, member)
        for name, parameter in model.named_parameters():
            difference = (found[name] - parameter.grad).norm()
            assert difference <= 1e-4 * parameter.grad.norm() + 1e-7, name
        before = copy.deepcopy(model.state_dict())
        optimiser.step()
        for name, value in passes.named(member).items():
            wanted = model.state_dict()[name]
            assert (value - wanted).norm() <= 1e-4 * (wanted - before[name]).norm() + 2e-6 * wanted.norm(), name
