"""Methods: registered once, found by name."""

import pytest

from tutelage import TutelageError
from tutelage.planted import METHODS, method
from tutelage.planted.registry import find
from tutelage.planted.view import SEES


def test_methods_of_the_package_say_what_they_are():
    assert {"oracle", "random", "max-correlation", "kmeans-weights", "sparse-autoencoder"} <= set(METHODS)
    for chosen in METHODS.values():
        if chosen.built_in:
            assert chosen.sees in SEES
            assert len(chosen.summary.split()) > 3


def test_names_are_taken_once():
    with pytest.raises(TutelageError, match="there is a method 'pca' already"):
        method("pca")(lambda students, inputs: None)
    with pytest.raises(TutelageError, match="unknown view of a method 'teachers'"):
        method("mine", sees="teachers")
    with pytest.raises(TutelageError, match="did you mean 'pca'"):
        find("pcaa")
