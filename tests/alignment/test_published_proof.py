"""The published check of the proofs imports and runs as printed, and its digests are those of the files."""

import re
from pathlib import Path

import pytest

from tutelage.alignment import interval_proof

PAGE = Path(__file__).parents[2] / "docs" / "results" / "conjecture" / "conjecture.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_check_runs_as_printed_on_the_smallest_proof(monkeypatch, capsys):
    """The same code on one of the four files: all of them take half a minute."""
    monkeypatch.chdir(PAGE.parents[3])
    names = re.search(r'\("m3_boxes".*?\)', BLOCKS[0])[0]
    exec(BLOCKS[0].replace(names, '("m3_face_boxes",)'), {})
    said = capsys.readouterr().out
    assert "rejected=0, covers=True" in said
    digest = re.search(r"`m3_face_boxes.npz` \| ([0-9a-f]{64})", PAGE.read_text())[1]
    assert digest in said


def test_the_check_of_four_students_compiles_and_names_what_exists():
    names = re.findall(r"four_(?:proof|checker)\.(\w+)", BLOCKS[1])
    assert names == ["load", "check_four"]
    compile(BLOCKS[1], str(PAGE), "exec")


@pytest.mark.parametrize("name", ["m3_boxes", "m3_face_boxes", "m3_opposite_edge_boxes", "m3_neighbour_edge_boxes"])
def test_stored_proofs_have_the_published_digests(name):
    digest = re.search(rf"`{name}.npz` \| ([0-9a-f]{{64}})", PAGE.read_text())[1]
    assert interval_proof.load(PAGE.parent / f"{name}.npz").digest == digest
