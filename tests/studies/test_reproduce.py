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

from tutelage import Refusal
from tutelage.files import write_atomically
from tutelage.runs import Spec
from tutelage.studies import SCALES, STUDIES, Claim, reproduce
from tutelage.studies.reproduce import distinct_experiments, plans
from tutelage.studies.study import Plan, Study


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduced")


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_at_smoke_scale(out, name):
    (outcome,) = reproduce([name], "smoke", out)
    folder = out / name
    assert {f.name for f in folder.iterdir()} == {
        "figure.png", "figure.pdf", "claims.json", "numbers.parquet", "settings.yaml", "provenance.json",
    }  # fmt: skip
    claims = json.loads((folder / "claims.json").read_text())
    assert claims == outcome.claims()
    for claim in claims:
        assert claim["verdict"] in ("holds", "fails", "undecided")
        assert claim["measured"] is None or math.isfinite(claim["measured"])
    specs = [Spec(**values) for values in yaml.safe_load_all((folder / "settings.yaml").read_text())]
    assert [s.hash for s in specs] == [s.hash for s in STUDIES[name].plan("smoke").experiments]
    numbers = pq.read_table(folder / "numbers.parquet")
    assert len(numbers) > 0
    if not STUDIES[name].plan("smoke").evidence:
        assert set(numbers["experiment"].to_pylist()) == {s.hash for s in specs}
    assert (folder / "figure.png").stat().st_size > 10_000


def test_the_same_study_again_gives_the_same_claims_and_figure(out):
    name = "focus-shifting"
    reproduce([name], "smoke", out)
    before = {f: (out / name / f).read_bytes() for f in ("claims.json", "figure.png", "numbers.parquet")}
    reproduce([name], "smoke", out)
    assert {f: (out / name / f).read_bytes() for f in before} == before


def test_evidence_takes_the_place_of_packs_and_tells_how_far_it_is(tmp_path, monkeypatch):
    """A study without packs: its figure, its claims and its numbers are made of what its evidence returned."""

    def evidence(packs, progress):
        assert len(packs) == 0
        progress(0.5)
        return np.array([1.0, 1.1, 0.9])

    def plan(scale):
        claim = Claim("ones are positive", "the number", "> 0", "none", lambda found: {"all": found})
        return Plan([], lambda found: Figure(), [claim], lambda found: pa.table({"number": found}), evidence)

    monkeypatch.setitem(STUDIES, "ones", Study("ones", "000", "Thm 1", "Ones", "Ones.", plan))
    told = []
    (outcome,) = reproduce(["ones"], "smoke", tmp_path, on_evidence=lambda *said: told.append(said))
    assert told == [("ones", 0.5)]
    assert [(v.setting, v.verdict) for v in outcome.verdicts] == [("all", "holds")]
    assert pq.read_table(tmp_path / "ones" / "numbers.parquet")["number"].to_pylist() == [1.0, 1.1, 0.9]


def test_a_study_that_fails_while_it_is_written_leaves_the_old_folder(tmp_path, monkeypatch):
    """Whatever file was the last to be written, the folder is that of the scale it was before."""

    def plan(scale):
        claim = Claim("ones are positive", "the number", "> 0", "none", lambda found: {scale: found})
        table = pa.table({"scale": [scale]})
        return Plan([], lambda found: Figure(), [claim], lambda found: table, lambda packs, tell: np.ones(3))

    monkeypatch.setitem(STUDIES, "ones", Study("ones", "000", "Thm 1", "Ones", "Ones.", plan))
    reproduce(["ones"], "smoke", tmp_path)
    (tmp_path / "ones" / "notes.md").write_text("mine")
    (tmp_path / "ones" / "report.html").write_text("of the smoke scale")
    before = {file.name: file.read_bytes() for file in (tmp_path / "ones").iterdir()}
    module, real = sys.modules["tutelage.studies.reproduce"], write_atomically
    for name in ("claims.json", "settings.yaml", "numbers.parquet", "provenance.json"):

        def fail(path, content, name=name):
            if path.name == name:
                raise KeyboardInterrupt
            real(path, content)

        with monkeypatch.context() as patch:
            patch.setattr(module, "write_atomically", fail)
            with pytest.raises(KeyboardInterrupt):
                reproduce(["ones"], "quick", tmp_path)
        assert {file.name: file.read_bytes() for file in (tmp_path / "ones").iterdir()} == before
    reproduce(["ones"], "quick", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ones", "results"]
    assert json.loads((tmp_path / "ones" / "claims.json").read_text())[0]["scale"] == "quick"
    assert pq.read_table(tmp_path / "ones" / "numbers.parquet")["scale"].to_pylist() == ["quick"]
    assert (tmp_path / "ones" / "notes.md").read_text() == "mine"
    assert not (tmp_path / "ones" / "report.html").exists()


def test_studies_share_their_packs():
    planned = plans(["success-rate", "loss-curves", "specialisation-dynamics"], "paper")
    assert len(distinct_experiments(planned)) == len(planned["loss-curves"].experiments)


def test_a_wrong_scale_or_study_is_refused_before_any_work(tmp_path):
    with pytest.raises(Refusal, match="there is no scale 'big'"):
        reproduce(["l-shape"], "big", tmp_path)
    with pytest.raises(Refusal, match="there is no study"):
        reproduce(["l-shape", "nothing"], SCALES[0], tmp_path)
    assert list(tmp_path.iterdir()) == []
