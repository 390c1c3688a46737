"""A teacher's recipe is found by its kind, and builds a plain network."""

from typing import Literal

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import Network, save
from tutelage.settings import Recipe
from tutelage.training.teachers import FromFile, Levels, Normal, NoTeacher, Teacher


def test_levels_is_found_by_its_kind():
    table = {"kind": "levels", "inputs": 4, "hidden": [3], "outputs": 2}
    assert Teacher.parse(table) == Levels(inputs=4, hidden=3, outputs=2)


def test_an_unknown_kind_suggests_the_nearest():
    with pytest.raises(TutelageError, match=r"kind of teacher 'level'; did you mean 'levels'\?"):
        Teacher.parse({"kind": "level"})


def test_the_base_builds_nothing_itself():
    with pytest.raises(TypeError, match="abstract"):
        Teacher(kind="levels")


def test_a_new_recipe_registers_itself_among_teachers_alone(monkeypatch):
    monkeypatch.setattr(Teacher, "kinds", dict(Teacher.kinds))

    class Ones(Teacher):
        kind: Literal["ones"] = "ones"

        def widths(self):
            return (2, 1)

        def make(self, seeds, distribution=None, dtype=torch.float32, device="cpu"):
            return Network((torch.ones(len(seeds), 2, 1, dtype=dtype, device=device),))

    assert Teacher.parse({"kind": "ones"}).build([0, 1]).members == 2
    families = [family for family in Recipe.__subclasses__() if family is not Teacher]
    assert families
    assert not any("ones" in family.kinds for family in families)


@pytest.mark.parametrize("recipe", [Levels, Normal])
def test_a_shared_teacher_is_that_of_the_first_seed(recipe):
    settings = {"inputs": 4, "hidden": 3, "outputs": 2}
    alone, shared = recipe(**settings).build([5]), recipe(**settings, shared=True).build([5, 6, 7])
    assert shared.members == 3
    for own, all_of_them in zip(alone.parameters, shared.parameters, strict=True):
        assert torch.equal(own.expand_as(all_of_them), all_of_them)
    assert not torch.equal(*recipe(**settings).build([5, 6]).weights[0])


@pytest.mark.parametrize("recipe", [Normal(inputs=4, hidden=(3,), outputs=2), NoTeacher(inputs=4, outputs=1)])
def test_a_bare_seed_is_an_error_that_says_what_to_give(recipe):
    with pytest.raises(TutelageError, match=r"seeds must be a list of whole numbers such as range\(2\), got 5"):
        recipe.build(5)


def test_a_slope_of_relu_units_has_no_effect():
    """Settings of leaky and other units may differ in one name, and are stored without what is the default."""
    relu = Levels(inputs=4, hidden=3, outputs=2, activation="relu", slope=0.2)
    assert relu.build([0]).slope == 0.01
    assert Teacher.parse({"kind": "levels", "inputs": 4, "hidden": [3], "outputs": 2, "slope": 0.2}) == relu


def test_a_file_that_says_its_activation_keeps_it(tmp_path):
    path = tmp_path / "net.safetensors"
    save(Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1)), None, "leaky", 0.2), path)
    assert FromFile(path=path).build([0, 1]).slope == FromFile(path=path, activation="leaky").build([0, 1]).slope == 0.2
    with pytest.raises(TutelageError, match="says that its units are leaky, not tanh"):
        FromFile(path=path, activation="tanh").build([0])
