"""Experiments: grids and zips in a known order, and a sentence for whatever a file may hold instead."""

import copy
import random
import re
from pathlib import Path

import pytest
import yaml

from tutelage import TutelageError
from tutelage.lab import TeacherStudent, from_yaml
from tutelage.lab.explanation import explain
from tutelage.lab.grid import read_experiment, settings_of, size

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def read(values, tmp_path):
    """Write an experiment, as ``values`` makes it, and read it back."""

    def reader(limit=10_000, **changes):
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(values(**changes), sort_keys=False))
        return read_experiment(path, limit)

    return reader


def test_a_file_without_a_grid_is_one_experiment_with_the_hash_it_always_had(read):
    assert [experiment.hash for experiment in read()] == ["a9ebf22ec9dbcd51"]
    path = EXAMPLES / "own_experiment.yaml"
    assert [experiment.hash for experiment in read_experiment(path)] == [from_yaml(path).hash] == ["65a71ec576eb1ea7"]


def test_an_empty_grid_and_zip_change_nothing(read):
    assert [experiment.hash for experiment in read(grid={}, zip={})] == ["a9ebf22ec9dbcd51"]


def test_the_first_of_the_grid_varies_slowest_and_the_zip_fastest(read):
    grid = {"student.width_factor": [1, 2], "teacher.polarity": [0, 1]}
    experiments = read(grid=grid, zip={"training.steps": [30, 60], "record.every": [10, 20]})
    varied = [(s.student.width_factor, s.teacher.polarity, s.training.steps, s.record.every) for s in experiments]
    assert varied == [(k, p, t, e) for k in (1, 2) for p in (0, 1) for t, e in ((30, 10), (60, 20))]
    assert len({experiment.hash for experiment in experiments}) == 8


def test_an_experiment_of_a_grid_has_the_hash_of_the_same_experiment_written_out(read, values):
    (_, second) = read(grid={"student.width_factor": [1, 3]})
    assert second.hash == TeacherStudent(**values(student={"width_factor": 3})).hash


def test_whole_sections_kinds_and_lists_may_vary(read):
    distributions = [s.inputs.kind for s in read(grid={"inputs": [{"kind": "sphere"}, {"kind": "uniform"}]})]
    assert distributions == ["sphere", "uniform"]
    kinds = [s.student.kind for s in read(student={"kind": "x"}, grid={"student.kind": ["small-normal"]})]
    assert kinds == ["small-normal"]
    rates = [s.training.learning_rate for s in read(grid={"training.learning_rate": [0.1, [0.1, 0.2, 0.3]]})]
    assert rates == [0.1, (0.1, 0.2, 0.3)]
    at = [s.training.schedule.at for s in read(grid={"training.schedule": [{"kind": "drops", "at": [3]}]})]
    assert at == [(3,)]


def test_a_grid_may_give_what_the_experiment_leaves_out(values, tmp_path):
    settings = values()
    del settings["seeds"], settings["record"], settings["training"]
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(settings | {"grid": {"seeds": [2, 3], "training.steps": [9], "record.every": [3]}}))
    experiments = read_experiment(path)
    assert [(len(s.seeds), s.training.steps, s.record.every) for s in experiments] == [(2, 9, 3), (3, 9, 3)]


def test_sizes_add_up(read):
    known = size(read(grid={"seeds": [2, 3], "training.steps": [10, 100]}))
    assert (known.experiments, known.students, known.student_steps) == (4, 10, 550)
    assert str(known) == "4 experiments, 10 students, 550 student-steps"


def refusal(read, **changes):
    with pytest.raises(TutelageError) as caught:
        read(**changes)
    text = str(caught.value)
    assert "mine.yaml" in text
    assert len(text.splitlines()) == 1
    return text.split("mine.yaml")[1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"grid": {"student.width_facto": [1]}},
            "the grid 'student.width_facto'; did you mean 'student.width_factor'?",
        ),
        (
            {"zip": {"studnt.width_factor": [1]}},
            "setting for the zip 'studnt.width_factor'; did you mean 'student.width_factor'?",
        ),
        ({"grid": {"width_factor": [1]}}, "did you mean 'student.width_factor'?"),
        ({"grid": {"": [1]}}, "unknown setting for the grid ''"),
        ({"grid": {"seeds.first": [1]}}, "'seeds.first'; did you mean 'seeds'?"),
        ({"grid": {"student.width_factor": [1, 0]}}, "(in experiment 2 of 2, with student.width_factor = 0)"),
        ({"grid": {"student.width_factor": 3}}, "'student.width_factor' in the grid must be a list of values"),
        ({"grid": {"student.width_factor": []}}, "'student.width_factor' in the grid must be a list of values"),
        ({"grid": 3}, "'grid' must be a table of lists"),
        ({"zip": None}, "'zip' must be a table of lists"),
        ({"zip": {"seeds": [1, 2], "precision": ["float32"]}}, "one length, but 'seeds' has 2, 'precision' has 1"),
        ({"grid": {"seeds": [1]}, "zip": {"seeds": [1]}}, "'seeds' is in the grid and in the zip"),
        ({"grid": {"teacher": [{}], "teacher.bias": [1]}}, "'teacher.bias' and 'teacher' cannot both be varied"),
        (
            {"grid": {"student.width_factor": [1, 2, 1.0]}},
            "experiments 1 and 3 have the same settings: student.width_factor = 1",
        ),
        (
            {"student": 3, "grid": {"student.width_factor": [1]}},
            "'student' must be a table, since 'student.width_factor'",
        ),
        ({"grid": {"student.width_factor": [1]}, "seed": 3}, "did you mean 'seeds'?"),
    ],
)
def test_mistakes_name_the_file_and_the_setting(read, changes, sentence):
    assert sentence in refusal(read, **changes)


def test_more_results_than_the_limit_are_refused_before_they_are_made(read):
    values = list(range(1, 41))
    grid = dict.fromkeys(["student.width_factor", "teacher.polarity", "inputs.train", "inputs.evaluate"], values)
    text = refusal(read, grid=grid)
    assert "2,560,000 experiments, 7,680,000 students, 230,400,000 student-steps, more than the limit of 10,000" in text
    many = dict.fromkeys((dotted for dotted, _, _ in settings_of() if dotted.count(".") == 1), values)
    many = {name: v for name, v in many.items() if name.split(".")[0] == "inputs" and "kind" not in name}
    assert "setting of" in refusal(read, grid=many)  # its first experiment is wrong, which is said first


def test_the_limit_can_be_moved(read):
    grid = {"student.width_factor": [1, 2, 3]}
    assert len(read(grid=grid, limit=3)) == 3
    assert "more than the limit of 2 experiments" in refusal(read, grid=grid, limit=2)


def test_more_students_than_the_limit_are_refused(read):
    assert "students" in refusal(read, grid={"seeds": [3000, 2999]}, limit=5)


def test_an_experiment_with_a_grid_is_no_single_experiment(values, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(values(grid={"seeds": [1]})))
    with pytest.raises(TutelageError, match=r"mine\.yaml makes several experiments"):
        from_yaml(path)


# Mutations: of valid files, in their text and in their values.

NAN = float("nan")
JUNK = [
    *(
        "\x1b[31m",
        None,
        True,
        False,
        0,
        -1,
        3,
        0.5,
        -0.0,
        1e308,
        -1e308,
        5e-324,
        2**31,
        2**63,
        10**30,
        10**400,
        NAN,
        -float("inf"),
    ),
    *(
        "",
        "kind",
        "1e400",
        "9" * 50,
        "e\u0301\u2028\U0001f600",
        "two\nlines",
        "\x1b[31mred",
        "x" * 5000,
        "nan",
        "\ud800",
    ),
    *([], {}, [[]], [[[1]]], [1, "x", None], {"kind": "x"}, {"kind": ["levels"]}, {1: 2}, [NAN], [True], [1] * 2000),
    *(yaml.safe_load("[" * 12 + "]" * 12), yaml.safe_load("[" * 30 + "]" * 30), yaml.safe_load("2001-01-01")),
]
LETTERS = "abz019 \t\n:-[]{}&*!|>%@`'\",#?~.\\é\u2028\x07"


def starts():
    small = {
        "teacher": {"kind": "levels", "inputs": 6, "hidden": [4, 3], "outputs": 2, "bias": "median"},
        "student": {"kind": "uniform-fan-in", "width_factor": 2, "bias": False},
        "inputs": {"kind": "teacher-aware", "shared": True, "train": 40},
        "training": {"steps": 30, "batch": "all", "schedule": {"kind": "cosine"}},
        "record": {"at": [3, 5], "weights": "all", "measures": ["rho_mean", "fan_out"]},
        "seeds": [5, 7],
        "precision": "float64",
    }
    return [*(path.read_text() for path in sorted(EXAMPLES.glob("*.yaml"))), yaml.safe_dump(small)]


def places(value, path=()):
    """Every place inside nested tables and lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def changed_values(text, chance):
    """A file with one value replaced, wrapped, moved or deleted, or one name misspelt; and the names touched."""
    values = yaml.safe_load(text)
    *outer, last = chance.choice(list(places(values)))
    inside = values
    for key in outer:
        inside = inside[key]
    how, names = chance.choice(["replace", "replace", "replace", "delete", "misspell", "wrap", "move"]), [last]
    if how == "delete":
        del inside[last]
    elif how == "misspell" and isinstance(last, str):
        letter, at = chance.choice("xé_\n"), chance.randrange(len(last) + 1)
        names.append(last[:at] + letter + last[at:])
        inside[names[-1]] = inside.pop(last)
    elif how == "wrap":
        inside[last] = [inside[last]]
    elif how == "move":
        source = chance.choice(list(places(values)))
        found = values
        for key in source:
            found = found[key]
        inside[last] = copy.deepcopy(found)
    else:
        inside[last] = chance.choice(JUNK)
    return yaml.dump(values, Dumper=yaml.SafeDumper, allow_unicode=chance.random() < 0.5), names


def changed_text(text, chance):
    """A file with a few letters or lines inserted, deleted, doubled or exchanged."""
    for _ in range(chance.choice([1, 1, 2, 5])):
        i, j = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        lines = text.splitlines(keepends=True) or ["\n"]
        how = chance.randrange(5)
        if how == 0:
            text = text[:i] + chance.choice(LETTERS) * chance.choice([1, 1, 3]) + text[i:]
        elif how == 1:
            text = text[:i] + text[min(j, i + 5) :]
        elif how == 2:
            chance.shuffle(lines)
            text = "".join(lines[: chance.randrange(len(lines) + 1)])
        elif how == 3:
            line = chance.choice(lines)
            text = text[:i] + line + text[i:]
        else:
            text = text[:i] + chance.choice(LETTERS) + text[i + 1 :]
        text = text or "\n"
    return text


KNOWN = {part for dotted, _, _ in settings_of() for part in dotted.split(".")} | {"grid", "zip", "distribution"}


def names_a_field(sentence, touched):
    """Whether a sentence names a setting: in quotes, or with its section."""
    quoted = {part for found in re.findall(r"'([^']*)'", sentence) for part in found.split(".")}
    dotted = {part for found in re.findall(r"\b\w+\.\w+", sentence) for part in found.split(".")}
    return bool((quoted | dotted | set(re.findall(r"\b(?:grid|zip)\b", sentence))) & (KNOWN | set(map(str, touched))))


def outcome(path, touched):
    """What reading a file comes to: "experiments", "text" (not YAML) or "setting"; anything but a good refusal
    fails.
    """
    try:
        experiments = read_experiment(path)
    except TutelageError as caught:
        text = str(caught)
        assert text.isprintable(), text
        assert str(path) in text
        assert len(text) < 1500, text
        sentence = text.replace(str(path), "")
        if touched is not None:
            assert names_a_field(sentence, touched), text
        return "text" if "line " in sentence else "setting"
    assert experiments
    assert all(isinstance(experiment, TeacherStudent) for experiment in experiments)
    assert len({experiment.hash for experiment in experiments}) == len(experiments)
    assert explain(experiments[0]).isascii()
    return "experiments"


def mutate(count, seed, folder):
    """Read so many mutated files; how often each outcome came about, for changed values and for changed text."""
    chance, counts = random.Random(seed), {}
    texts = starts()
    path = folder / "mutated.yaml"
    for i in range(count):
        how = ("values", "text")[i % 2]
        text, touched = chance.choice(texts), None
        if how == "values":
            text, touched = changed_values(text, chance)
        else:
            text = changed_text(text, chance)
        path.write_text(text, encoding="utf-8", newline="")
        came = how, outcome(path, touched)
        counts[came] = counts.get(came, 0) + 1
    return counts


def test_a_thousand_mutated_files_are_experiments_or_a_sentence(tmp_path):
    counts = mutate(1000, 4, tmp_path)
    assert sum(counts.values()) == 1000
    assert set(counts) == {(how, came) for how in ("values", "text") for came in ("experiments", "text", "setting")}


def test_a_file_that_reproduce_wrote_holds_several_experiments(values, tmp_path):
    """One after another, as in the settings.yaml of a study; those of other kinds are not run from a file."""
    path = tmp_path / "settings.yaml"
    tables = [{"kind": "students", **values(seeds=count)} for count in (2, 3)]
    path.write_text(yaml.safe_dump_all(tables, sort_keys=False))
    assert [len(experiment.seeds) for experiment in read_experiment(path)] == [2, 3]
    path.write_text(yaml.safe_dump_all([*tables, {"kind": "online-committee"}]))
    with pytest.raises(TutelageError, match="'kind' of an experiment to read from a file must be students"):
        read_experiment(path)
