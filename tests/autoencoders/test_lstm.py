"""The stacked LSTM against torch's own, and its backward pass against finite differences."""

import torch

from tutelage.autoencoders.lstm import step, unrolled


def _given(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_states_are_those_of_torch():
    members, batch, steps, features, hidden = 3, 4, 5, 2, 6
    x = _given(members, batch, steps, features)
    states = []
    inputs, weights = [], []
    for s in range(members):
        one = torch.nn.LSTM(features, hidden, batch_first=True, dtype=torch.float64)
        with torch.no_grad():
            for number, parameter in enumerate(one.parameters()):
                parameter.copy_(0.3 * _given(*parameter.shape, seed=10 * s + number))
            states.append(one(x[s])[0])
            i, f, g, o = (one.weight_ih_l0 @ x[s].mT + (one.bias_ih_l0 + one.bias_hh_l0).unsqueeze(1)).chunk(4, 1)
            inputs.append(torch.cat([i, f, o, g], 1).permute(2, 0, 1))  # our order of the gates
            i, f, g, o = one.weight_hh_l0.chunk(4, 0)
            weights.append(torch.cat([i, f, o, g], 0).mT)
    found = unrolled(torch.stack(inputs, 1), torch.stack(weights))
    assert torch.allclose(found.permute(1, 2, 0, 3), torch.stack(states), atol=1e-12)


def test_the_backward_pass_is_the_derivative():
    a, weight = _given(3, 2, 2, 12), _given(2, 3, 12, seed=1)
    assert torch.autograd.gradcheck(unrolled, (a.requires_grad_(), weight.requires_grad_()))


def test_steps_one_by_one_are_all_steps_at_once():
    a, weight = _given(4, 2, 3, 20), _given(2, 5, 20, seed=1)
    h = c = torch.zeros(2, 3, 5, dtype=torch.float64)
    for now, expected in zip(a, unrolled(a, weight), strict=True):
        _, h, c = step(now, h, c, weight)
        assert torch.equal(h, expected)
