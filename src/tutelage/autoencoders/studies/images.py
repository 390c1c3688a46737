"""Codes of images with the information that was asked for, beside VAEs and beta-VAEs (Phuong 2021, beyond chapter
4).
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.autoencoders.studies._image_codes import (
    BITS,
    GREY,
    ImageAutoencoder,
    ImageCode,
    ImageCodes,
    image_codes,
)
from tutelage.autoencoders.studies._toys import off_target
from tutelage.studies.claims import DIRECTION, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 3, "paper": 8}
JUDGED: dict[Scale, dict[str, Any]] = {
    "smoke": {"images": "blobs", "probed": 60, "tested": 60, "refine": 4, "samples": 32},
    "quick": {"images": "digits", "probed": 1_437, "tested": 360, "refine": 200},
    "paper": {"images": "fashion-mnist", "probed": 5_000, "tested": 2_000, "refine": 300},
}
TARGETS: dict[Scale, dict[str, tuple[float, ...]]] = {
    "smoke": {BITS: (1.0, 2.0), GREY: (2.0,)},
    "quick": {BITS: (1.0, 2.0, 4.0), GREY: (2.0, 8.0)},
    "paper": {BITS: (1.0, 2.0, 3.0, 4.0, 6.0), GREY: (4.0, 8.0)},
}
BETAS: dict[Scale, dict[str, tuple[float, ...]]] = {
    "smoke": {BITS: (0.25,), GREY: (4.0,)},
    "quick": {BITS: (0.25,), GREY: (4.0,)},
    "paper": {BITS: (0.25, 0.5), GREY: (4.0, 16.0)},
}
"""Of the beta-VAEs; the VAE is added."""
TRAINING: dict[Scale, dict[str, dict[str, Any]]] = {
    "smoke": {BITS: {"steps": 4}, GREY: {"steps": 4, "width": 4}},
    "quick": {BITS: {"steps": 500, "batch": 128}, GREY: {"steps": 500}},
    "paper": {BITS: {"steps": 1_000, "batch": 128}, GREY: {"steps": 800, "width": 8}},
}
RATES: dict[str, dict[str, float]] = {
    BITS: {"learning_rate": 8e-3, "penalty": 2.0},
    GREY: {"learning_rate": 3e-3, "penalty": 10.0},
}


@study(
    "images",
    paper="phuong2021",
    figure="ch. 4, on images",
    shows="The paper stays with numbers, symbols and sentences. Here: images, with a decoder that needs the code and "
    "one that can do without it; what the code carries, and how much of the class a linear probe reads off it.",
)
def images(scale: Scale) -> Plan:
    """Codes of images with the information that was asked for, beside VAEs and beta-VAEs."""
    claims = [
        any_information, not_chosen, nearly_empty, of_use, probe_grows, reconstruction_grows, same_probe,
        same_reconstruction, held_estimate,
    ]  # fmt: skip
    return Plan(autoencoders(scale), draw, claims, view=image_codes)


def autoencoders(scale: Scale) -> list[ImageAutoencoder]:
    """For each decoder a VAE, beta-VAEs and models with a target, each with every seed."""
    return [
        ImageAutoencoder(
            decoder=decoder, **model, seed=seed, **RATES[decoder], **TRAINING[scale][decoder], **JUDGED[scale]
        )
        for decoder in (BITS, GREY)
        for model in (
            {},
            *({"beta": beta} for beta in BETAS[scale][decoder]),
            *({"target": target} for target in TARGETS[scale][decoder]),
        )
        for seed in fresh_seeds(scale, SEEDS[scale])
    ]


def lower(model: ImageCode) -> float:
    return model.information.bounds.lower


def upper(model: ImageCode) -> float:
    return model.information.bounds.upper


def reconstruction(model: ImageCode) -> float:
    return model.information.reconstruction


def accuracy(model: ImageCode) -> float:
    return 100 * model.probe


def _targets(codes: ImageCodes, decoder: str) -> list[str]:
    return [f"M = {target:g}" for target in codes.targets(decoder)]


def _plain(codes: ImageCodes, decoder: str) -> list[str]:
    return ["VAE", *(f"beta = {beta:g}" for beta in codes.betas(decoder))]


def misses(codes: ImageCodes) -> dict[str, Measured]:
    """What the bounds of I leave of |I - M| / M, of every model with a target."""
    return {
        f"{decoder} decoder, {name}": off_target(
            codes.values(decoder, name, lower), codes.values(decoder, name, upper), m
        )
        for decoder in (BITS, GREY)
        for m, name in zip(codes.targets(decoder), _targets(codes, decoder), strict=True)
    }


def rises(codes: ImageCodes, read: Callable[[ImageCode], float]) -> dict[str, np.ndarray]:
    """Differences between neighbouring targets, seed by seed."""
    return {
        f"{decoder} decoder, {a} to {b.removeprefix('M = ')}": codes.values(decoder, b, read)
        - codes.values(decoder, a, read)
        for decoder in (BITS, GREY)
        for a, b in pairwise(_targets(codes, decoder))
    }


def beside_beta(codes: ImageCodes, read: Callable[[ImageCode], float]) -> dict[str, np.ndarray]:
    """What models with a target have more than VAE and beta-VAEs of the same seed at the same information.

    The latter's numbers are joined by straight lines over the lower bound. A seed where none of them carries as much,
    or as little, has NaN; a target where no seed can be compared is left out.
    """
    gained = {}
    for name in _targets(codes, BITS):
        gains = []
        for model in codes.of(BITS, name):
            others = [m for n in _plain(codes, BITS) for m in codes.of(BITS, n) if m.seed == model.seed]
            others.sort(key=lower)
            at = [lower(m) for m in others]
            within = at[0] <= lower(model) <= at[-1]
            gains.append(read(model) - np.interp(lower(model), at, [read(m) for m in others]) if within else np.nan)
        if np.isfinite(gains).any():
            gained[name] = np.array(gains)
    return gained


def draw(codes: ImageCodes) -> Figure:
    """One column per decoder: the bounds of I against M, then the probe and the reconstruction against I."""
    figure = Figure(figsize=(7.6, 7.6), layout="constrained")
    axes = figure.subplots(3, 2)
    for column, decoder in zip(axes.T, (BITS, GREY), strict=True):
        kind = "rows given the rows above" if decoder == BITS else "pixels given the code alone"
        column[0].set_title(f"{decoder} decoder: {kind}")
        _attained(column[0], codes, decoder)
        _against(column[1], codes, decoder, accuracy)
        _against(column[2], codes, decoder, reconstruction)
        column[0].set_xlabel("target M, nats")
        column[2].set_xlabel("information, lower bound, nats")
        column[1].sharex(column[2])
    axes[0, 0].set_ylabel("information, nats")
    axes[1, 0].set_ylabel(f"linear probe of {codes.images}, %")
    axes[2, 0].set_ylabel("E log p(x|z), nats")
    axes[0, 0].legend(loc="upper left", fontsize=7)
    axes[2, 0].legend(loc="lower right", fontsize=7)
    return figure


def _attained(panel: Axes, codes: ImageCodes, decoder: str) -> None:
    """Bounds from below and above of every seed, and of the VAE as a band."""
    targets = codes.targets(decoder)
    for m in targets:
        low, high = (codes.values(decoder, f"M = {m:g}", read) for read in (lower, upper))
        places = m + 0.02 * max(targets) * (np.arange(len(low)) - (len(low) - 1) / 2)
        label = "between its bounds, one line per seed" if m == targets[0] else ""
        panel.vlines(places, low, high, color=PALETTE[0], linewidth=1.5, label=label)
        panel.plot(places, low, ".", color=PALETTE[0], markersize=4)
    low, high = (codes.values(decoder, "VAE", read).mean() for read in (lower, upper))
    panel.axhspan(low, high, color=PALETTE[1], alpha=0.3, linewidth=1.5, label="the VAE's")
    ends = np.array([0, 1.1 * max(targets)])
    panel.plot(ends, ends, color="0.5", linestyle="--", linewidth=0.8, label="as asked for")
    panel.set(xlim=ends, ylim=(0, None))


def _against(panel: Axes, codes: ImageCodes, decoder: str, read: Callable[[ImageCode], float]) -> None:
    """Means over seeds against the mean lower bound, with standard errors; models with a target are joined."""
    plain = _plain(codes, decoder)
    groups = (
        ("asked for", _targets(codes, decoder), PALETTE[0], "o-"),
        ("VAE", plain[:1], PALETTE[1], "s"),
        ("beta-VAE", plain[1:], PALETTE[2], "^"),
    )
    for label, names, colour, mark in groups:
        points = np.array([[codes.values(decoder, name, of) for of in (lower, read)] for name in names])  # [N, 2, S]
        x, y = points.mean(2).T
        x_error, y_error = points.std(2, ddof=1).T / points.shape[2] ** 0.5
        panel.errorbar(
            x, y, y_error, x_error, mark, color=colour, label=label, markersize=4, linewidth=1,
        )  # fmt: skip
        panel.margins(0.12)
        for name, a, b in zip(names, x, y, strict=True):
            if name != "VAE":
                text = name.replace("beta = ", "β ").replace("M = ", "")
                panel.annotate(text, (a, b), xytext=(3, 4), textcoords="offset points", fontsize=6, color=colour)


any_information = Claim(
    "the mutual autoencoder can encode any amount of information set beforehand",
    statistic="the largest that |I - M| / M can be, with I between its bounds, the estimator having been trained on "
    "after the model",
    expected="< 0.1",
    values=misses,
    reason="a tenth of the amount that was set is read as that amount",
    possible=(0.0, np.inf),
)

not_chosen = Claim(
    "a VAE's information is nobody's choice: it depends on what the decoder can do without the code",
    statistic="lower bound of I of the VAE with the weak decoder less the upper bound with the strong one, nats",
    expected="> 1",
    values=lambda e: {"VAEs": e.values(GREY, "VAE", lower) - e.values(BITS, "VAE", upper)},
    reason="one nat is a factor of e in the number of codes that can be told apart",
    standing="own",
)

nearly_empty = Claim(
    "with a strong decoder the VAE leaves its code nearly empty",
    statistic="upper bound of I of the VAE, nats",
    expected="< 1",
    values=lambda e: {f"{BITS} decoder, VAE": e.values(BITS, "VAE", upper)},
    reason="less than one nat: fewer than e codes can be told apart on average",
)

of_use = Claim(
    "with a strong decoder what is asked for is of use: the code says more about the class than the VAE's",
    statistic="accuracy of a linear probe on codes drawn from q(z|x), largest M less the VAE, seed by seed, in points",
    expected="> 10",
    values=lambda e: {
        f"{BITS} decoder, {_targets(e, BITS)[-1]} against the VAE": e.values(BITS, _targets(e, BITS)[-1], accuracy)
        - e.values(BITS, "VAE", accuracy)
    },
    reason="the gain has to exceed the ten points that guessing one of ten classes has",
)

probe_grows = Claim(
    "the more information is asked for, the better a linear probe reads the class off the code",
    statistic="rise of the probe's accuracy from one M to the next, seed by seed, in points",
    expected="> 0",
    values=lambda e: rises(e, accuracy),
    reason=DIRECTION,
    standing="own",
)

reconstruction_grows = Claim(
    "the more information is asked for, the better images not seen are reconstructed",
    statistic="rise of E log p(x|z) on test images from one M to the next, seed by seed, nats",
    expected="> 0",
    values=lambda e: rises(e, reconstruction),
    reason=DIRECTION,
    standing="own",
)

same_probe = Claim(
    "at equal information a target and a beta are two ways to the same code: the probe reads as much",
    statistic="difference of the probe's accuracy to VAE and beta-VAEs at the same lower bound, without sign, points",
    expected="< 5",
    values=lambda e: {name: np.abs(v) for name, v in beside_beta(e, accuracy).items()},
    reason="five points are half of what guessing one of ten classes has",
    possible=(0.0, np.inf),
    standing="own",
)

same_reconstruction = Claim(
    "at equal information a target and a beta are two ways to the same code: images come back as well",
    statistic="difference of E log p(x|z) to VAE and beta-VAEs at the same lower bound, without its sign, nats",
    expected="< 1",
    values=lambda e: {name: np.abs(v) for name, v in beside_beta(e, reconstruction).items()},
    reason="one nat is a factor of e in the likelihood of an image",
    possible=(0.0, np.inf),
    standing="own",
)

held_estimate = Claim(
    "a target below what the likelihood wants holds the estimate, which is a lower bound, and not the information",
    statistic="lower bound of I after the estimator has been trained on, less M, nats",
    expected="> 0",
    values=lambda e: {f"{GREY} decoder, M = {m:g}": e.values(GREY, f"M = {m:g}", lower) - m for m in e.targets(GREY)},
    reason=DIRECTION,
    standing="own",
)
