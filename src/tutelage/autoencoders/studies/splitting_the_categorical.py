"""Ten equally likely symbols coded by one number, from independence to a partition (Phuong 2021, Fig. 4.3b)."""

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.autoencoders.parts import CategoricalDecoder
from tutelage.autoencoders.studies._toys import (
    COLLAPSED,
    SEEDS,
    SYMBOLS,
    MutualAutoencoders,
    TrainedAutoencoders,
    attained,
    every_target,
    name,
    rows_and_one,
    trained_stack,
)
from tutelage.studies.claims import DIRECTION, SHARE, Claim
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

MOST = float(np.log(SYMBOLS))
TARGETS = (None, 0.0, 0.5, 1.0, 1.5, 2.0, MOST)
"""None is the VAE; the last is the entropy of the data. The paper's own values stand in its figure alone."""
STEPS: dict[Scale, int] = {"smoke": 100, "quick": 2_000, "paper": 2_400}


@study(
    "splitting-the-categorical",
    paper="phuong2021",
    figure="4.3b",
    shows="A VAE and a mutual autoencoder with M = 0 give ten constant bands; as M rises, p(x|z) moves from "
    "independence to a partition of the line.",
)
def splitting_the_categorical(scale: Scale) -> Plan:
    """Ten equally likely symbols coded by one number, from independence to a partition."""
    claims = [collapse, any_information, towards_determinism, nearly_deterministic]
    members = every_target(TARGETS, fresh_seeds(scale, SEEDS[scale]))
    experiment = MutualAutoencoders(distribution="symbols", **members, steps=STEPS[scale], learning_rate=1e-2)
    return Plan([experiment], draw, claims, view=trained_stack)


def probabilities(toys: TrainedAutoencoders, z: torch.Tensor) -> np.ndarray:
    """p(x|z) at latents [P]: [S, P, symbols]."""
    chosen = toys.model.select(range(toys.model.members))
    assert isinstance(chosen.decoder, CategoricalDecoder)
    with torch.no_grad():
        return chosen.decoder.log_probabilities(z.unsqueeze(1).expand(chosen.members, -1, -1)).exp().numpy()


def certainty(toys: TrainedAutoencoders) -> np.ndarray:
    """Mean over the prior of the largest p(x|z): [S]."""
    z = torch.linspace(-6, 6, 2001, dtype=torch.float64)
    weight = (-0.5 * z.square()).exp().numpy()
    return probabilities(toys, z).max(-1) @ weight / weight.sum()


def draw(toys: TrainedAutoencoders) -> Figure:
    """One row per target, of the first seed: p(x|z) stacked over z; beside it, the information of all seeds."""
    figure, axes, beside = rows_and_one(len(TARGETS))
    z = torch.linspace(-3, 3, 601, dtype=torch.float64)
    all_bands = probabilities(toys, z)
    colours = mpl.colormaps["tab10"](np.arange(SYMBOLS))
    for i, (panel, target) in enumerate(zip(axes, TARGETS, strict=True)):
        bands = all_bands[i * len(toys.seeds)]
        order = np.argsort((bands * z.numpy()[:, None]).sum(0) / bands.sum(0))  # bands from left to right
        panel.stackplot(z.numpy(), bands[:, order].T, colors=colours, linewidth=0)
        panel.set(ylabel=name(target), yticks=[], ylim=(0, 1), xlim=(-3, 3))
    axes[0].set_title("p(x|z), stacked; colours are symbols")
    axes[-1].set_xlabel("z")
    attained(beside, toys)
    return figure


collapse = Claim(
    "the VAE and the mutual autoencoder with M = 0 learn p(x|z) = q(x) for every z",
    statistic="exact I(x; z) by quadrature",
    expected=COLLAPSED,
    values=TrainedAutoencoders.collapse,
    reason="a fiftieth of a nat is read as no information",
    possible=(0.0, np.inf),
    place="Fig. 4.3",
)

any_information = Claim(
    "the mutual autoencoder can encode any amount of information set beforehand, up to the entropy of the data",
    statistic="|I - M| with the exact I(x; z) by quadrature",
    expected="< 0.05",
    values=TrainedAutoencoders.misses,
    reason="a tenth of the distance of 0.5 nats between two amounts that are asked for",
    possible=(0.0, np.inf),
    place="Fig. 4.3",
    failure="not found",
)

towards_determinism = Claim(
    "as M rises, the conditionals move from independence towards determinism",
    statistic="rise of the exact I(x; z) from one M to the next, seed by seed",
    expected="> 0",
    values=lambda toys: toys.steps_between(toys.information),
    reason=DIRECTION,
    place="Fig. 4.3",
)

nearly_deterministic = Claim(
    "codes range from independent to nearly deterministic",
    statistic="mean over the prior of the largest p(x|z) at M = log 10; independence gives 0.1",
    expected="> 0.9",
    values=lambda toys: {name(MOST): toys.of(certainty(toys))[name(MOST)]},
    reason="nine of ten is read as nearly deterministic; independence gives one of ten",
    possible=SHARE,
    place="Fig. 4.3",
)
