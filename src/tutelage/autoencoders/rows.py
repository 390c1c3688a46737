r"""A strong decoder of small black-and-white images: row after row, each given all rows above it and the code.

.. math:: p(x|z) = \prod_r p(x_r | x_{<r}, z), \qquad h_r = \mathrm{GRU}(h_{r-1}; x_{r-1}, z)

A row of W bits is one of 2^W symbols, so that any distribution of images can be had without the code, as the recurrent
decoder of sentences can do without it (Phuong 2021, sec. 4.6.3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tutelage.autoencoders.convolutions import started
from tutelage.errors import TutelageError

# All 2^W rows are outputs of the last layer, so the width of the images is what it costs.
_WIDEST = 10
"""Pixels of a row: there are 2^10 different rows then."""


class RowDecoder(nn.Module):
    """Codes [B, k] -> the distribution of images [B, 1, H, W] of 0 and 1, of kind "distribution" in
    :class:`.MutualAutoencoder`.
    """

    def __init__(self, height: int, width: int, latent: int, hidden: int) -> None:
        super().__init__()
        self.height, self.width = height, width
        self.start = nn.Linear(latent, hidden)
        self.gru = nn.GRU(width + latent, hidden, batch_first=True)
        self.symbols = nn.Linear(hidden, 2**width)
        self.place: Tensor
        self.register_buffer("place", 2 ** torch.arange(width))

    def forward(self, z: Tensor) -> "RowDistribution":
        return RowDistribution(self, z)

    def begin(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """An empty row before the first [B, W], and the state there [B, h]."""
        return z.new_zeros(len(z), self.width), self.start(z).tanh()


@dataclass(frozen=True, eq=False)
class RowDistribution:
    """p(x|z) for every code of a batch."""

    decoder: RowDecoder
    z: Tensor
    discrete = True

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.z), 1, self.decoder.height, self.decoder.width))

    @property
    def most(self) -> float:
        """The most information of an image, in nats."""
        return self.decoder.height * self.decoder.width * math.log(2)

    def log_density(self, x: Tensor) -> Tensor:
        """log p(x|z): [B]."""
        decoder, rows = self.decoder, x[:, 0].to(self.z.dtype)
        first, state = decoder.begin(self.z)
        above = torch.cat([first.unsqueeze(1), rows[:, :-1]], 1)
        codes = self.z.unsqueeze(1).expand(-1, decoder.height, -1)
        states = decoder.gru(torch.cat([above, codes], 2), state.unsqueeze(0))[0]
        numbers = (x[:, 0].long() * decoder.place).sum(-1, keepdim=True)  # [B, H, 1]
        return decoder.symbols(states).log_softmax(-1).gather(2, numbers).sum((1, 2))

    @torch.no_grad()
    def sample(self, draw: Tensor) -> Tensor:
        """x from uniform draws of its shape: each row by inversion of the first draw of its pixels."""
        decoder, made = self.decoder, []
        row, state = decoder.begin(self.z)
        for r in range(decoder.height):
            state = torch.gru_cell(torch.cat([row, self.z], 1), state, *decoder.gru.all_weights[0])
            up_to = decoder.symbols(state).softmax(-1).cumsum(-1)[:, :-1]
            row = ((draw[:, 0, r, :1] > up_to).sum(-1, keepdim=True) // decoder.place % 2).to(self.z.dtype)
            made.append(row)
        return torch.stack(made, 1).unsqueeze(1)


def row_decoder(shape: Sequence[int], latent: int, *, hidden: int = 64, seed: int = 0) -> RowDecoder:
    """Decoder of binary images that draws row after row and can rely on the rows above as well as on the code.

    Parameters
    ----------
    shape
        (1, H, W) with W at most 10.
    latent
        Dimension of the code.
    hidden
        Width.
    seed
        Of the weights.

    Returns
    -------
    Module

    Examples
    --------
    >>> distribution = row_decoder((1, 8, 8), 2, hidden=5)(torch.zeros(3, 2))
    >>> x = distribution.sample(torch.rand(3, 1, 8, 8))
    >>> x.shape, distribution.log_density(x).shape
    (torch.Size([3, 1, 8, 8]), torch.Size([3]))
    """
    if len(shape) != 3 or shape[0] != 1 or min(*shape, latent, hidden) < 1 or shape[2] > _WIDEST:
        raise TutelageError(
            f"images of shape {list(shape)} are not (1, height, width) with rows of {_WIDEST} pixels at most"
        )
    return started(RowDecoder(shape[1], shape[2], latent, hidden), seed, "row-decoder")
