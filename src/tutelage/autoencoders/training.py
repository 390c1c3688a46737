r"""Training with the information asked for (Phuong 2021, Algorithm 4.1).

.. math:: \max\; \mathcal{L}(p, q) - C\, |\hat I - M|, \qquad
    \hat I = H(z) + E_{p(z) p(x|z)} \log r(z|x) \le I(x; z) \qquad (Phuong 2021, eqs. 4.10, 4.11)

The estimator r is trained beside the model, one step for each of its steps, on samples of the model alone: it has no
way to see data. The sign of I - M comes from samples that are not those of the gradient.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.autoencoders.objective import elbo, infomax, information_gain, resampled_bound
from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.settings import BEYOND, InformationObjective, settled_adam, steps_and_batch
from tutelage.devices import pick_device
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.training.settings import Training, set_rate

Sampler = Callable[[Tensor, int, int], Tensor]
"""Data: (keys [S], how many, place of the first) -> [S, B, d] or symbols int64 [S, B]."""

# Trades memory for calls: the numbers do not depend on it.
_SPAN = 50  # steps whose draws are made at a time
_LOST = 1e6  # nats: a bound or an estimate beyond has left everything behind
MEMORY = 0.98  # of the running mean that is reported as the estimate


@printed
@dataclass(frozen=True, eq=False)
class TrainingHistory:
    """Estimates during training at the recorded steps.

    Attributes
    ----------
    steps
        T recorded steps.
    estimate, elbo
        Running estimate of I(x; z), and the ELBO, [T, S].
    wrong_signs
        Share of the steps since the last record at which one batch and the running mean before it disagreed on the sign
        of I - M; 0 for a VAE, [T, S]. Near the target half of the signs are wrong.
    """

    steps: tuple[int, ...]
    estimate: Tensor
    elbo: Tensor
    wrong_signs: Tensor


def normal_data(key: Tensor, count: int, start: int) -> Tensor:
    """Fresh numbers from N(0, 1): [S] -> [S, count, 1]."""
    return draws.normals(key, count, start, torch.get_default_dtype()).unsqueeze(-1)


def uniform_symbols(symbols: int) -> Sampler:
    """Fresh symbols, all equally likely."""
    return lambda key, count, start: draws.indices(key, count, symbols, start)


def train_models(
    model: Model,
    data: Sampler,
    targets: Sequence[float | None],
    seeds: Sequence[int],
    settings: Training | None = None,
    *,
    objective: InformationObjective | None = None,
    most: float | None = None,
    record: Sequence[int] = (),
    device: torch.device | str | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> TrainingHistory:
    """Train small models with a given information, in place (Phuong 2021, Algorithm 4.1).

    Parameters
    ----------
    model
        S members.
    data
        Function (keys, step, count) -> fresh data [S, count, ...].
    targets
        M per member, None for a plain VAE.
    seeds
        One per member.
    settings
        Length in steps; default: 4,000 steps of Adam.
    objective
        Penalty and other terms.
    most
        Entropy of discrete data; larger targets raise an error.
    record
        Steps to record besides the last.
    device
        Where to train; the model is brought back afterwards.
    on_progress
        Called with the share done.

    Returns
    -------
    TrainingHistory
    """
    settings, objective = settings or settled_adam(4000), objective or InformationObjective()
    wanted = checked_targets(targets, seeds, most, model.members)
    home = next(model.decoder.parameters()).device
    chosen = home if device is None else pick_device(device)
    _move(model, chosen)
    try:
        return _train(model, data, wanted.to(chosen), seeds, settings, objective, set(record), on_progress)
    finally:
        _move(model, home)


def _train(
    model: Model,
    data: Sampler,
    wanted: Tensor,
    seeds: Sequence[int],
    settings: Training,
    how: InformationObjective,
    record: set[int],
    on_progress: Callable[[float], None] | None,
) -> TrainingHistory:
    steps, batch = steps_and_batch(settings, "train_models")
    plain = wanted.isnan()
    theta = [*model.decoder.parameters(), *model.encoder.parameters()]
    up, aside = (
        settings.optimiser.for_module(p, settings.rate, fused=True) for p in (theta, model.estimator.parameters())
    )
    # Three batches of draws per step: for the gradient, for the sign of I - M, and for the estimator. If one served two
    # of them, the sign and the gradient would be correlated and the step biased.
    noise = _StepNoise(model, seeds, how.resample, batch, wanted.device)
    running, wrong, counted = torch.zeros_like(wanted), torch.zeros_like(wanted), 0
    history: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
    for step, rate in enumerate(settings.rates(steps)):
        part = noise(step)
        set_rate(rate, up, aside)
        x = data(noise.data, batch, step * batch)
        if step == 0 and not model.decoder.discrete and not x.is_floating_point():
            raise TutelageError("a normal decoder was given symbols: discrete data need a categorical decoder")
        bound, information = _model_step(model, x, part, plain, wanted, how, step)
        up.step()
        up.zero_grad()
        _estimator_step(model, part)
        aside.step()
        aside.zero_grad()
        if step:
            wrong += ((information > wanted) != (running > wanted)) & ~plain
            counted += 1
        # A plain mean at first, then an exponential one over about 50 steps: no bias from a start at 0.
        running = running + max(1 / (step + 1), 1 - MEMORY) * (information - running)
        if step + 1 in record or step + 1 == steps:
            history[step + 1] = running.clone(), bound, wrong / max(1, counted)
            wrong, counted = torch.zeros_like(wanted), 0
        if (step + 1) % _SPAN == 0 or step + 1 == steps:
            check_course(bound, information, step + 1)
            if on_progress:
                on_progress((step + 1) / steps)
    return TrainingHistory(
        tuple(history), *(torch.stack(column).cpu() for column in zip(*history.values(), strict=True))
    )


def _move(model: Model, device: torch.device) -> None:
    for part in (model.decoder, model.encoder, model.estimator):
        part.to(device)


def _model_step(
    model: Model, x: Tensor, part: "_StepDraws", plain: Tensor, wanted: Tensor, how: InformationObjective, step: int
) -> tuple[Tensor, Tensor]:
    """Leave the gradient of decoder and encoder in place; the bound, and I as a fresh batch has it: [S] each."""
    with torch.no_grad():
        information = model.prior_entropy + infomax(model, part.latent[1], part.sample[1])[1].mean(1)
    push = torch.where(plain, 0.0, how.penalty * (information - wanted.nan_to_num()).sign())
    if how.resample == 1:
        bound = elbo(model, x, part.code[:, 0], weight=how.kl_weight(step), free_bits=how.free_bits)
    else:
        bound = resampled_bound(model, x, part.code)
    model.estimator.requires_grad_(False)  # it is held still here
    gain = information_gain(model, part.latent[0], part.sample[0], how.gradient)
    (push * gain - bound).sum().backward()
    model.estimator.requires_grad_(True)
    return bound.detach(), information


def _estimator_step(model: Model, part: "_StepDraws") -> None:
    """Leave the estimator's gradient in place, from samples of the model as it now is."""
    with torch.no_grad():
        x = model.decoder.sample(part.latent[2], part.sample[2])
    (-model.estimator.log_density(part.latent[2], x).mean(1)).sum().backward()


def check_course(bound: Tensor, information: Tensor, step: int) -> None:
    """Reject members that have diverged: [S] each."""
    fine = (bound.abs() < _LOST) & (information.abs() < _LOST)  # not so where a number is none
    lost = torch.nonzero(~fine)[:, 0].tolist()
    if lost:
        raise TutelageError(f"members {lost} diverged by step {step}: lower the learning rate or the penalty")


@dataclass(frozen=True)
class _StepDraws:
    """Draws of one step: code [S, k, B, latent]; three batches of latents and of what turns them into samples.

    The first is for the gradient, the second for the sign, the third for the estimator.
    """

    code: Tensor
    latent: tuple[Tensor, ...]
    sample: tuple[Tensor, ...]


class _StepNoise:
    """All draws of the training, each member's from its own streams, made for several steps at a time."""

    def __init__(
        self, model: Model, seeds: Sequence[int], resample: int, batch: int, device: torch.device | str = "cpu"
    ) -> None:
        self.discrete = model.decoder.discrete
        features = 0 if self.discrete else model.decoder.net.biases[-1].shape[-1] // 2
        self.sizes = {
            "code": (resample, batch, model.latent),
            "latent": (3, batch, model.latent),
            "sample": (3, batch) if self.discrete else (3, batch, features),
        }
        self.keys = {name: draws.keys(seeds, f"autoencoder-{name}", device) for name in self.sizes}
        self.data = draws.keys(seeds, "autoencoder-data", device)
        self._begin, self._made = -1, dict[str, Tensor]()

    def __call__(self, step: int) -> _StepDraws:
        begin = step - step % _SPAN
        if begin != self._begin:
            self._begin, self._made = begin, {name: self._draw(name, begin) for name in self.sizes}
        code, latent, sample = (self._made[name][:, step - begin] for name in self.sizes)
        return _StepDraws(code, latent.unbind(1), sample.unbind(1))

    def _draw(self, name: str, begin: int) -> Tensor:
        count = math.prod(self.sizes[name])
        draw = draws.uniforms if self.discrete and name == "sample" else draws.normals
        made = draw(self.keys[name], _SPAN * count, start=begin * count)
        return made.to(torch.get_default_dtype()).view(-1, _SPAN, *self.sizes[name])


def checked_targets(
    targets: Sequence[float | None], seeds: Sequence[int], most: float | None = None, members: int | None = None
) -> Tensor:
    """Targets [S], NaN for none; an error where they cannot be met; members: how many the model has."""
    if members is not None and members != len(seeds):
        raise TutelageError(f"there are {len(seeds)} seeds for a model of {members} members: give one per member")
    if len(targets) != len(seeds):
        raise TutelageError(f"there are {len(targets)} targets for {len(seeds)} members: give one each, None for a VAE")
    for target in targets:
        if target is not None and (not isinstance(target, int | float) or abs(target) > BEYOND or math.isnan(target)):
            raise TutelageError("a target cannot be met: information is a number of nats, finite and at least 0")
        if target is not None and not 0 <= target < math.inf:
            raise TutelageError(f"a target of {target:g} nats cannot be met: information is finite and at least 0")
        if target is not None and most is not None and target > most + 1e-9:
            raise TutelageError(f"a target of {target:g} nats cannot be met: such data carry {most:.4g} nats at most")
    return torch.tensor([math.nan if t is None else t for t in targets])
