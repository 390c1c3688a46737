"""A normal distribution split into a mixture of normals, with the information that was asked for (Phuong 2021, Fig.
4.3a).
"""

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.autoencoders.parts import NormalDecoder
from tutelage.autoencoders.studies._toys import (
    COLLAPSED,
    SEEDS,
    MutualAutoencoders,
    TrainedAutoencoders,
    attained,
    every_target,
    name,
    rows_and_one,
    trained_stack,
)
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

TARGETS = (None, 0.0, 0.4, 0.8, 1.2, 1.6, 2.0)
"""None is the VAE. The paper's own values stand in its figure alone."""
LATENTS = (-2.1, -1.3, -0.4, 0.4, 1.3, 2.1)
STEPS: dict[Scale, int] = {"smoke": 60, "quick": 1_000, "paper": 1_200}
DATA_ENTROPY = 0.5 * np.log(2 * np.pi * np.e)


@study(
    "splitting-the-normal",
    paper="phuong2021",
    figure="4.3a",
    shows="A VAE and a mutual autoencoder with M = 0 ignore the code; as M rises the conditionals become more peaked.",
)
def splitting_the_normal(scale: Scale) -> Plan:
    """A normal distribution split into a mixture of normals, with the information that was asked for."""
    claims = [collapse, any_information, more_peaked, same_likelihood]
    members = every_target(TARGETS, fresh_seeds(scale, SEEDS[scale]))
    experiment = MutualAutoencoders(distribution="normal", **members, steps=STEPS[scale], learning_rate=2e-3)
    return Plan([experiment], draw, claims, view=trained_stack)


def deviations(toys: TrainedAutoencoders) -> np.ndarray:
    """Mean over the prior of the logarithm of the decoder's deviation: [S]."""
    z = torch.linspace(-5, 5, 501, dtype=torch.float64).unsqueeze(1)
    weight = (-0.5 * z.square()).exp().squeeze(1)
    chosen = toys.model.select(range(toys.model.members))
    assert isinstance(chosen.decoder, NormalDecoder)
    with torch.no_grad():
        log_std = chosen.decoder.moments(z.expand(chosen.members, -1, -1))[1].squeeze(-1)
    return (log_std @ weight / weight.sum()).numpy()


def draw(toys: TrainedAutoencoders) -> Figure:
    """One row per target, of the first seed: p(x|z) p(z) against x; beside it, the information of all seeds."""
    figure, axes, beside = rows_and_one(len(TARGETS))
    x = torch.linspace(-4, 4, 401, dtype=torch.float64)
    z = torch.tensor(LATENTS, dtype=torch.float64).unsqueeze(1)
    for i, (panel, target) in enumerate(zip(axes, TARGETS, strict=True)):
        model = toys.model.select([i * len(toys.seeds)])
        assert isinstance(model.decoder, NormalDecoder)
        with torch.no_grad():
            mean, log_std = model.decoder.moments(z.unsqueeze(0))
        curves = (-0.5 * ((x - mean) / log_std.exp()).square() - log_std - 0.5 * z.square()).exp() / (2 * np.pi)
        for curve, latent, colour in zip(curves[0], LATENTS, PALETTE, strict=False):
            panel.plot(x, curve, color=colour, label=f"{latent:+.1f}", linewidth=1.1)
        panel.set(ylabel=name(target), yticks=[], ylim=(0, None), xlim=(-4, 4))
    axes[0].set_title("p(x|z) p(z), rescaled; colours are z")
    axes[0].legend(ncols=3, fontsize=6, loc="upper right")
    axes[-1].set_xlabel("x")
    attained(beside, toys)
    return figure


collapse = Claim(
    "the VAE and the mutual autoencoder with M = 0 find the trivial optimum that ignores the code",
    statistic="exact I(x; z) by quadrature",
    expected=COLLAPSED,
    values=TrainedAutoencoders.collapse,
    reason="a fiftieth of a nat is read as no information",
    possible=(0.0, np.inf),
    place="Fig. 4.3",
)

any_information = Claim(
    "the mutual autoencoder can encode any amount of information set beforehand",
    statistic="|I - M| with the exact I(x; z) by quadrature",
    expected="< 0.05",
    values=TrainedAutoencoders.misses,
    reason="an eighth of the distance of 0.4 nats between two amounts that are asked for",
    possible=(0.0, np.inf),
    place="Fig. 4.3",
    failure="not found",
)

more_peaked = Claim(
    "as M rises, the conditionals p(x|z) become more peaked",
    statistic="change of the decoder's mean log deviation from one M to the next, seed by seed",
    expected="< 0",
    values=lambda toys: toys.steps_between(deviations(toys)),
    reason=DIRECTION,
    place="Fig. 4.3",
)

same_likelihood = Claim(
    "the likelihood sees the marginal alone and does not tell these representations apart",
    statistic="what E log p(x) lacks to its largest value, which is minus the data's entropy, in nats",
    expected="< 0.05",
    values=lambda toys: toys.of(-DATA_ENTROPY - toys.exact.likelihood.numpy()),
    reason="an eighth of the distance of 0.4 nats between two amounts of information",
    possible=(0.0, np.inf),
)
