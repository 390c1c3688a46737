"""Every study runs at the smoke scale from start to report, and its files say the same as its verdicts."""

import json
import math
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from matplotlib.figure import Figure

from tutelage import TutelageError, results
from tutelage.files import write_atomically
from tutelage.lab import Experiment
from tutelage.lab.experiment import find as find_kind
from tutelage.lab.query import query
from tutelage.settings import Seeds
from tutelage.studies import STUDIES, Claim, reproduce
from tutelage.studies.claims import CHECKED, VERDICTS
from tutelage.studies.reproduce import distinct_experiments, plans
from tutelage.studies.study import SCALES, Plan, Study


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduced")


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_at_smoke_scale(out, name):
    (outcome,) = reproduce([name], "smoke", out)
    folder = out / "smoke" / name
    assert {f.name for f in folder.iterdir()} == {
        "figure.png", "figure.pdf", "claims.json", "numbers.parquet", "values.parquet", "settings.yaml",
        "provenance.json",
    }  # fmt: skip
    claims = json.loads((folder / "claims.json").read_text())
    assert claims == outcome.claims()
    for claim in claims:
        assert claim["verdict"] in (*VERDICTS, *CHECKED)
        assert claim["measured"] is None or math.isfinite(claim["measured"])
    stored = list(yaml.safe_load_all((folder / "settings.yaml").read_text()))
    experiments = [find_kind(values.pop("kind"))(**values) for values in stored]
    assert experiments, "no study computes outside of experiments"
    assert {e.hash for e in experiments} >= {e.hash for e in STUDIES[name].plan("smoke").experiments}
    origin = json.loads((folder / "provenance.json").read_text())
    assert {line["experiment"] for line in origin["experiments"]} == {e.hash for e in experiments}
    assert len(pq.read_table(folder / "numbers.parquet")) > 0
    _tells_what_the_verdicts_come_from(claims, results(name, scale="smoke", out=out))
    assert (folder / "figure.png").stat().st_size > 10_000


def _tells_what_the_verdicts_come_from(claims, values):
    """Of every claim and setting the values are there, as many as were counted, and with that mean."""
    found = {}
    for row in values.to_pylist():
        if row["premise"] is not False and not math.isnan(row["value"]):
            found.setdefault((row["claim"], row["setting"]), []).append(row["value"])
    for claim in claims:
        judged = found.get((claim["claim"], claim["setting"]), [])
        if claim["kind"] != "check":
            assert len(judged) == claim["n"]
        if claim["stderr"] is not None:
            assert np.mean(judged) == pytest.approx(claim["measured"], rel=1e-9, abs=1e-12)


def test_the_same_study_again_gives_the_same_claims_and_figure(out):
    name = "focus-shifting"
    reproduce([name], "smoke", out)
    folder = out / "smoke" / name
    before = {f: (folder / f).read_bytes() for f in ("claims.json", "figure.png", "numbers.parquet")}
    reproduce([name], "smoke", out)
    assert {f: (folder / f).read_bytes() for f in before} == before


class Ones(Experiment, kind="test-ones", numerics=1):
    """Numbers near 1."""

    shift: float = 0.0
    seeds: Seeds = (0, 1, 2)

    def run(self, context):
        context.progress(0.5)
        return {"number": np.array([1.0, 1.1, 0.9]) + self.shift}


def ones(scale):
    """A plan with a view: figure, claims and numbers are made of what it returns."""
    claim = Claim("ones are positive", "the number", "> 0", lambda viewed: {scale: viewed}, "the sign decides")

    def view(results):
        return results.one(shift=0.0)["number"]

    return Plan([Ones()], lambda viewed: Figure(), [claim], lambda viewed: pa.table({"number": viewed}), view=view)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setitem(STUDIES, "ones", Study("ones", "tian2020", "Thm 1", "Ones", "Ones.", ones))


def test_figure_claims_and_numbers_are_made_of_the_view(tmp_path, known):
    told = []
    (outcome,) = reproduce(["ones"], "smoke", tmp_path, on_progress=told.append)
    assert sum(told) == pytest.approx(1.0)
    assert [(v.setting, v.verdict) for v in outcome.verdicts] == [("smoke", "holds")]
    assert pq.read_table(outcome.folder / "numbers.parquet")["number"].to_pylist() == [1.0, 1.1, 0.9]


def test_one_study_may_be_named_alone(tmp_path, known):
    (outcome,) = reproduce("ones", "smoke", tmp_path)
    assert outcome.study.name == "ones"


def test_scales_have_folders_of_their_own_and_share_the_results(tmp_path, known):
    for scale in ("smoke", "quick"):
        reproduce(["ones"], scale, tmp_path / "out", results=tmp_path / "results")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["quick", "smoke"]
    assert len(query(tmp_path / "results", "SELECT number FROM test_ones")) == 3


def test_a_study_that_fails_while_it_is_written_leaves_the_old_folder(tmp_path, monkeypatch, known):
    """Whatever file was the last to be written, the folder is as it was before."""
    reproduce(["ones"], "smoke", tmp_path)
    folder = tmp_path / "smoke" / "ones"
    (folder / "notes.md").write_text("mine")
    (folder / "report.html").write_text("outdated")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    module, real = sys.modules["tutelage.studies.reproduce"], write_atomically
    for name in ("claims.json", "settings.yaml", "numbers.parquet", "provenance.json"):

        def fail(path, content, name=name):
            if path.name == name:
                raise KeyboardInterrupt
            real(path, content)

        with monkeypatch.context() as patch:
            patch.setattr(module, "write_atomically", fail)
            with pytest.raises(KeyboardInterrupt):
                reproduce(["ones"], "smoke", tmp_path)
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    reproduce(["ones"], "smoke", tmp_path)
    assert [path.name for path in (tmp_path / "smoke").iterdir()] == ["ones"]
    assert (folder / "notes.md").read_text() == "mine"
    assert not (folder / "report.html").exists()


def test_studies_share_their_experiments():
    planned = plans(["success-rate", "loss-curves", "specialisation-dynamics"], "paper")
    assert len(distinct_experiments(planned)) == len(planned["loss-curves"].experiments)


def test_a_wrong_scale_or_study_is_refused_before_any_work(tmp_path):
    with pytest.raises(TutelageError, match="unknown scale 'big'"):
        reproduce(["l-shape"], "big", tmp_path)
    with pytest.raises(TutelageError, match="unknown study"):
        reproduce(["l-shape", "nothing"], SCALES[0], tmp_path)
    assert list(tmp_path.iterdir()) == []
