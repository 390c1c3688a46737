"""Values of a wrong type anywhere in a study's files are one sentence that names the file."""

import json

import numpy as np
import pytest
from PIL import Image

from tutelage import TutelageError
from tutelage.measures import LayerMatch
from tutelage.studies.figures.panels import draw_matches
from tutelage.studies.report import write_ledger, write_reports
from tutelage.studies.report.study_files import modules_page

CLAIM = {
    "study": "l-shape", "paper": "tian2020", "figure": "5", "scale": "quick", "claim": "a sentence", "setting": "p = 1",
    "statistic": "s", "expected": "> 0", "measured": 0.5, "stderr": None, "n": 8, "verdict": "holds",
}  # fmt: skip
EXPERIMENT = {"kind": "students", "engine": "stacked", "device": "cpu", "seconds": 1.5, "diverged": {}}
PROVENANCE = {"version": "1", "commit": "abc", "written": "today", "seconds": 1.5, "experiments": [EXPERIMENT]}
WRONG = [None, True, "text", "", -1, 2.5, [], {}, [None], {"a": 1}]


def store(folder, claims=None, provenance=None):
    study = folder / "quick" / "one"
    study.mkdir(exist_ok=True, parents=True)
    (study / "claims.json").write_text(json.dumps([CLAIM] if claims is None else claims))
    (study / "provenance.json").write_text(json.dumps(PROVENANCE if provenance is None else provenance))
    Image.new("RGB", (2, 2)).save(study / "figure.png")
    return folder


def ends_in_a_sentence(write, folder, file) -> bool:
    """Whether a wrong value was met; it must be told in one line with the file."""
    try:
        write(folder)
        said = ""
    except TutelageError as refusal:
        said = str(refusal)
    assert not said or (file in said and "\n" not in said)
    return bool(said)


def test_sound_files_are_read(tmp_path):
    assert "1 experiments: students" in write_reports(store(tmp_path)).read_text()
    assert "a sentence" in write_ledger(tmp_path).read_text()


@pytest.mark.parametrize("name", CLAIM)
def test_wrong_types_in_claims(tmp_path, name):
    met = 0
    for value in WRONG:
        store(tmp_path, [CLAIM | {name: value}])
        met += ends_in_a_sentence(write_reports, tmp_path, "claims.json")
        ends_in_a_sentence(write_ledger, tmp_path, "claims.json")
    assert met >= 6


@pytest.mark.parametrize("name", [*PROVENANCE, *(name for name in EXPERIMENT if name not in PROVENANCE)])
def test_wrong_types_in_provenance(tmp_path, name):
    met = 0
    for value in WRONG:
        changed = PROVENANCE | ({name: value} if name in PROVENANCE else {"experiments": [EXPERIMENT | {name: value}]})
        store(tmp_path, provenance=changed)
        met += ends_in_a_sentence(write_reports, tmp_path, "provenance.json")
    assert met >= 5


@pytest.mark.parametrize("value", [3, None, "text", [3], {"claims": []}])
def test_other_files(tmp_path, value):
    for file, changes in (("claims.json", {"claims": value}), ("provenance.json", {"provenance": value})):
        if value is not None:
            assert ends_in_a_sentence(write_reports, store(tmp_path, **changes), file)


def test_a_missing_figure(tmp_path):
    (store(tmp_path) / "quick" / "one" / "figure.png").unlink()
    assert ends_in_a_sentence(write_reports, tmp_path, "lacks its figure")


MATCH = LayerMatch("relu1", "act.1", np.array([[0.1, 0.99, 0.0], [0.5, 0.2, 0.0]]), (), (2,), 120)


def test_the_page_says_what_was_found():
    page = modules_page([MATCH, MATCH], ("big.pt", "small.pt"))
    assert "big.pt" in page
    assert "rho_mean 0.745, 1 of 2 teacher units found, 1 student units idle (120 samples)" in page
    assert "data:image/png;base64," in page
    assert "://" not in page
    with pytest.raises(TutelageError, match="at least one pair"):
        modules_page([])


def test_student_units_stand_in_the_order_of_their_teachers():
    (image,) = draw_matches([MATCH]).axes[0].images
    assert np.array_equal(image.get_array(), MATCH.correlation[:, [1, 2, 0]])
