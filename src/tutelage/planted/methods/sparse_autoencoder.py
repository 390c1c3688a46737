r"""A sparse autoencoder of the activations, all members trained in one stack (Cunningham et al. 2024).

.. math:: c = \mathrm{relu}(f E + e), \qquad \min \; \|f - (c D + f_0)\|^2 + \lambda \sum_k c_k, \qquad \|D_k\| = 1
"""

import torch
from torch import Tensor

from tutelage import draws
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView

_STEPS, _BATCH, _RATE, _SPARSITY = 600, 128, 0.01, 0.01


@method("sparse-autoencoder")
def sparse_autoencoder(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Features of a sparse autoencoder with as many features as there are units."""
    f = students.activations(inputs).float()
    middle = f.mean(1, keepdim=True)
    size = (f - middle).square().sum(2).mean(1).sqrt().clamp_min(1e-12)[:, None, None]
    x = (f - middle) / size
    encoder, offset = _trained(x, students.seeds)
    code = torch.relu(x @ encoder - offset)
    spread = code - code.mean(1, keepdim=True)
    along = torch.nn.functional.normalize(spread, dim=1)
    shares = (x.mT @ along).square().sum(1) / x.square().sum((1, 2)).clamp_min(1e-12)[:, None]
    shift = ((middle / size) @ encoder).squeeze(1)
    return MethodAnswer(
        directions=(encoder / size).mT,
        rectified=True,
        offsets=offset.squeeze(1) + shift,
        scores=shares,
        count=(shares > 1e-3).sum(1),
    )


def _trained(x: Tensor, seeds: object) -> tuple[Tensor, Tensor]:
    """Encoders [S, n, k] and offsets [S, 1, k], by Adam on batches drawn with replacement."""
    n = x.shape[2]
    chosen = draws.indices(draws.keys(seeds, "planted-batches"), _STEPS * _BATCH, x.shape[1])  # type: ignore[arg-type]
    rows = chosen.view(-1, _STEPS, _BATCH, 1)
    key = draws.keys(seeds, "planted-autoencoder")  # type: ignore[arg-type]
    start = torch.nn.functional.normalize(draws.normals(key, n * n, dtype=torch.float32).view(-1, n, n), dim=2)
    with torch.enable_grad():
        decoder, encoder = start.clone().requires_grad_(), start.mT.clone().requires_grad_()
        offset = torch.zeros(len(x), 1, n, requires_grad=True)
        optimiser = torch.optim.Adam([decoder, encoder, offset], lr=_RATE)
        for step in range(_STEPS):
            batch = x.gather(1, rows[:, step].expand(-1, -1, n))
            code = torch.relu(batch @ encoder - offset)
            rebuilt = code @ torch.nn.functional.normalize(decoder, dim=2)
            loss = (batch - rebuilt).square().sum(2).mean(1) + _SPARSITY * code.sum(2).mean(1)
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()
    return encoder.detach(), offset.detach()
