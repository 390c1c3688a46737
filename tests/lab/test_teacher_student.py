"""Specs: hashes that stay, YAML that comes back, mistakes that are named."""

import pytest
import yaml

from tutelage import TutelageError
from tutelage.lab import Record, TeacherStudent, from_yaml, to_yaml


def test_the_hash_of_an_experiment_never_changes(values):
    """Pinned: a change here orphans every stored result. New settings must have defaults that do nothing."""
    assert TeacherStudent(**values()).hash == "a9ebf22ec9dbcd51"


def test_a_setting_at_its_default_leaves_the_hash_alone(values):
    plain = TeacherStudent(**values())
    same = {"batch": 16, "sampling": "replacement", "schedule": {"kind": "constant"}}
    spelt = TeacherStudent(**values(training=same, precision="float32"))
    assert plain == spelt
    assert plain.hash == spelt.hash


@pytest.mark.parametrize(
    "change",
    [{"training": {"steps": 31}}, {"seeds": 4}, {"student": {"width_factor": 3}}, {"inputs": {"std": 1.4}},
     {"precision": "float64"}, {"teacher": {"polarity": [1, 1, 2]}}, {"inputs": {"kind": "teacher-aware"}},
     {"record": {"every": 5}}],
)  # fmt: skip
def test_everything_that_decides_a_result_changes_the_hash(values, change):
    assert TeacherStudent(**values(**change)).hash != TeacherStudent(**values()).hash


def test_equal_ways_to_say_the_same_have_one_hash(values):
    hashes = {
        TeacherStudent(**values(**change)).hash
        for change in ({}, {"seeds": [0, 1, 2]}, {"seeds": range(3)}, {"teacher": {"hidden": [3], "polarity": 1.0}})
    }
    assert len(hashes) == 1


def test_yaml_comes_back_to_the_same_experiment(values, tmp_path):
    experiment = TeacherStudent(
        **values(training={"learning_rate": [0.1, 0.2, 0.3], "schedule": {"kind": "drops", "at": [5, 9]}})
    )
    path = tmp_path / "settings.yaml"
    path.write_text(to_yaml(experiment))
    assert from_yaml(path) == experiment
    assert from_yaml(path).hash == experiment.hash


def test_a_length_in_epochs_is_one_in_steps(values):
    assert TeacherStudent(**values(training={"steps": None, "epochs": 3, "batch": 12})).steps == 9
    assert TeacherStudent(**values()).steps == 30


def test_experiments_are_frozen(values):
    experiment = TeacherStudent(**values())
    with pytest.raises(Exception, match="frozen"):
        experiment.seeds = (1,)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seeds": 0}, "'seeds': at least one seed is needed"),
        ({"seeds": [1, 1]}, "'seeds' must be distinct"),
        ({"teachr": {}}, "setting of experiment 'teachr'; did you mean 'teacher'"),
        ({"training": {"learning_rat": 1}}, "did you mean 'learning_rate'"),
        ({"training": {"learning_rate": -1}}, "'learning_rate' in the training: .*greater than or equal to 0"),
        ({"training": {"learning_rate": float("nan")}}, "'learning_rate' in the training: .*finite"),
        ({"training": {"learning_rate": [0.1, 0.2]}}, "'learning_rate' has 2 entries for 3 members"),
        ({"teacher": {"polarity": [1, 2]}}, "'polarity' has 2 entries for 3 members"),
        ({"student": {"width_factor": 0.5}}, "'width_factor' in the small-normal: .*greater than or equal to 1"),
        ({"student": {"kind": "smal-normal"}}, "did you mean 'small-normal'"),
        ({"inputs": {"kind": None}}, "unknown kind of distribution 'None'"),
        ({"inputs": 3}, "'distribution' must be a table with a kind"),
        ({"training": 3}, "'training' in the experiment"),
        ({"record": {"measures": ["rho"]}}, "unknown measure 'rho'"),
        ({"record": {"at": [31]}}, "a recorded step lies beyond the 30 steps"),
        ({"teacher": {"hidden": 0}}, "'hidden"),
        ({"precision": "float16"}, "'precision' in the experiment"),
        ({"seeds": []}, "'seeds': at least one seed is needed"),
        ({"seeds": 10**9}, "'seeds': at least one seed is needed, and at most 1,000,000 in one experiment"),
        ({"seeds": range(10**12)}, "'seeds': .* at most 1,000,000"),
        ({"seeds": [0, 2**64]}, "'seeds' in the experiment must lie between"),  # the same member: draws wrap
        ({"seeds": [0, -1]}, "'seeds': a seed must be at least 0, got -1"),
        ({"seeds": [True, 2]}, "'seeds' in the experiment must not be a boolean"),
        ({"training": {"epochs": 3}}, "give 'steps' or 'epochs' in the training, not both"),
        ({"training": {"steps": None}}, "give 'steps' or 'epochs' in the training"),
        ({"training": {"steps": None, "epochs": 0}}, "'training': there must be 1 to 2.63 steps, got 0"),
        ({"training": {"steps": None, "epochs": 2**62}}, "'training': there must be 1 to 2.63 steps, got 9"),
        ({"training": {"mixed_precision": True}}, "'training.mixed_precision' is not supported by students: use false"),
        ({"training": {"steps": True}}, "'steps' in the training must not be a boolean"),
        ({"teacher": {"bias": False}}, "'bias' in the levels must not be a boolean"),
        ({"training": {"steps": 10**400}}, "'steps' in the training must lie between"),
        ({"training": {"steps": "1" + "0" * 30}}, "'steps' in the training must lie between"),
        ({"training": {"steps": 10**18}, "record": {"every": 1}}, "'record.every': more than 1,000,000 steps"),
        ({"student": {"width_factor": 1e308}}, "'student': its layers are too wide to be counted"),
        ({"student": {"width_factor": 1e12}}, "'student': a network of .* weights is too large"),
        ({"teacher": {"hidden": [10**6, 10**6]}}, "'teacher': a network of 1e.12 weights is too large"),
        ({"inputs": {"train": 10**12}}, "'inputs': the points and labels of one member are"),
        ({"record": {"measures": []}}, "'measures': at least one measure is needed"),
        ({"record": {"measures": ["fan_out", "rho_mean", "fan_out"]}}, "'fan_out' is named twice"),
        ({"two\nlines": 3}, r"'two\\nlines'"),
        ({"record": {"measures": ["two\nlines"]}}, r"'two\\nlines'"),
    ],
)
def test_mistakes_are_refused_in_a_sentence_that_names_them(values, change, sentence):
    with pytest.raises(TutelageError, match=sentence) as caught:
        TeacherStudent(**values(**change))
    assert "\n" not in str(caught.value)


def test_a_missing_section_is_named(values):
    settings = values()
    del settings["student"]
    with pytest.raises(TutelageError, match="'student' is missing in the experiment"):
        TeacherStudent(**settings)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("teacher: [", "is not valid YAML at line 1"),
        ("- 1\n- 2\n", "must hold a table"),
        ("1: 2\n", "name is not text"),
        ("teacher: !!python/object/apply:os.system ['true']\n", "is not valid YAML"),
        ("", "must hold a table"),
    ],
)
def test_files_that_hold_no_experiment_are_refused_by_name(tmp_path, text, sentence):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(TutelageError, match=rf"mine\.yaml.*{sentence}"):
        from_yaml(path)


def test_a_missing_or_binary_file_is_refused(tmp_path):
    with pytest.raises(TutelageError, match="cannot be read"):
        from_yaml(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(TutelageError, match="is not valid YAML"):
        from_yaml(tmp_path / "binary.yaml")


def test_mistakes_in_a_file_name_the_file(values, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(values(seeds=0)))
    with pytest.raises(TutelageError, match=r"mine\.yaml: 'seeds'"):
        from_yaml(path)


def test_recorded_steps_include_the_first_and_the_last():
    assert Record().steps(7) == (0, 7)
    assert Record(every=3, at=(5,)).steps(7) == (0, 3, 5, 6, 7)
