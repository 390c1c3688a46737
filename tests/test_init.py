"""What ``import tutelage as tt`` offers: nouns, verbs and packages, nothing else."""

import inspect
from importlib.resources import files

import tutelage as tt

VERBS = {"canonical", "certify", "connect", "distil", "identify", "match", "measure", "prune", "same_function", "train"}


def test_verbs_are_functions_and_the_rest_are_nouns_or_packages():
    found = {name: getattr(tt, name) for name in tt.__all__}
    assert {name for name, thing in found.items() if inspect.isfunction(thing)} == VERBS
    assert all(inspect.isclass(t) or inspect.ismodule(t) for name, t in found.items() if name not in VERBS)


def test_types_are_for_users_too():
    assert files(tt).joinpath("py.typed").is_file()
