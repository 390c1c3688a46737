"""Discrete data want an encoder that can be more than a normal (Phuong 2021, Fig. 4.2)."""

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.autoencoders.exact import code, divergence, posterior
from tutelage.autoencoders.studies._toys import SEEDS, SYMBOLS, MutualAutoencoders, every_target, trained_models
from tutelage.lab import Results
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.study import Plan, Scale, study

MOST = float(np.log(SYMBOLS))
SAMPLES = (1, 5)
"""k of the resampling encoder; 1 is the normal one."""
STEPS: dict[Scale, int] = {"smoke": 60, "quick": 2_000, "paper": 2_400}


@study(
    "encoder-flexibility",
    paper="phuong2021",
    figure="4.2",
    shows="With an encoder that resamples from five normals, the approximate posteriors are closer to the model's own, "
    "and those are sharper.",
)
def encoder_flexibility(scale: Scale) -> Plan:
    """Discrete data want an encoder that can be more than a normal."""
    members = every_target((MOST,), range(SEEDS[scale]))
    experiments = [
        MutualAutoencoders(distribution="symbols", **members, steps=STEPS[scale], learning_rate=1e-2, resample=k)
        for k in SAMPLES
    ]
    return Plan(experiments, draw, [better, sharper], view=encoded)


@dataclass(frozen=True, eq=False)
class EncoderPosteriors:
    """Models with one encoder: densities over z [S, symbols, P] of the model and of its encoder, and numbers [S].

    off: mean over symbols of KL(q(z|x) || p(z|x)); sharpness: the posteriors' mean entropy; information: exact I(x; z).
    """

    samples: int
    z: np.ndarray
    posterior: np.ndarray
    code: np.ndarray
    off: np.ndarray
    sharpness: np.ndarray
    information: np.ndarray


def encoded(results: Results) -> list[EncoderPosteriors]:
    """Densities and divergences of each experiment's models."""
    encoders, x = [], torch.arange(SYMBOLS)
    for result in results:
        toys, k = trained_models(result), result.setting("resample")
        z, truth = posterior(toys.model, x)
        _, guess = code(toys.model, x, resample=k)
        off = divergence(guess, truth, float(z[1, 0] - z[0, 0])).mean(1)
        arrays = (z[:, 0], truth, guess, off, toys.exact.sharpness, toys.exact.information)
        encoders.append(EncoderPosteriors(k, *(a.numpy() for a in arrays)))
    return encoders


def draw(encoders: list[EncoderPosteriors]) -> Figure:
    """One column per encoder, of the first seed: posteriors of the model above, of the encoder below."""
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.subplots(2, len(encoders), sharex=True, sharey="row", squeeze=False)
    colours = mpl.colormaps["tab10"](np.arange(SYMBOLS))
    for column, encoder in zip(axes.T, encoders, strict=True):
        order = np.argsort((encoder.posterior[0] * encoder.z).sum(1))
        for panel, curves in zip(column, (encoder.posterior[0], encoder.code[0]), strict=True):
            for curve, colour in zip(curves[order], colours, strict=True):
                panel.plot(encoder.z, curve, color=colour, linewidth=1.1)
            panel.set_xlim(-3, 3)
        title = "normal encoder" if encoder.samples == 1 else f"resampling encoder, k = {encoder.samples}"
        numbers = f"KL {encoder.off.mean():.3f}, I {encoder.information.mean():.3f} nats"
        column[0].set_title(f"{title}\n{numbers} (mean over seeds)")
        column[1].set_xlabel("z")
    for row in axes:
        row[0].set_ylim(0, None)
    axes[0, 0].set_ylabel("model's posterior p(z|x)")
    axes[1, 0].set_ylabel("encoder q(z|x)")
    return figure


def _less(encoders: list[EncoderPosteriors], field: str) -> dict[str, np.ndarray]:
    """What the normal encoder's number exceeds the resampling one's by, seed by seed."""
    plain, flexible = (getattr(encoder, field) for encoder in encoders)
    return {f"k = {SAMPLES[1]} against the normal encoder": plain - flexible}


better = Claim(
    "the resampling encoder learns better posterior approximations",
    statistic="mean over symbols of KL(q(z|x) || p(z|x)) with the normal encoder less that with k = 5, seed by seed",
    expected="> 0",
    values=lambda encoders: _less(encoders, "off"),
    reason=DIRECTION,
    place="Fig. 4.2",
)

sharper = Claim(
    "it also lets the decoder train better: the model's posteriors are sharper, closer to deterministic",
    statistic="mean entropy of p(z|x) with the normal encoder less that with k = 5, seed by seed: what I(x; z) gains",
    expected="> 0",
    values=lambda encoders: _less(encoders, "sharpness"),
    reason=DIRECTION,
    place="Fig. 4.2",
)
