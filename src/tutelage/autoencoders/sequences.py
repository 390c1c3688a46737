"""Decoder and encoder of sentences, members side by side: LSTMs over words (Phuong 2021, sec. 4.6.3).

A sentence is a row of word numbers with 0 behind its last word. The parts answer to the same names as those of
:mod:`.parts`, so that the objectives of :mod:`.objective` serve them too.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from tutelage.autoencoders.parts import WIDEST, Model, normal_log_density, uniform_weights
from tutelage.errors import TutelageError


def step(a: Tensor, h: Tensor, c: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One step of the cell: a [S, B, 4H], h and c [S, B, H], W [S, H, 4H] -> gates [S, B, 4H], h, c."""
    gates = torch.baddbmm(a, h, weight)
    size = h.shape[-1]
    gates[..., : 3 * size].sigmoid_()
    gates[..., 3 * size :].tanh_()
    i, f, o, g = gates.split(size, dim=-1)
    c = (f * c).addcmul_(i, g)
    return gates, c.tanh().mul_(o), c


# By hand: only gates and cells are kept for the way back, and the gradient of the weights is one product over all steps
# at its end.
class _Unrolled(torch.autograd.Function):
    """All steps from h = c = 0: a [T, S, B, 4H], W [S, H, 4H] -> h [T, S, B, H]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, weight: Tensor) -> Tensor:
        size = weight.shape[1]
        h = c = a.new_zeros(*a.shape[1:3], size)
        gates, cells, states = [], [], []
        for now in a:
            gate, h, c = step(now, h, c, weight)
            gates.append(gate)
            cells.append(c)
            states.append(h)
        ctx.gates, ctx.cells = gates, cells  # not seen from outside, and freed with the graph
        out = torch.stack(states)
        ctx.save_for_backward(weight, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (by_state,) = grads
        weight, states = ctx.saved_tensors
        size, back = weight.shape[1], weight.mT
        by_a = by_state.new_empty(*by_state.shape[:3], 4 * size)
        dh, dc = by_state[-1], torch.zeros_like(by_state[-1])
        # Invariant: dh is the derivative of the loss by the state after step t, and dc that by the cell after it,
        # without its way through that state.
        for t in reversed(range(len(by_state))):
            i, f, o, g = ctx.gates[t].split(size, dim=-1)
            di, df, do, dg = by_a[t].split(size, dim=-1)
            bent = ctx.cells[t].tanh()
            dc = dc + dh * o * (1 - bent.square())
            torch.mul(dh * bent, o - o.square(), out=do)
            torch.mul(dc * g, i - i.square(), out=di)
            torch.mul(dc * i, 1 - g.square(), out=dg)
            if t:
                torch.mul(dc * ctx.cells[t - 1], f - f.square(), out=df)
                dh, dc = torch.baddbmm(by_state[t - 1], by_a[t], back), dc * f
            else:
                df.zero_()
        # dW is the sum over steps of state(t - 1)^T times the gates' gradient at t: one product with time and batch as
        # one axis.
        before, after = (v.transpose(0, 1).flatten(1, 2) for v in (states[:-1], by_a[1:]))
        return by_a, torch.bmm(before.mT, after)


def unrolled(a: Tensor, weight: Tensor) -> Tensor:
    """States after every step, from h = c = 0: a [T, S, B, 4H], W [S, H, 4H] -> [T, S, B, H]."""
    return _Unrolled.apply(a, weight)


_END = 0  # the number behind the last word


def _look_up(table: Tensor, words: Tensor) -> Tensor:
    """Rows of each member's table: [S, V, F], words [T, S, B] -> [T, S, B, F]."""
    members, count, _ = table.shape
    offset = torch.arange(members, device=words.device).unsqueeze(1) * count
    return functional.embedding(words + offset, table.flatten(0, 1))


def _forgetful(hidden: int, *shape: int) -> nn.Parameter:
    """Biases of the gates: 1 for the one that keeps the cell, else 0."""
    bias = torch.zeros(*shape, 4 * hidden)
    bias[..., hidden : 2 * hidden] = 1
    return nn.Parameter(bias)


class SentenceDecoder(nn.Module):
    """p(x|z): an LSTM over words that receives z at every step, as does the distribution of the next word read off its
    state.

    The end is one of the words; a sentence ends after ``longest`` words at the latest.
    """

    discrete = True

    def __init__(
        self, seeds: Sequence[int], vocabulary: int, longest: int, latent: int, hidden: int, embedding: int
    ) -> None:
        super().__init__()
        self.longest = longest
        self.words = uniform_weights(seeds, "decoder-words", 1, vocabulary, embedding)
        self.from_word = uniform_weights(seeds, "decoder-from-word", embedding, embedding, 4 * hidden)
        self.from_code = uniform_weights(seeds, "decoder-from-code", latent, latent, 4 * hidden)
        self.from_state = uniform_weights(seeds, "decoder-from-state", hidden, hidden, 4 * hidden)
        self.bias = _forgetful(hidden, len(seeds), 1)
        self.to_word = uniform_weights(seeds, "decoder-to-word", hidden, hidden, vocabulary)
        self.code_to_word = uniform_weights(seeds, "decoder-code-to-word", latent, latent, vocabulary)
        self.to_word_bias = nn.Parameter(torch.zeros(len(seeds), 1, vocabulary))

    def _table(self) -> Tensor:
        """What each word before sends to the gates: [S, V, 4H]."""
        return torch.bmm(self.words, self.from_word)

    def _still(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """What z sends to the gates [S, B, 4H] and to the words [S, B, V], the same at every step."""
        return torch.baddbmm(self.bias, z, self.from_code), torch.baddbmm(self.to_word_bias, z, self.code_to_word)

    def word_log_densities(self, x: Tensor, z: Tensor) -> Tensor:
        """log p(word t | words before, z), 0 behind the end: x [S, B, T], z [S, B, k] -> [S, B, T]."""
        words = x.permute(2, 0, 1)
        before = torch.cat([torch.full_like(words[:1], _END), words[:-1]])
        to_gates, to_words = self._still(z)
        states = unrolled(_look_up(self._table(), before) + to_gates, self.from_state)
        logits = torch.matmul(states, self.to_word) + to_words
        chosen = -functional.cross_entropy(logits.flatten(0, 2), words.flatten(), reduction="none").view(words.shape)
        # The end itself counts, since the model has to say it; what stands behind the end does not. The first word has
        # the end before it and counts too.
        over = before == _END
        over[0] = False
        return chosen.masked_fill(over, 0.0).permute(1, 2, 0)

    def log_density(self, x: Tensor, z: Tensor) -> Tensor:
        """log p(x|z): sentences x int64 [S, B, T], z [S, B, k] -> [S, B]."""
        return self.word_log_densities(x, z).sum(-1)

    @torch.no_grad()
    def sample(self, z: Tensor, uniform: Tensor | None = None) -> Tensor:
        """Sentences [S, B, T] word by word, by inversion of uniform draws [S, B, T]; the likeliest words without."""
        table, (to_gates, to_words) = self._table(), self._still(z)
        hidden = self.from_state.shape[1]
        h = c = z.new_zeros(*z.shape[:2], hidden)
        word, over, words = torch.full(z.shape[:2], _END, device=z.device), None, []
        for t in range(self.longest):
            _, h, c = step(_look_up(table, word.unsqueeze(0))[0] + to_gates, h, c, self.from_state)
            logits = torch.baddbmm(to_words, h, self.to_word)
            if uniform is None:
                word = logits.argmax(-1)
            else:
                cumulative = logits.softmax(-1).cumsum(-1)
                word = (uniform[..., t, None] > cumulative[..., :-1]).sum(-1)
            word = word if over is None else word.masked_fill(over, _END)
            over = word == _END
            words.append(word)
        return torch.stack(words, -1)


class SentenceEncoder(nn.Module):
    """q(z|x) = N(mean(x), diag deviation(x)^2) from all states of two LSTMs, one for each way of reading."""

    def __init__(
        self,
        seeds: Sequence[int],
        vocabulary: int,
        longest: int,
        latent: int,
        hidden: int,
        embedding: int,
        stream: str = "encoder",
    ) -> None:
        super().__init__()
        self.words = uniform_weights(seeds, f"{stream}-words", 1, vocabulary, embedding)
        self.from_word = uniform_weights(seeds, f"{stream}-from-word", embedding, 2, embedding, 4 * hidden)
        self.from_state = uniform_weights(seeds, f"{stream}-from-state", hidden, 2, hidden, 4 * hidden)
        self.bias = _forgetful(hidden, len(seeds), 2, 1)
        self.to_code = uniform_weights(
            seeds, f"{stream}-to-code", 2 * hidden * longest, 2 * hidden * longest, 2 * latent
        )
        self.to_code_bias = nn.Parameter(torch.zeros(len(seeds), 1, 2 * latent))

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Sentences int64 [S, B, T] -> mean and log deviation [S, B, k]."""
        if x.is_floating_point() or x.ndim != 3:
            raise TutelageError(
                f"sentences are whole numbers [members, sentences, words], not {x.dtype} {list(x.shape)}"
            )
        words = x.permute(2, 0, 1)
        # The two directions of reading are two members to the loop, so one call serves both.
        both = torch.stack([words, words.flip(0)], 2).flatten(1, 2)  # [T, 2 S, B], the two ways as members
        table = (torch.matmul(self.words.unsqueeze(1), self.from_word) + self.bias).flatten(0, 1)
        states = unrolled(_look_up(table, both), self.from_state.flatten(0, 1)).unflatten(1, (-1, 2))
        features = states.permute(1, 3, 0, 2, 4).flatten(2)  # [S, B, T 2 H]
        mean, log_std = torch.baddbmm(self.to_code_bias, features, self.to_code).chunk(2, dim=-1)
        return mean, log_std.clamp(-WIDEST, WIDEST)

    def log_density(self, z: Tensor, x: Tensor) -> Tensor:
        """log q(z|x): z [S, B, k], sentences x [S, B, T] -> [S, B]."""
        return normal_log_density(z, *self.moments(x))


def decoder_of(model: Model) -> SentenceDecoder:
    """The decoder of a model of sentences."""
    if not isinstance(model.decoder, SentenceDecoder):
        raise TutelageError("this is no model of sentences: build one with sentence_models")
    return model.decoder


def sentence_models(
    seeds: Sequence[int],
    vocabulary: int,
    longest: int = 8,
    *,
    latent: int = 16,
    hidden: int = 64,
    embedding: int = 32,
) -> Model:
    """Models of sentences with LSTMs; the estimator is built like the encoder.

    Parameters
    ----------
    seeds
        One per member.
    vocabulary, longest
        Words, and words of the longest sentence.
    latent, hidden, embedding
        Sizes.

    Returns
    -------
    Model

    Examples
    --------
    >>> sentence_models(range(2), vocabulary=20, longest=4, latent=2, hidden=8, embedding=4).members
    2
    """
    if vocabulary < 2 or min(longest, latent, hidden, embedding) < 1:
        raise TutelageError("a model of sentences needs two words or more, the end among them, and sizes of at least 1")
    shape = vocabulary, longest, latent, hidden, embedding
    return Model(
        SentenceDecoder(seeds, *shape),  # type: ignore[arg-type]
        SentenceEncoder(seeds, *shape),  # type: ignore[arg-type]
        SentenceEncoder(seeds, *shape, stream="estimator"),  # type: ignore[arg-type]
        latent,
    )
