"""`tutelage cite` prints entries that can be put into a .bib file as they are."""

import json
import re

import pytest

import tutelage
from tutelage.papers import PAPERS


def keys(text):
    return re.findall(r"^@\w+\{(\w+),$", text, re.M)


def test_without_a_study_the_library_and_every_paper_are_cited(command):
    done = command("cite")
    assert done.code == 0
    assert keys(done.out) == ["tutelage", *PAPERS]
    assert f"version = {{{tutelage.__version__}}}" in done.out
    assert done.out.count("{") == done.out.count("}")


@pytest.mark.parametrize(("studies", "papers"), [(["l-shape"], ["tian2020"]), (["folds", "pl-fails"], None)])
def test_a_study_is_cited_with_its_paper(command, studies, papers):
    done = command("cite", *studies)
    assert keys(done.out) == ["tutelage", *(papers or ["phuong2021", "zhou2021"])]
    assert list(json.loads(command("cite", *studies, "--json").out)) == keys(done.out)


def test_an_unknown_study_is_one_sentence(command):
    done = command("cite", "l-shap")
    assert done.code == 2
    assert "did you mean 'l-shape'" in " ".join(done.err.split())
