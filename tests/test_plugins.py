"""Plugins: registered whole or not at all, refused in a sentence, and told apart by their content."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from tutelage import TutelageError, plugins
from tutelage.lab import Store, TeacherStudent, execute, from_yaml, schedule, to_yaml
from tutelage.measures import MEASURES
from tutelage.plugins import load_plugin, load_source
from tutelage.training.inputs import Distribution
from tutelage.training.teachers import Teacher

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_measure.py"

MEASURE = """
from tutelage.measures import measure_of

@measure_of("member")
def own_number(s):
    \"\"\"One, for every member.\"\"\"
    return s.students.weights[0].new_ones(s.students.members)
"""

LAW = """
from typing import Literal
from tutelage.training.inputs import Gaussian

class Doubled(Gaussian):
    \"\"\"A Gaussian of twice the deviation.\"\"\"
    kind: Literal["doubled"] = "doubled"

    def points(self, key, count, dimension, dtype):
        return 2 * super().points(key, count, dimension, dtype)
"""

EXPERIMENT = {
    "teacher": {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2, "polarity": 1},
    "student": {"kind": "small-normal", "width_factor": 2, "scale": 0.1},
    "inputs": {"kind": "gaussian", "std": 1.5, "train": 40, "evaluate": 30},
    "training": {"steps": 30},
    "record": {"every": 10},
    "seeds": 3,
}
PINNED = "a9ebf22ec9dbcd51"


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    """Each test begins with the package's own names (an example run as a script may have left its) and leaves none."""
    before = plugins._registered()
    own = {word: {n: t for n, t in known.items() if plugins._of_the_package(t)} for word, known in before.items()}
    plugins._restore(own)
    yield
    for digest in plugins.PLUGINS:
        sys.modules.pop(f"_tutelage_plugin_{digest}", None)
    plugins.PLUGINS.clear()
    plugins._ORIGINS.clear()
    plugins._restore(own)
    plugins._restore(before)


@pytest.fixture
def write(tmp_path):
    def writer(text, name="mine.py"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return writer


def with_own(**changes):
    return TeacherStudent(**EXPERIMENT | {name: EXPERIMENT[name] | change for name, change in changes.items()})


def test_a_measure_of_a_plugin_can_be_asked_for(write, tmp_path):
    plugin = load_plugin(write(MEASURE))
    assert plugin.names == ("measure own_number",)
    assert MEASURES["own_number"].__doc__ == "One, for every member."
    experiment = with_own(record={"measures": ["own_number", "rho_mean"]})
    (result,) = execute([experiment], Store(tmp_path / "results"), device="cpu")
    assert (result.report["own_number"] == 1).all()


@pytest.mark.parametrize("on", ["local", "processes:1"])
def test_a_measure_that_fails_while_it_is_used_is_blamed_with_its_line(write, tmp_path, on):
    load_plugin(write(MEASURE.replace("return s", "return 1 / 0 * s")))
    experiment = TeacherStudent(**EXPERIMENT | {"record": {"every": 10, "measures": ["own_number"]}})
    with pytest.raises(TutelageError, match=r"mine.py fails at line 7 \(ZeroDivisionError: .*\): fix the plugin"):
        schedule([experiment], Store(tmp_path / "results"), on)


def test_a_kind_of_a_plugin_can_be_used(write, tmp_path):
    assert load_plugin(write(LAW)).names == ("distribution doubled",)
    experiment = with_own(inputs={"kind": "doubled"})
    (result,) = execute([experiment], Store(tmp_path / "results"), device="cpu")
    assert result.folder.name == experiment.hash
    path = tmp_path / "again.yaml"
    path.write_text(to_yaml(experiment))
    assert path.read_text().startswith("# needs --with mine.py (digest ")
    assert from_yaml(path).hash == experiment.hash


def test_only_experiments_that_use_a_plugin_have_another_hash(write):
    measures = {"measures": ["rho_mean"]}
    before = with_own().hash, with_own(record=measures).hash
    load_plugin(write(MEASURE + LAW))
    assert (with_own().hash, with_own(record=measures).hash) == before
    assert before[0] == PINNED
    assert to_yaml(with_own()).startswith("teacher:")


@pytest.mark.parametrize("change", [{"record": {"measures": ["own_number"]}}, {"inputs": {"kind": "doubled"}}])
def test_the_hash_depends_on_what_the_plugin_holds(write, change):
    hashes = set()
    for text in (MEASURE + LAW, MEASURE + LAW + "\n# another remark\n"):
        before = plugins._registered()
        load_plugin(write(text))
        hashes.add(with_own(**change).hash)
        plugins._restore(before)
    assert len(hashes) == 2


def test_the_hash_is_that_of_the_content_wherever_the_file_lies(write):
    one = load_plugin(write(MEASURE))
    assert load_plugin(write(MEASURE)) is one
    assert load_plugin(write(MEASURE, "copy.py")) is one


def test_a_worker_loads_what_it_was_sent(write):
    path = write(LAW)
    sent = load_plugin(path)
    hashed = with_own(inputs={"kind": "doubled"}).hash
    del plugins.PLUGINS[sent.digest], sys.modules[f"_tutelage_plugin_{sent.digest}"]
    plugins._ORIGINS.clear()
    Distribution.kinds.pop("doubled")
    path.unlink()
    assert load_source(sent.source, path).digest == sent.digest
    assert with_own(inputs={"kind": "doubled"}).hash == hashed


def test_a_subclass_of_a_plugins_class_counts_as_the_plugins(write):
    plugin = load_plugin(write(LAW))
    own = sys.modules[f"_tutelage_plugin_{plugin.digest}"].Doubled

    class Redoubled(own):
        kind: Literal["redoubled"] = "redoubled"

    assert plugins.used_by(Redoubled()) == [plugin.digest]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = (1,\ny = 2\n", r"mine\.py has a syntax error at line 1: '\(' was never closed"),
        ("x = 1\n\x00", r"mine\.py .*null bytes"),
        (MEASURE + "\n1 / 0\n", r"mine\.py fails at line 9 \(ZeroDivisionError: division by zero\)"),
        ("import nothing_of_this_name\n", r"mine\.py fails at line 1 \(ModuleNotFoundError: No module"),
        ("raise RuntimeError('two\\nlines')\n", r"mine\.py fails at line 1 \(RuntimeError: two\\nlines\)"),
        ("import sys\nsys.exit(3)\n", r"mine\.py fails at line 2 \(SystemExit: 3\)"),
        ("x = 1\n", r"mine\.py registers no measure, activation, teacher, student, distribution, schedule or method"),
        (MEASURE.replace("own_number", "rho_mean"), r"registers the measure 'rho_mean', which exists already"),
        (LAW.replace('"doubled"', '"sphere"'), r"fails at line 5 .*kind 'sphere'.*Sphere and Doubled"),
        (
            "from typing import Literal\nfrom tutelage.training.teachers import Teacher\n"
            'class Half(Teacher):\n    kind: Literal["half"] = "half"\n',
            r"mine\.py: the teacher 'half' does not define make, widths",
        ),
    ],
)
def test_a_bad_plugin_is_refused_in_a_sentence_and_leaves_nothing_behind(write, text, sentence):
    before, modules = plugins._registered(), set(sys.modules)
    with pytest.raises(TutelageError, match=sentence) as caught:
        load_plugin(write(text))
    assert str(caught.value).isprintable()
    assert plugins._registered() == before
    assert not [name for name in set(sys.modules) - modules if "plugin" in name]
    assert plugins.PLUGINS == {}


def test_a_missing_file_is_refused(tmp_path):
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(TutelageError, match="cannot be read"):
            load_plugin(path)


def test_two_plugins_cannot_share_a_name(write):
    load_plugin(write(MEASURE))
    with pytest.raises(TutelageError, match=r"other\.py registers the measure 'own_number', which exists already"):
        load_plugin(write(MEASURE + "\n", "other.py"))
    assert MEASURES["own_number"].function.__module__.startswith("_tutelage_plugin_")


def test_a_mended_plugin_can_be_loaded_after_it_was_refused(write):
    with pytest.raises(TutelageError):
        load_plugin(write(MEASURE + "\n1 / 0\n"))
    assert load_plugin(write(MEASURE)).names == ("measure own_number",)


def test_the_example_is_a_plugin(tmp_path):
    assert set(load_plugin(EXAMPLE).names) == {"measure relative_loss", "teacher orthogonal"}
    assert "orthogonal" in Teacher.kinds
    teacher = {"kind": "orthogonal", "inputs": 6, "hidden": 3, "outputs": 2}
    experiment = TeacherStudent(**EXPERIMENT | {"teacher": teacher, "record": {"measures": ["relative_loss"]}})
    (result,) = execute([experiment], Store(tmp_path), device="cpu")
    assert result.report["relative_loss"].shape == (2, 3)


def test_an_experiment_cannot_name_a_plugin(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(f"with: {EXAMPLE}\nplugins: [{EXAMPLE}]\n")
    with pytest.raises(TutelageError, match="unknown setting of experiment 'with'"):
        from_yaml(path)


def test_the_hash_with_a_plugin_is_the_same_in_another_process(write):
    load_plugin(write(LAW))
    code = (
        "import json, sys; from tutelage.plugins import load_plugin; from tutelage.lab import TeacherStudent\n"
        "load_plugin(sys.argv[1]); print(TeacherStudent(**json.loads(sys.argv[2])).hash)"
    )
    values = EXPERIMENT | {"inputs": {"kind": "doubled"}}
    words = [sys.executable, "-c", code, str(write(LAW)), json.dumps(values)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == TeacherStudent(**values).hash


ACTIVATION = """
from tutelage.networks import activation

@activation
def softsign(u):
    return u / (1 + u.abs())
"""


def test_an_activation_of_a_plugin_works_in_yaml_and_its_file_enters_the_hash(tmp_path):
    file = tmp_path / "softsign.py"
    file.write_text(ACTIVATION)
    plugin = load_plugin(file)
    assert plugin.names == ("activation softsign",)
    values = EXPERIMENT | {"student": EXPERIMENT["student"] | {"activation": "softsign"}}
    experiment = TeacherStudent(**values)
    assert experiment.description()["plugins"] == [plugin.digest]
    (result,) = schedule([experiment], Store(tmp_path / "results"))
    assert result.weights().activation == "softsign"
    assert TeacherStudent(**EXPERIMENT).hash == PINNED


def test_a_function_without_a_file_is_trained_but_not_stored(tmp_path):
    student = EXPERIMENT["student"] | {"activation": lambda u: u.sin()}
    with pytest.raises(TutelageError, match="comes from no plugin file"):
        TeacherStudent(**EXPERIMENT | {"student": student}).hash  # noqa: B018


def test_a_mistake_in_a_plugin_is_found_behind_what_it_calls(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from tutelage.measures import measure_of\n"
        "@measure_of('member')\n"
        "def mistaken(snapshot):\n"
        "    return snapshot.nothing\n"
    )
    plugin = plugins.load_plugin(tmp_path / "mine.py")
    assert plugins.plugin_failure(KeyError("of the package")) is None
    with pytest.raises(AttributeError) as met:
        MEASURES["mistaken"].function(object())
    failure = plugins.plugin_failure(met.value)
    assert "mine.py fails at line 4 (AttributeError" in str(failure)
    assert plugin.names == ("measure mistaken",)
