"""What a model of sentences keeps of its input: reconstructions, ways between two sentences, bounds on I(x; z)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.autoencoders.bounds import Bounds, from_samples
from tutelage.autoencoders.exact import COLLAPSED_INFORMATION, COLLAPSED_KL
from tutelage.autoencoders.objective import log_weights, to_prior
from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.sequences import decoder_of
from tutelage.errors import TutelageError

_AT_ONCE = 256  # sentences a member works on at a time


def _normals(key: Tensor, begin: int, many: int, codes: int, latent: int) -> Tensor:
    """Noise of sentences begin, begin + 1, ..., the same however they are cut into batches: [S, codes, many, k]."""
    made = draws.normals(key, many * codes * latent, begin * codes * latent, torch.get_default_dtype())
    return made.view(-1, many, codes, latent).transpose(1, 2)


def _uniforms(key: Tensor, begin: int, many: int, each: int) -> Tensor:
    """Likewise uniform draws, some for each sentence: [S, many, each]."""
    return draws.uniforms(key, many * each, begin * each).to(torch.get_default_dtype()).view(-1, many, each)


def resampled_codes(model: Model, x: Tensor, noise: Tensor, uniform: Tensor) -> Tensor:
    """A code of each sentence from the resampling encoder (Phuong 2021, sec. 4.5): [S, B, k].

    Of J codes of the normal encoder one is kept, with probability w_j / sum w; noise [S, J, B, k], uniform [S, B]. With
    J = 1 it is a code of the normal encoder.
    """
    weights = log_weights(model, x, noise).softmax(1)
    chosen = (uniform.unsqueeze(1) > weights.cumsum(1)[:, :-1]).sum(1)  # [S, B]
    mean, log_std = model.encoder.moments(x)
    kept = noise.gather(1, chosen[:, None, :, None].expand(-1, 1, -1, noise.shape[-1]))[:, 0]
    return mean + log_std.exp() * kept


@torch.no_grad()
def reconstructions(model: Model, sentences: Tensor, seeds: Sequence[int], resample: int, copies: int = 1) -> Tensor:
    """Encode sentences and decode them again, both at random.

    Parameters
    ----------
    model
        S members.
    sentences
        [N, T].
    seeds
        One per member.
    resample
        k of the resampling encoder.
    copies
        Reconstructions per sentence.

    Returns
    -------
    Tensor
        [S, copies, N, T].

    Examples
    --------
    >>> from tutelage.autoencoders import sentence_models
    >>> model = sentence_models([0], vocabulary=20, longest=4, latent=2, hidden=8, embedding=4)
    >>> sentences = torch.randint(0, 20, (3, 4))
    >>> reconstructions(model, sentences, [0], resample=2, copies=5).shape
    torch.Size([1, 5, 3, 4])
    """
    keys = {name: draws.keys(seeds, f"reconstruction-{name}") for name in ("noise", "choice", "word")}
    count, longest = sentences.shape
    rows = sentences.repeat(copies, 1)
    samples = []
    # Draws are addressed by the sentence's number, so the size of the batches changes no result.
    for begin in range(0, len(rows), _AT_ONCE):
        x = rows[begin : begin + _AT_ONCE].expand(len(seeds), -1, -1)
        noise = _normals(keys["noise"], begin, x.shape[1], resample, model.latent)
        choice = _uniforms(keys["choice"], begin, x.shape[1], 1)[..., 0]
        code = resampled_codes(model, x, noise, choice)
        samples.append(model.decoder.sample(code, _uniforms(keys["word"], begin, x.shape[1], longest)))
    return torch.cat(samples, 1).view(len(seeds), copies, count, longest)


def shares_kept(sentences: Tensor, again: Tensor) -> tuple[Tensor, Tensor]:
    """Share of sentences [N, T] that came back word for word, and of words that came back at their place: [...] twice.

    again: [..., N, T].

    >>> exact, words = shares_kept(torch.tensor([[3, 4, 0], [5, 6, 7]]), torch.tensor([[3, 4, 0], [5, 7, 6]]))
    >>> exact.item(), round(words.item(), 6)
    (0.5, 0.6)
    """
    same = again == sentences
    spoken = sentences != 0
    return same.all(-1).double().mean(-1), (same & spoken).sum((-2, -1)).double() / spoken.sum()


@torch.no_grad()
def interpolation(model: Model, first: Tensor, second: Tensor, steps: int = 10) -> Tensor:
    """Sentences on the straight way between the mean codes of two, [T] each; likeliest words: [S, steps, T]."""
    if steps < 2:
        raise TutelageError(f"steps must be at least 2, got {steps}")
    mean, _ = model.encoder.moments(torch.stack([first, second]).expand(model.members, -1, -1))
    share = torch.linspace(0, 1, steps).to(mean.dtype)[:, None]
    return decoder_of(model).sample(torch.lerp(mean[:, :1], mean[:, 1:], share))


@dataclass(frozen=True, eq=False)
class OnData:
    """Of every member on sentences, [S] each in nats: the bound on log p(x), KL(q(z|x) || p(z)), and their errors."""

    bound: Tensor
    bound_error: Tensor
    kl: Tensor
    kl_error: Tensor


@torch.no_grad()
def on_data(model: Model, sentences: Tensor, seeds: Sequence[int], resample: int) -> OnData:
    """E log mean_j w_j and E KL(q(z|x) || p(z)) on sentences [N, T]; the KL is that of the normal encoder."""
    if len(sentences) < 2:
        raise TutelageError("a standard error needs at least 2 sentences")
    key = draws.keys(seeds, "on-data")
    bounds, kls = [], []
    for begin in range(0, len(sentences), _AT_ONCE):
        x = sentences[begin : begin + _AT_ONCE].expand(len(seeds), -1, -1)
        noise = _normals(key, begin, x.shape[1], resample, model.latent)
        bounds.append(log_weights(model, x, noise).logsumexp(1) - math.log(resample))
        kls.append(to_prior(*model.encoder.moments(x)).sum(-1))
    bound, kl = torch.cat(bounds, 1).double(), torch.cat(kls, 1).double()
    root = len(sentences) ** 0.5
    return OnData(bound.mean(1), bound.std(1) / root, kl.mean(1), kl.std(1) / root)


@torch.no_grad()
def sentence_bounds(model: Model, seeds: Sequence[int], samples: int = 2048, codes: int = 16) -> list[Bounds]:
    """Bounds on I(x; z) of models of sentences, from fresh sentences of the model.

    Parameters
    ----------
    model, seeds, samples, codes
        As in :func:`bounds`.

    Returns
    -------
    list of Bounds

    Examples
    --------
    >>> from tutelage.autoencoders import sentence_models
    >>> model = sentence_models([0], vocabulary=20, longest=4, latent=2, hidden=8, embedding=4)
    >>> [bounds] = sentence_bounds(model, [0], samples=64, codes=4)
    >>> bool(bounds.lower < bounds.upper)
    True
    """
    if samples < 2 or codes < 1:
        raise TutelageError("bounds need at least 2 samples and at least 1 code per sample")
    keys = {name: draws.keys(seeds, f"sentences-held-out-{name}") for name in ("latent", "word", "code")}
    judge = Model(model.decoder, model.estimator, model.estimator, model.latent)  # r in the encoder's place
    columns: list[list[Tensor]] = [[], [], []]
    for begin in range(0, samples, _AT_ONCE):
        many = min(_AT_ONCE, samples - begin)
        z = _normals(keys["latent"], begin, many, 1, model.latent)[:, 0]
        x = model.decoder.sample(z, _uniforms(keys["word"], begin, many, decoder_of(model).longest))
        noise = _normals(keys["code"], begin, many, codes, model.latent)
        columns[0].append(model.estimator.log_density(z, x))
        columns[1].append(model.decoder.log_density(x, z))
        columns[2].append(log_weights(judge, x, noise).logsumexp(1) - math.log(codes))
    log_r, log_p, log_marginal = (torch.cat(column, 1) for column in columns)
    return [from_samples(log_r[s], log_p[s], log_marginal[s], model.prior_entropy) for s in range(len(seeds))]


def collapsed(kl: float, lower: float) -> bool:
    """Whether the code says next to nothing: by the KL on data, or by the bound from below on I(x; z)."""
    return kl < COLLAPSED_KL or lower < COLLAPSED_INFORMATION
