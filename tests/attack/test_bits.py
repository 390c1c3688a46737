"""Single flipped bits in every kind of stored file: found or harmless, never another answer without a word."""

import logging

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, execute, store_tools
from tutelage.lab.index import FILE
from tutelage.lab.query import query
from tutelage.lab.store import load_result

VIEWS = ("experiments", "members", "layers", "teachers", "units", "pairs")
SQL = "SELECT * FROM {} ORDER BY ALL"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two experiments with tables of every kind and weights, an index, and what all of it answers."""
    values = {
        "teacher": {"kind": "levels", "inputs": 4, "hidden": 2, "outputs": 1, "polarity": 1},
        "student": {"kind": "small-normal", "width_factor": 2},
        "inputs": {"kind": "gaussian", "std": 1.5, "train": 20, "evaluate": 20},
        "training": {"steps": 4},
        "record": {"every": 2, "measures": ["evaluate_loss", "rho_mean", "best_correlation", "fan_out", "correlation"]},
    }
    root = tmp_path_factory.mktemp("bits") / "results"
    results = execute([TeacherStudent(**values, seeds=[0, 1]), TeacherStudent(**values, seeds=[2])], Store(root))
    return root, results, {view: query(root, SQL.format(view)) for view in VIEWS}


def loaded(folder):
    """All numbers of an experiment."""
    result = load_result(folder)
    networks = {"weights": result.weights(), "teacher": result.teacher()}
    numbers = {name: value.tobytes() for name, value in result.report.values.items()}
    return numbers | {name: [p.numpy().tobytes() for p in n.parameters] for name, n in networks.items()}


def flipped(file, chance):
    """Flip a random bit of a file; what it held before."""
    whole = file.read_bytes()
    content = bytearray(whole)
    content[chance.integers(len(whole))] ^= 1 << int(chance.integers(8))
    file.write_bytes(content)
    return whole


def test_a_flipped_bit_in_an_experiment_is_found_by_a_check_and_by_loading_it(results, attack):
    root, results, _ = results
    chance = attack.generator(1)
    for _ in attack.rounds(60):
        result = results[chance.integers(len(results))]
        wanted = loaded(result.folder)
        file = chance.choice(sorted(result.folder.iterdir()))
        whole = flipped(file, chance)
        try:
            found = dict(store_tools.check(root))[result.experiment.hash]
            assert [one.file for one in found][:1] == [file.name]
            with pytest.raises(TutelageError, match="is damaged"):
                load_result(result.folder)
        finally:
            file.write_bytes(whole)
        assert loaded(result.folder) == wanted


def test_a_flipped_bit_gives_a_query_no_other_answer_without_a_warning(results, attack, caplog):
    root, results, wanted = results
    chance, found = attack.generator(2), {"left out": 0, "same": 0, "error": 0}
    for _ in attack.rounds(60):
        view = str(chance.choice(VIEWS))
        files = sorted([*(file for result in results for file in result.folder.iterdir()), root / FILE])
        file = files[chance.integers(len(files))]
        whole = flipped(file, chance)
        caplog.clear()
        try:
            with caplog.at_level(logging.WARNING):
                answer = query(root, SQL.format(view))
        except TutelageError as error:
            said = str(error)
            found["error"] += 1
            assert "damaged" in said or "cannot be answered" in said, (file, said)
        else:
            if answer.equals(wanted[view]):
                found["same"] += 1
            else:
                assert "damaged experiments are left out: 1" in caplog.text, file
                kept = np.array([result != file.parent.name for result in wanted[view]["experiment"].to_pylist()])
                whole_rows = wanted[view].filter(kept).select(answer.column_names)  # with one left, no setting varies
                assert answer.equals(whole_rows), file
                found["left out"] += 1
        finally:
            file.write_bytes(whole)
    assert found["left out"]
    assert query(root, SQL.format("units")).equals(wanted["units"])
