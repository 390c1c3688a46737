"""Statements of Phuong 2021, chapter 4 held against trained models: certificates, with every number by quadrature."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch

from tutelage.autoencoders.closed_forms import best_elbo
from tutelage.autoencoders.exact import Exact, evaluate, grid, log_code, log_conditional
from tutelage.autoencoders.objective import standard_normal
from tutelage.autoencoders.parts import CategoricalDecoder, Model, categorical_models, normal_models
from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.certificates.registry import Subject


class AutoencoderScene:
    """Models and what was computed of them, for several statements at once."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def exact(self) -> Exact:
        return evaluate(self.model)

    @property
    def symbols(self) -> int:
        """How many symbols the data have; 0 where they are numbers."""
        return self.model.decoder.symbols if isinstance(self.model.decoder, CategoricalDecoder) else 0

    @property
    def discrete(self) -> Condition:
        return check("symbols of the data", self.symbols, ">=", 2)


def _example(*, model: str = "categorical", seed: int = 0) -> tuple[Model]:
    """An untrained model of symbols ("categorical") or of numbers ("normal")."""
    makers: dict[str, Callable[[Sequence[int]], Model]] = {"categorical": categorical_models, "normal": normal_models}
    return (makers[model]([seed]),)


AUTOENCODERS = Subject(
    "autoencoders",
    about="models of symbols or numbers (Model or AutoencoderScene of tutelage.autoencoders)",
    accepts=lambda *about: len(about) == 1 and isinstance(about[0], Model | AutoencoderScene),
    scenes=lambda about: [(0, about if isinstance(about, AutoencoderScene) else AutoencoderScene(about))],
    example=_example,
)


def autoencoder_certificate(name: str, *, source: str) -> Any:
    """Register a function (scene, *, options) -> one finding per member."""
    return AUTOENCODERS.certificate(name, source=f"Phuong 2021, {source}")


def _of(scene: AutoencoderScene, conclusions: Sequence[Condition], *conditions: Condition) -> list[Finding]:
    return [Finding([Part("model", (), conclusion)], conditions) for conclusion in conclusions]


@autoencoder_certificate("infomax", source="Theorem 4.1")
def infomax_holds(scene: AutoencoderScene, *, tolerance: float = 1e-6) -> list[Finding]:
    """I(x; z) >= H(z) + E log r(z|x), r being the model's own estimator."""
    slack = (scene.exact.information - scene.exact.infomax).tolist()
    return _of(scene, [check("what the bound lacks to I, nats", v, ">=", -tolerance) for v in slack])


@autoencoder_certificate("elbo-gap", source="sec. 4.1")
def elbo_gap(scene: AutoencoderScene, *, tolerance: float = 1e-4) -> list[Finding]:
    """The ELBO lies below E log p(x) by E KL(q(z|x) || p(z|x))."""
    exact = scene.exact
    off = (exact.likelihood - exact.elbo - exact.gap).abs().tolist()
    return _of(scene, [check("difference of both sides, nats", v, "<=", tolerance) for v in off])


@autoencoder_certificate("joint-divergence", source="proof of Theorem 4.2")
def joint_divergence(scene: AutoencoderScene, *, tolerance: float = 1e-4) -> list[Finding]:
    """Of discrete data the ELBO is -H(q(x)) - KL(q(x) q(z|x) || p(z) p(x|z))."""
    if not scene.symbols:
        return _of(scene, [scene.discrete] * scene.model.members, scene.discrete)
    model, x = scene.model.select(range(scene.model.members)), torch.arange(scene.symbols)
    z, log_dz = grid(model.latent)
    with torch.no_grad():
        log_q = log_code(model.encoder, z, x) - math.log(scene.symbols)  # of pairs: [S, X, P]
        log_p = (log_conditional(model, z, x) + standard_normal(z)[:, None]).mT
    divergence = ((log_q + log_dz).exp() * (log_q - log_p)).sum((1, 2))
    off = (scene.exact.elbo + math.log(scene.symbols) + divergence).abs().tolist()
    return _of(scene, [check("difference of both sides, nats", v, "<=", tolerance) for v in off], scene.discrete)


@autoencoder_certificate("collapse", source="Theorem 4.2")
def collapse_is_best(scene: AutoencoderScene, *, tolerance: float = 1e-6) -> list[Finding]:
    """With normal codes of discrete data no decoder lifts the ELBO above -H(q(x)), where the independent model stands.

    The first part is the bound with these very encoders and the best decoder; the second says that these models' own
    ELBO is not above that.
    """
    if not scene.symbols:
        return _of(scene, [scene.discrete] * scene.model.members, scene.discrete)
    model = scene.model.select(range(scene.model.members))
    with torch.no_grad():
        moments = model.encoder.moments(torch.arange(scene.symbols).expand(model.members, -1))
    best = best_elbo(*moments, torch.full((scene.symbols,), 1 / scene.symbols, dtype=torch.float64))
    most, elbo = -math.log(scene.symbols), scene.exact.elbo
    return [
        Finding(
            [
                Part("best decoder", (), check("ELBO, nats", float(best[s]), "<=", most + tolerance)),
                Part("own decoder", (), check("ELBO, nats", float(elbo[s]), "<=", float(best[s]) + tolerance)),
            ],
            (scene.discrete,),
        )
        for s in range(model.members)
    ]


@autoencoder_certificate("information-limit", source="sec. 4.3")
def information_limit(scene: AutoencoderScene, *, tolerance: float = 1e-6) -> list[Finding]:
    """A code carries at most the entropy of discrete data, log K for K symbols."""
    most = math.log(max(scene.symbols, 2)) + tolerance
    checks = [check("I(x; z), nats", v, "<=", most) for v in scene.exact.information.tolist()]
    return _of(scene, checks, scene.discrete)


@autoencoder_certificate("target-met", source="(4.7), (4.11)")
def target_met(scene: AutoencoderScene, *, target: float = 0.0, within: float = 0.05) -> list[Finding]:
    """With C above the multiplier the maximiser of the penalised objective has the information asked for.

    target: M of these models; within: nats.
    """
    off = (scene.exact.information - target).abs().tolist()
    return _of(scene, [check("|I - M|, nats", v, "<=", within) for v in off])
