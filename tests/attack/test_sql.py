"""SQL that tries to write a result, to read another file, or to change how the query runs: none of it may succeed."""

import hashlib
import json
import os
import re
import shutil
import tarfile

import pyarrow.parquet as pq
import pytest
import yaml

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, archive, execute, manifest, store_tools
from tutelage.lab.index import FILE
from tutelage.lab.query import query

SECRET = "the-secret-of-another-file"

STATEMENTS = [
    "COPY (SELECT 1) TO '{table}'",
    "COPY experiments TO '{root}/x.parquet'",
    "COPY experiments FROM '{table}'",
    "WITH x AS (COPY (SELECT 1 AS a) TO '{table}' (FORMAT parquet)) SELECT * FROM x, units",
    "WITH x AS (COPY (SELECT 1 AS a) TO '{root}/x.csv') SELECT * FROM x",
    "WITH x AS MATERIALIZED (COPY units TO '{table}') SELECT * FROM units",
    "WITH x AS (INSERT INTO known SELECT * FROM known RETURNING *) SELECT * FROM x",
    "WITH x AS (DELETE FROM known RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE known SET members = 9 RETURNING *) SELECT * FROM x",
    "SELECT * FROM units WHERE unit IN (WITH x AS (COPY (SELECT 1) TO '{table}') SELECT 1 FROM x)",
    "SELECT * FROM units UNION ALL BY NAME (WITH x AS (COPY (SELECT 1 AS a) TO '{table}') SELECT * FROM x)",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{table}'') SELECT * FROM x')",
    "SELECT * FROM query_table(['units'])",
    "SELECT * FROM query('SELECT 1')",
    "INSERT INTO known SELECT * FROM known",
    "UPDATE known SET members = 9",
    "DELETE FROM known",
    "MERGE INTO known USING known AS k ON known.experiment = k.experiment WHEN MATCHED THEN DELETE",
    "CREATE TABLE x AS SELECT 1",
    "CREATE OR REPLACE VIEW units AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "CREATE SECRET (TYPE s3)",
    "DROP VIEW experiments",
    "ALTER TABLE known RENAME TO unknown",
    "TRUNCATE known",
    "ATTACH '{root}/x.db' AS other",
    "DETACH memory",
    "USE memory",
    "EXPORT DATABASE '{root}/x'",
    "IMPORT DATABASE '{root}/x'",
    "CHECKPOINT",
    "VACUUM",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET VARIABLE x = 1",
    "RESET enable_external_access",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "CALL enable_logging()",
    "BEGIN",
    "PREPARE x AS SELECT 1",
    "EXECUTE x",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{root}/x.csv'",
    "EXPLAIN SELECT 1",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '{table}'",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{root}/*/unit.parquet')",
    "SELECT * FROM read_parquet('{table}')",
    "SELECT * FROM parquet_metadata('{table}')",
    "SELECT * FROM units, read_csv('{secret}')",
    "SELECT (SELECT content FROM read_text('{secret}')) FROM units",
    "SELECT * FROM query('SELECT * FROM read_csv(''{secret}'')')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '{secret}'",
    'SELECT * FROM "{secret}"',
    "FROM '{secret}'",
    "DESCRIBE SELECT * FROM '{secret}'",
    "SUMMARIZE '{secret}'",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
    "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_database_list()",
    "SELECT getenv('TUTELAGE_TEST_SECRET')",
    "SELECT getvariable('units')",
    "SELECT write_log('x')",
    "SELECT * FROM somebody",
    "SELEC",
    "",
    ";",
    "--",
]

AROUND = [
    "{0}",
    "  {0} ;",
    "/* SELECT */ {0} -- SELECT",
    "({0})",
    "SELECT * FROM ({0})",
    "SELECT * FROM ({0}) AS a, units AS b",
    "WITH a AS ({0}) SELECT * FROM a",
    "WITH a AS NOT MATERIALIZED ({0}), b AS (SELECT * FROM a) SELECT count(*) FROM b",
    "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL ({0})) SELECT * FROM a LIMIT 3",
    "SELECT 1 WHERE EXISTS ({0})",
    "SELECT ({0})",
    "SELECT * FROM units, LATERAL ({0}) AS a",
    "SELECT * FROM (VALUES (1)) v UNION ALL BY NAME ({0})",
    "SELECT [x FOR x IN ({0})]",
    "DESCRIBE {0}",
    "SUMMARIZE {0}",
    "EXPLAIN {0}",
    "SELECT * FROM query($${0}$$)",
    "{0}; SELECT * FROM units",
]

READ = [
    "SELECT polarity, width_factor, avg(recovered) FROM units WHERE step = steps GROUP BY ALL ORDER BY ALL",
    "FROM experiments SELECT experiment, members",
    "WITH a AS (SELECT * FROM units), b AS MATERIALIZED (FROM a) SELECT count(*) FROM b",
    "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r, range(2), members",
    "SELECT unit, row_number() OVER (PARTITION BY member ORDER BY fan_out DESC) FROM units QUALIFY unit < 2",
    "SELECT DISTINCT ON (member) member, fan_out FROM units ORDER BY member, fan_out LIMIT 50%",
    "SELECT list_transform(range(members), lambda x: x + 1), unnest(range(members)) FROM experiments",
    "SELECT count(*) FILTER (WHERE u.unit = 1) FROM units u SEMI JOIN members m USING (experiment, member)",
    "SELECT * FROM (PIVOT (SELECT member, unit, fan_out FROM units) ON unit IN (0, 1) USING max(fan_out))",
    "SELECT * FROM members UNION SELECT * FROM members EXCEPT SELECT * FROM members LIMIT 1",
    "SELECT CASE WHEN unit > 1 THEN 'a' ELSE 'b' END, COLUMNS('fan.*') FROM units TABLESAMPLE 10 ROWS",
    "SELECT settings->>'seeds', CAST(finished AS TIMESTAMP) - INTERVAL 1 DAY FROM experiments",
    "DESCRIBE units",
    "SUMMARIZE members",
    "VALUES (1), (2)",
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    values = {
        "teacher": {"kind": "levels", "inputs": 4, "hidden": 2, "outputs": 1, "polarity": 1},
        "student": {"kind": "small-normal", "width_factor": 2},
        "inputs": {"kind": "gaussian", "std": 1.5, "train": 20, "evaluate": 20},
        "training": {"steps": 4},
        "seeds": [0, 1],
    }
    folder = tmp_path_factory.mktemp("sql")
    (folder / "secret.csv").write_text(f"a\n{SECRET}\n")
    (result,) = execute([TeacherStudent(**values)], Store(folder / "results"))
    query(folder / "results", "SELECT * FROM units, members")  # the index is written once
    names = {"root": folder / "results", "table": result.folder / "unit.parquet", "secret": folder / "secret.csv"}
    return folder, {name: str(path) for name, path in names.items()}


def every_file(folder):
    """Digests of all files below a folder, the index apart, which a query may write."""
    found = {}
    for place, _, files in os.walk(folder):
        for file in files:
            if file == FILE:
                continue
            path = os.path.join(place, file)
            with open(path, "rb") as stream:
                found[path] = hashlib.sha256(stream.read()).hexdigest()
    return found


@pytest.mark.parametrize("sql", READ)
def test_what_only_reads_is_answered(results, sql):
    assert query(results[1]["root"], sql).num_columns


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_does_not_is_an_error_of_one_line_and_changes_nothing(results, sql, monkeypatch):
    folder, names = results
    monkeypatch.setenv("TUTELAGE_TEST_SECRET", SECRET)
    before = every_file(folder)
    with pytest.raises(TutelageError) as error:
        query(names["root"], sql.format(**names))
    assert "\n" not in str(error.value)
    assert SECRET not in str(error.value)
    assert every_file(folder) == before


def test_statements_inside_others_change_nothing_and_tell_nothing(results, attack, monkeypatch):
    """Random nesting: an error, or an answer without a secret, from files that are the same afterwards."""
    folder, names = results
    monkeypatch.setenv("TUTELAGE_TEST_SECRET", SECRET)
    before, chance = every_file(folder), attack.generator()
    for _ in attack.rounds(100):
        sql = str(chance.choice(STATEMENTS)).format(**names)
        for _ in range(chance.integers(1, 4)):
            sql = str(chance.choice(AROUND)).replace("{0}", sql)
        sql = "".join(c.swapcase() if c.isalpha() and chance.random() < 0.05 else c for c in sql)
        try:
            said = str(query(names["root"], sql).to_pylist())
        except TutelageError as error:
            said = str(error)
        assert SECRET not in said, sql
        assert every_file(folder) == before, sql


def resealed(folder, change):
    """Change what a manifest says and make it whole again: sizes and checksums of all files, then its own."""
    values = json.loads((folder / "manifest.json").read_text())
    del values["checksum"]
    change(values)
    for name in values["files"]:
        content = (folder / name).read_bytes()
        values["files"][name], values["bytes"][name] = hashlib.sha256(content).hexdigest(), len(content)
    text = json.dumps(values, indent=1)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(f'{text[:-2]},\n "checksum": "{digest}"\n}}')


def with_column(folder, name, file="member.parquet"):
    table = pq.read_table(folder / file)
    names = [name if old == "step" else old for old in table.column_names]
    pq.write_table(table.rename_columns(names), folder / file)
    resealed(folder, lambda values: None)


def with_setting(folder, name, value):
    resealed(folder, lambda values: values["settings"].update({name: value}))


BY_COLUMN = (
    "step\" FROM known, (SELECT 1 AS step) t; COPY (SELECT content FROM read_text('{secret}')) TO '{target}'; "
    'SELECT 1 AS "step'
)
BY_SETTING = "a.x\" FROM known; COPY (SELECT content FROM read_text('{secret}')) TO '{target}'; SELECT 1 AS \"x"
VIEWS = ["SELECT * FROM members", "SELECT * FROM experiments", "SELECT * FROM members, experiments"]


@pytest.fixture
def hostile(results, tmp_path):
    """A store of two experiments that may be changed, and the names in attacks on it."""
    root, names = tmp_path / "results", results[1]
    shutil.copytree(names["root"], root, ignore=shutil.ignore_patterns(FILE))
    (first,) = root.glob("[!.]*")
    values = yaml.safe_load((first / "settings.yaml").read_text())
    more = TeacherStudent(**{name: value for name, value in values.items() if name != "kind"} | {"seeds": [2, 3]})
    execute([more], Store(root))
    return root, {"secret": names["secret"], "target": str(tmp_path / "target.txt")}


@pytest.fixture(params=["names are checked", "names are not checked"])
def names_checked(request, monkeypatch):
    """Quoting and the lock hold on their own, should a name ever pass the check."""
    if request.param == "names are checked":
        return True
    for word in ("COLUMN", "SETTING"):
        monkeypatch.setattr(manifest, word, re.compile(r".*", re.DOTALL))
    return False


def answers(root, sql):
    try:
        return query(root, sql).to_pylist()
    except TutelageError as error:
        said = str(error)
    assert "\n" not in said
    return said


def test_names_of_columns_run_nothing(hostile, names_checked):
    root, names = hostile
    for folder in root.glob("[!.]*"):
        with_column(folder, BY_COLUMN.format(**names))
    for sql in VIEWS:
        assert SECRET not in str(answers(root, sql))
    assert not os.path.exists(names["target"])
    problems = [problem for _, found in store_tools.check(root) for problem in found]
    assert len(problems) == (2 if names_checked else 0)


def test_names_of_settings_run_nothing(hostile, names_checked):
    root, names = hostile
    for number, folder in enumerate(root.glob("[!.]*")):
        with_setting(folder, BY_SETTING.format(**names), number)
    for sql in VIEWS:
        assert SECRET not in str(answers(root, sql))
    assert not os.path.exists(names["target"])
    problems = [problem for _, found in store_tools.check(root) for problem in found]
    assert len(problems) == (2 if names_checked else 0)


@pytest.mark.parametrize("where", ["column", "setting"])
def test_experiments_with_such_names_are_not_imported(hostile, tmp_path, where):
    root, names = hostile
    for number, folder in enumerate(root.glob("[!.]*")):
        if where == "column":
            with_column(folder, BY_COLUMN.format(**names))
        else:
            with_setting(folder, BY_SETTING.format(**names), number)
    with tarfile.open(tmp_path / "archive.tar", "w") as tar:
        for file in root.glob("[!.]*/*"):
            tar.add(file, file.relative_to(root))
    with pytest.raises(TutelageError, match="nothing was imported"):
        archive.import_results(tmp_path / "other", tmp_path / "archive.tar")
    assert not list((tmp_path / "other").glob("[!.]*"))


PIECES = [
    *("'", '"', "''", '""', ";", "--", "/*", "*/", "\\", "$$", "$", "`", "(", ")", "[", "]", "{", "}", ",", ".", " "),
    *(
        "\n",
        "\0",
        "\x1b[2J",
        "\u202e",
        "é",
        "\U0001f600",
        "%",
        "?",
        "$1",
        ":a",
        "@",
        "#",
        "*",
        "known",
        "t",
        "step",
        "key",
    ),
    *(" FROM known", "SELECT 1", "UNION ALL", "COPY (SELECT 1) TO '{target}'", "read_text('{secret}')", "AS", "member"),
    *("SET enable_external_access = true", "getvariable('a')", "experiment", "recovered", "seed", "a" * 300),
]


def test_random_names_run_nothing(hostile, attack, names_checked):
    """Names of columns and settings made of pieces of SQL: an answer or one sentence, and no file is written."""
    root, names = hostile
    chance, first = attack.generator(7), sorted(root.glob("[!.]*"))[0]
    before, answered = {file.name: file.read_bytes() for file in first.iterdir()}, 0
    secret_files = every_file(root.parent)
    for _ in attack.rounds(12):
        name = "".join(str(piece) for piece in chance.choice(PIECES, chance.integers(1, 7)))
        for word, path in names.items():
            name = name.replace(f"{{{word}}}", path)
        for file, content in before.items():
            (first / file).write_bytes(content)
        if chance.random() < 0.5:
            with_column(first, name)
        else:
            with_setting(first, name, int(chance.integers(5)))
        for sql in VIEWS:
            said = answers(root, sql)
            answered += isinstance(said, list)
            assert SECRET not in str(said), name
        assert not os.path.exists(names["target"]), name
    for file, content in before.items():
        (first / file).write_bytes(content)
    assert every_file(root.parent) == secret_files
    assert answered


@pytest.mark.parametrize(
    "change",
    [
        {"members": 10**30},
        {"members": -1},
        {"settings": {"training.steps": float("inf")}},
        {"settings": {"training.steps": "\ud800"}},
        {"settings": {"": 1}},
        {"per_member": [1]},
        {"per_member": ["a b"]},
        {"description": None},
    ],
    ids=str,
)
def test_a_manifest_of_any_values_is_damage_and_spoils_no_other(hostile, change):
    root, _ = hostile
    first, second = sorted(root.glob("[!.]*"))
    resealed(first, lambda values: values.update(change))
    for sql in VIEWS:
        rows = query(root, sql).to_pylist()
        assert {row["experiment"] for row in rows} == {second.name}
    ((name, (problem,)),) = [found for found in store_tools.check(root) if found[1]]
    assert (name, problem.what) == (first.name, "is not readable")
    assert len(str(store_tools.list_results(root)[0]["damage"])) < 200
