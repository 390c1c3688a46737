"""SQL over experiments, and nothing but experiments."""

import json
import resource
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, execute
from tutelage.lab.query import query


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Experiments that differ in width, polarity, precision and measures."""

    def experiment(**changes):
        polarity, width_factor = changes.pop("polarity", 1), changes.pop("width_factor", 2)
        values = {
            "teacher": {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2, "polarity": polarity},
            "student": {"kind": "small-normal", "width_factor": width_factor, "scale": 0.5},
            "inputs": {"kind": "gaussian", "std": 1.5, "train": 40, "evaluate": 30},
            "training": {"steps": 20},
            "record": {"every": 10},
            "seeds": [4, 5],
        }
        return TeacherStudent(**(values | changes))

    experiments = [
        experiment(),
        experiment(width_factor=4),
        experiment(polarity=[0.5, 1.5]),
        experiment(precision="float64"),
        experiment(record={"measures": ["evaluate_loss", "recovered", "best_correlation"]}),
        experiment(training={"steps": 20, "learning_rate": [0.02, 0.03]}),
    ]
    root = tmp_path_factory.mktemp("results")
    return root, execute(experiments, Store(root))


def rows(root, sql):
    return [tuple(row.values()) for row in query(root, sql).to_pylist()]


def test_the_example_of_the_documentation(results):
    root, _ = results
    answer = query(root, "SELECT polarity, width_factor, avg(recovered) FROM units GROUP BY ALL")
    assert {(row["polarity"], row["width_factor"]) for row in answer.to_pylist()} == {
        (1, 2),
        (1, 4),
        (0.5, 2),
        (1.5, 2),
    }


def test_every_table_has_its_rows_once_with_the_settings_of_its_result(results):
    root, all_results = results
    for axis, view in (("member", "members"), ("layer", "layers"), ("teacher", "teachers"), ("unit", "units")):
        files = [result.folder / f"{axis}.parquet" for result in all_results]
        total = sum(pq.read_metadata(file).num_rows for file in files if file.is_file())
        assert rows(root, f"SELECT count(*), count(DISTINCT hidden), max(steps) FROM {view}") == [(total, 1, 20)]
    result = all_results[1]
    ((seen,),) = rows(
        root, f"SELECT sum(fan_out) FROM units WHERE experiment = '{result.experiment.hash}' AND step = steps"
    )
    assert seen == pytest.approx(result.report["fan_out"][-1].sum(), rel=1e-6)


def test_settings_are_those_of_the_member(results):
    root, all_results = results
    hashes = [result.experiment.hash for result in all_results]
    select = "SELECT DISTINCT seed, polarity, learning_rate FROM units WHERE experiment = '{}' ORDER BY seed"
    assert rows(root, select.format(hashes[2])) == [(4, 0.5, 0.01), (5, 1.5, 0.01)]
    assert rows(root, select.format(hashes[5])) == [(4, 1.0, 0.02), (5, 1.0, 0.03)]


def test_recovered_is_measured_or_follows_from_the_correlation(results):
    root, all_results = results
    for result in (all_results[0], all_results[4]):
        mine = f"experiment = '{result.experiment.hash}'"
        sql = f"SELECT recovered FROM teachers WHERE {mine} ORDER BY step, member, teacher"
        assert [r for (r,) in rows(root, sql)] == (result.report["best_correlation"] > 0.95).reshape(-1).tolist()
    sql = (
        f"SELECT recovered FROM units WHERE experiment = '{all_results[0].experiment.hash}' ORDER BY step, member, unit"
    )
    assert [r for (r,) in rows(root, sql)] == (all_results[0].report["specialisation"] > 0.95).reshape(-1).tolist()


def test_results_tell_origin_and_settings(results):
    root, all_results = results
    answer = query(
        root, "SELECT experiment, kind, members, device, seconds, seeds, settings FROM experiments"
    ).to_pylist()
    assert {row["experiment"] for row in answer} == {result.experiment.hash for result in all_results}
    assert all(row["device"] == "cpu" and row["seconds"] > 0 and json.loads(row["seeds"]) == [4, 5] for row in answer)
    assert all(json.loads(row["settings"])["inputs.std"] == 1.5 for row in answer)


def test_a_query_in_progress_is_interrupted(results):
    """SIGTERM while DuckDB computes: exit code 130, not the answer."""
    root, _ = results
    endless = "SELECT count(*) FROM range(1000000000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3"
    script = "from tutelage.cli import main; print('ready', flush=True); main()"
    words = [sys.executable, "-c", script, "query", endless, "--results", str(root)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(5)  # DuckDB is at work then, or about to be
    assert process.poll() is None
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("tutelage: interrupted")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 3000000000)",
        "SELECT list_sum(range(300000000))",
        "SELECT repeat('x', 100000) FROM range(40000)",
        "SELECT count(*) FROM (SELECT DISTINCT range FROM range(300000000))",
    ],
)
def test_memory_has_a_limit_that_is_gone_afterwards(results, sql):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(TutelageError, match=r"takes more memory than 0\.5 GiB: .* raise memory"):
        query(results[0], sql, memory=0.5)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_time_has_a_limit(results):
    endless = "SELECT count(*) FROM range(1000000000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3"
    with pytest.raises(TutelageError, match=r"takes longer than 0\.2 seconds: .* raise seconds"):
        query(results[0], endless, seconds=0.2)


def test_python_variables_are_not_tables(results):
    root, _ = results
    secret = pq.read_table(next(root.glob("[!.]*/unit.parquet")))
    assert len(secret)
    with pytest.raises(TutelageError, match="secret"):
        query(root, "SELECT * FROM secret")


def test_a_view_that_no_result_fills_is_refused_with_those_there_are(results):
    there = r"there are the views experiments, members, layers, teachers, units; no .* a measure for pairs,"
    with pytest.raises(TutelageError, match=rf"pairs does not exist.*{there}"):
        query(results[0], "SELECT * FROM pairs")


def test_results_without_a_whole_result_are_refused(tmp_path):
    with pytest.raises(TutelageError, match="there are no whole results"):
        query(tmp_path, "SELECT 1")
    (tmp_path / "0123456789abcdef").mkdir()
    with pytest.raises(TutelageError, match=r"the first is 0123456789abcdef \(manifest\.json"):
        query(tmp_path, "SELECT 1")
    with pytest.raises(TutelageError, match="cannot be read"):
        query(tmp_path / "nowhere", "SELECT 1")
    (tmp_path / "a[b]").mkdir()
    with pytest.raises(TutelageError, match="rename the folder"):
        query(tmp_path / "a[b]", "SELECT 1")


def test_without_duckdb_the_sentence_says_what_to_install(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(TutelageError, match="pip install duckdb"):
        query(results[0], "SELECT 1")


def test_settings_are_columns_under_their_dotted_name_and_with_underscores(results):
    root, _ = results
    sql = (
        'SELECT DISTINCT "training.learning_rate", training_learning_rate, learning_rate, "Teacher.Polarity" AS p '
        "FROM members ORDER BY ALL"
    )
    answer = rows(root, sql)
    assert {row[0] for row in answer} == {0.01, 0.02, 0.03}
    assert all(a == b == c for a, b, c, _ in answer)
    assert {row[3] for row in answer} == {0.5, 1.0, 1.5}
    assert rows(root, 'SELECT count("inputs.std") FROM experiments WHERE "inputs.std" = 1.5') == [(6,)]


def test_a_name_that_no_setting_has_is_an_error_with_those_there_are(results):
    sentence = r'"learning" not found.*: there are the columns .*evaluate_loss.* and the settings .*learning_rate'
    with pytest.raises(TutelageError, match=sentence):
        query(results[0], "SELECT learning FROM members")


def test_describe_names_every_column(results):
    """Those of settings that do not vary and are not named too."""
    names = {row[0] for row in rows(results[0], "DESCRIBE members")}
    assert {"evaluate_loss", "learning_rate", "polarity", "batch", "precision"} <= names
    assert all(rows(results[0], f'SELECT count("{name}") FROM members') for name in sorted(names)[:10])
