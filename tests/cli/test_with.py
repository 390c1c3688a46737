"""A file given with --with is as good as a built-in: its study, experiment and measure work in every command."""

import json

import pytest

PLUGIN = '''
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from tutelage.lab import Experiment
from tutelage.measures import measure_of
from tutelage.studies import Claim, Plan, study


@measure_of("member")
def own_ones(snapshot):
    return snapshot.students.weights[0].new_ones(snapshot.students.members)


class Coins(Experiment, kind="own-coins", numerics=1):
    """Coins of the reader."""

    seeds: tuple[int, ...] = (0, 1, 2, 3)

    def run(self, context):
        return {"heads": np.array([1.0, 2.0, 3.0, 2.0])}


heads = Claim(
    "heads come up", "heads", "> 1e-3", lambda results: {"all": results.one()["heads"]}, "more than none"
)


@study("own-study", paper="mine", figure="1", shows="Coins.")
def own_study(scale):
    """A study of the reader."""
    return Plan([Coins()], lambda r: Figure(), [heads], lambda r: pa.table({"heads": r.one()["heads"]}))
'''

EXPERIMENT = """
teacher: {kind: levels, inputs: 6, hidden: 3, outputs: 2, polarity: 1}
student: {kind: small-normal, width_factor: 2, scale: 0.1}
inputs: {kind: gaussian, std: 1.5, train: 40, evaluate: 30}
training: {steps: 30}
record: {measures: [own_ones, best_correlation]}
seeds: 2
"""


@pytest.fixture
def tutelage(tmp_path, prepared):
    (tmp_path / "own.py").write_text(PLUGIN)
    (tmp_path / "settings.yaml").write_text(EXPERIMENT)

    def run(*words, own=True):
        given = ["--with", "own.py"] if own else []
        return prepared(*words, *given, folder=tmp_path)

    return run


def test_a_study_of_the_reader_is_reproduced_and_queried(tutelage):
    done = tutelage("reproduce", "own-study", "--scale", "smoke", "--json")
    assert [claim["verdict"] for claim in json.loads(done.stdout)] == ["holds"], done.stderr
    asked = tutelage("query", "SELECT sum(heads) AS heads FROM own_coins", "--json", own=False)
    assert json.loads(asked.stdout) == [{"heads": 8.0}]
    assert tutelage("reproduce", "own-study", "--scale", "smoke", own=False).returncode == 2
    (name,) = (row["experiment"] for row in json.loads(tutelage("store", "list", "--json", own=False).stdout))
    for words in (("explain", f"results/{name}"), ("certify", "alignment", f"results/{name}")):
        done = tutelage(*words)
        assert done.returncode == 2
        assert "has results of the kind 'own-coins': choose results of trained students" in done.stderr


def test_results_with_a_measure_of_the_reader_are_explained_and_certified(tutelage):
    name = json.loads(tutelage("run", "settings.yaml", "--json").stdout)["hash"]
    explained = tutelage("explain", f"results/{name}", "--json")
    assert json.loads(explained.stdout)["units"] == 6, explained.stderr
    certified = tutelage("certify", "zero-gradient", f"results/{name}", "--json")
    assert len(json.loads(certified.stdout)) == 2, certified.stderr
    without = tutelage("explain", f"results/{name}", own=False)
    assert without.returncode == 2
    assert "unknown measure 'own_ones'" in without.stderr
    assert without.stderr.count("\n") == 1
