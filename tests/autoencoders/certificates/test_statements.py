"""Statements held against models: true ones hold, and a wrong number is caught."""

import math

import pytest
import torch

from tutelage.autoencoders import settled_adam
from tutelage.autoencoders.certificates.statements import AutoencoderScene
from tutelage.autoencoders.parts import categorical_models, normal_models
from tutelage.autoencoders.training import train_models, uniform_symbols
from tutelage.certificates import certify, theorems
from tutelage.errors import TutelageError

OWN = {name: t for name, t in theorems().items() if t.subject.name == "autoencoders"}


@pytest.fixture(scope="module")
def scene():
    model = categorical_models([0, 1], symbols=5)
    how = settled_adam(250, 64, 1e-2)
    train_models(model, uniform_symbols(5), [None, 1.0], [0, 1], how, most=math.log(5))
    return AutoencoderScene(model)


@pytest.mark.parametrize("name", ["infomax", "elbo-gap", "joint-divergence", "collapse", "information-limit"])
def test_theorems_hold_on_trained_symbols(scene, name):
    assert [c.verdict for c in certify(name, scene)] == ["holds", "holds"]


def test_c4_3_the_elbo_is_a_divergence_of_joints(scene):
    for certificate in certify("joint-divergence", scene, tolerance=1e-8):
        assert certificate.verdict == "holds"


def test_targets(scene):
    met = certify("target-met", scene, target=1.0, within=0.1)
    assert [c.verdict for c in met] == ["fails", "holds"]


def test_statements_about_numbers():
    model = normal_models([0])
    assert [c.verdict for c in certify("infomax", model)] == ["holds"]
    for name in ("joint-divergence", "collapse", "information-limit"):
        [certificate] = certify(name, model)
        assert certificate.verdict == "not applicable"


def test_a_wrong_number_is_caught(scene):
    broken = AutoencoderScene(scene.model)
    exact = scene.exact
    broken.__dict__["exact"] = type(exact)(**{**vars(exact), "elbo": exact.elbo + 1, "infomax": exact.infomax + 9})
    for name in ("elbo-gap", "joint-divergence", "infomax", "collapse"):
        assert {c.verdict for c in certify(name, broken)} == {"fails"}


def test_unknown_names_and_options_are_refused(scene):
    with pytest.raises(TutelageError, match="infomax"):
        certify("infomaxx", scene)
    with pytest.raises(TutelageError, match="unknown option"):
        certify("infomax", scene, wrong=1)
    assert all(statement.source.startswith("Phuong 2021") for statement in OWN.values())
    assert isinstance(scene.exact.information, torch.Tensor)
