"""The published check of the proof on boxes imports and runs as printed, and its digest is that of the file."""

import re
from pathlib import Path

from tutelage.alignment import interval_proof

PAGE = Path(__file__).parents[2] / "docs" / "results" / "conjecture" / "conjecture.md"
(BLOCK,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_check_runs_as_printed_on_a_smaller_proof(monkeypatch, capsys, tmp_path):
    """The stored one takes half a minute."""
    monkeypatch.chdir(tmp_path)
    interval_proof.prove(3, 7).save(tmp_path / "boxes.npz")
    exec(BLOCK.replace("docs/results/conjecture/m3_boxes.npz", "boxes.npz"), {})
    assert "rejected=0, covers=True" in capsys.readouterr().out


def test_the_stored_proof_has_the_published_digest():
    (digest,) = re.findall(r"SHA-256 of the proof: `([0-9a-f]{64})`", PAGE.read_text())
    proof = interval_proof.load(PAGE.parent / "m3_boxes.npz")
    assert (proof.digest, proof.margin, proof.counts()["proved"]) == (digest, 7, 1_085_363)
