"""Pictures of the glossary: each stands beside the word it is of, in the colours of the page."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from xml.etree import ElementTree

from tutelage_docs import words

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()


def test_twelve_words_have_their_picture_beside_them():
    shown = re.findall(r"^(\S.*)\n  ```\{word\} ([\w-]+)\n", GLOSSARY, re.MULTILINE)
    assert {name for _, name in shown} == set(words.PICTURES)
    assert len(shown) == len(words.PICTURES) == 12
    assert all(re.sub(r"\W", "-", title.lower()) == name for title, name in shown)


@pytest.mark.parametrize("word", words.PICTURES)
def test_a_picture_is_well_formed_and_has_no_colour_of_its_own(word):
    drawn = words.picture(word)
    assert len(list(ElementTree.fromstring(drawn).iter())) > 2
    assert "#" not in drawn
