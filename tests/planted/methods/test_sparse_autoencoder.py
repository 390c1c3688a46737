"""A sparse autoencoder finds sparse sources, and a member's training is its own."""

import torch

from tutelage.measures import correlations
from tutelage.planted.methods.sparse_autoencoder import sparse_autoencoder


class Sparse:
    """Three sparse sources along directions of eight activations."""

    seeds = (0, 1)

    def __init__(self):
        draw = torch.Generator().manual_seed(2)
        present = torch.rand(2, 1_000, 3, generator=draw) < 0.1
        self.sources = (present * (0.5 + torch.rand(2, 1_000, 3, generator=draw))).double()
        self.mixing = torch.randn(2, 3, 8, generator=draw).double()

    def activations(self, points):
        return self.sources @ self.mixing


def code_of(answer, f):
    return torch.relu(f @ torch.as_tensor(answer.directions).double().mT - answer.offsets.double().unsqueeze(1))


def test_sparse_sources_are_among_the_features():
    sparse = Sparse()
    answer = sparse_autoencoder(sparse, None)
    rho = correlations(sparse.sources, code_of(answer, sparse.activations(None))).amax(2)
    assert (rho > 0.9).all()


def test_a_member_is_trained_alone():
    sparse = Sparse()
    both = sparse_autoencoder(sparse, None)
    sparse.sources, sparse.mixing, sparse.seeds = sparse.sources[1:], sparse.mixing[1:], (1,)
    alone = sparse_autoencoder(sparse, None)
    assert torch.allclose(both.directions[1:], alone.directions, atol=1e-4)
