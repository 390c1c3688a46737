"""The command line as a user meets it, with its exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest
import yaml

from tutelage.cli import main
from tutelage.cli.experiments import read
from tutelage.lab.experiment import plain
from tutelage.studies import STUDIES
from tutelage.studies.claims import Verdict
from tutelage.studies.reproduce import Reproduction, distinct_experiments, plans
from tutelage.studies.study import find

EXPERIMENT = {
    "teacher": {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2},
    "student": {"kind": "small-normal", "width_factor": 2, "scale": 0.1},
    "inputs": {"kind": "gaussian", "train": 40, "evaluate": 30},
    "training": {"steps": 30},
    "seeds": 3,
}


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def tutelage(capsys, monkeypatch):
    """Run a command as `main` does, in this process; the last test of this file starts one of its own."""

    def run(*words, cwd=None):
        monkeypatch.setattr(sys, "argv", ["tutelage", *map(str, words)])
        if cwd:
            monkeypatch.chdir(cwd)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return Done(end.value.code or 0, out, err)

    return run


def experiment_file(folder, **changes):
    path = folder / "settings.yaml"
    path.write_text(yaml.safe_dump(EXPERIMENT | changes))
    return path


def test_studies_lists_all_with_their_sizes(tutelage):
    rows = json.loads(tutelage("studies", "--json").stdout)
    assert {row["study"] for row in rows} >= {"l-shape", "success-rate", "loss-curves"}
    for row in rows:
        assert all(size["experiments"] > 0 and size["seconds"] > 0 for size in row["scales"].values())
    table = tutelage("studies")
    assert table.returncode == 0
    assert "teacher-aware-data" in table.stdout


@pytest.mark.parametrize(("scale", "code"), [("smoke", 0), ("quick", 1), ("paper", 1)])
def test_a_failed_claim_is_a_verdict_unless_the_scale_is_smoke(tutelage, tmp_path, monkeypatch, scale, code):
    one = Verdict("c", "s", "t", "> 0", -1.0, 0.1, 3, "fails")
    outcome = Reproduction(find("l-shape"), scale, tmp_path, [one])
    monkeypatch.setattr(sys.modules["tutelage.studies.reproduce"], "reproduce", lambda *names, **how: [outcome])
    monkeypatch.setattr("tutelage.studies.report.write_reports", lambda out: out / "report.html")
    done = tutelage("reproduce", "l-shape", "--scale", scale, "--out", tmp_path, "--json")
    assert done.returncode == code
    assert ("it proves nothing about the papers" in " ".join(done.stderr.split())) == (scale == "smoke")


def test_reproduce_writes_a_report(tutelage, tmp_path):
    done = tutelage(
        "reproduce",
        "focus-shifting",
        "boundaries-2d",
        "--scale",
        "smoke",
        "--out",
        tmp_path,
        "--results",
        tmp_path / "results",
        "--json",
    )
    claims = json.loads(done.stdout)
    assert done.returncode == 0
    assert (tmp_path / "report.html").is_file()
    assert (tmp_path / "smoke" / "focus-shifting" / "report.html").is_file()
    assert {c["study"] for c in claims} == {"focus-shifting", "boundaries-2d"}
    again = tutelage("report", tmp_path, "--json")
    assert json.loads(again.stdout) == {"report": str(tmp_path / "report.html")}


def test_reproduce_prints_the_claims_and_the_path_of_the_report(tutelage, tmp_path):
    done = tutelage(
        "reproduce", "focus-shifting", "--scale", "smoke", "--out", tmp_path, "--results", tmp_path / "results"
    )
    assert "ran: " in done.stdout
    assert f"report: {tmp_path / 'report.html'}" in done.stdout


def test_run_computes_once_and_then_reads(tutelage, tmp_path):
    path = experiment_file(tmp_path)
    first = json.loads(tutelage("run", path, "--json", "--results", tmp_path / "results").stdout)
    second = json.loads(tutelage("run", path, "--json", "--results", tmp_path / "results").stdout)
    assert (first["known"], second["known"]) == (False, True)
    assert first["last"] == second["last"]
    assert first["last"]["rho_mean"]["n"] == 3
    shown = tutelage("run", path, "--results", tmp_path / "results", "--verbose")
    assert "stored before" in shown.stdout


def test_experiments_of_every_kind_are_read_from_the_settings_that_reproduce_writes(tmp_path):
    path = tmp_path / "settings.yaml"
    kinds = set()
    for name, plan in plans(STUDIES, "smoke").items():
        wanted = distinct_experiments({name: plan})
        path.write_text(yaml.safe_dump_all([{"kind": e.kind, **plain(e)} for e in wanted], sort_keys=False))
        assert [e.hash for e in read(path, None, 10_000, every_kind=True)] == [e.hash for e in wanted]
        kinds |= {e.kind for e in wanted}
    assert len(kinds) > 30


def test_run_computes_an_experiment_that_trains_no_students(tutelage, tmp_path):
    path = tmp_path / "settings.yaml"
    settings = plain(next(e for e in STUDIES["strong-monotonicity"].plan("smoke").experiments))
    path.write_text(yaml.safe_dump({"kind": "linear-learner", **settings}))
    done = tutelage("run", path, "--results", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    assert "(linear-learner)" in done.stdout
    assert "computed on cpu" in done.stdout
    known = json.loads(tutelage("run", path, "--json", "--results", tmp_path / "results").stdout)
    assert known["known"]
    assert known["last"]["risk"]["shape"]
    path.write_text(path.read_text() + "grid: {seeds: [1, 2]}\n")
    done = tutelage("run", path, "--results", tmp_path / "results")
    assert done.returncode == 2
    assert "'grid' is for experiments of the kind students" in " ".join(done.stderr.split())
    path.write_text("kind: linear-leaner\n")
    assert "linear-learner" in tutelage("run", path, "--results", tmp_path / "results").stderr


def test_verbose_logs_the_engine_and_the_device(tutelage, tmp_path):
    done = tutelage("run", experiment_file(tmp_path), "--results", tmp_path / "results", "--engine", "stacked", "-v")
    assert "engine stacked on cpu" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["reproduce", "l-shap"], "unknown study 'l-shap'; did you mean 'l-shape'?"),
        (["reproduce", "l-shape", "--scale", "large"], "unknown scale 'large'"),
        (["reproduce", "l-shape", "--scale", "smoke", "--engine", "warp"], "unknown engine 'warp'"),
        (["reproduce", "l-shape", "--device", "tpu"], "device must be auto, cpu or cuda, got 'tpu'"),
        (["run", "nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["report", "nowhere"], "nowhere holds no reproduced study"),
    ],
)
def test_bad_words_are_one_sentence_and_exit_code_2(tutelage, words, sentence, tmp_path):
    done = tutelage(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"training": {"steps": 30, "learning_rate": -1}}, "'learning_rate'"),
        ({"student": {"kind": "small-normal", "width_factor": 0.2}}, "'width_factor'"),
        ({"sedes": 3}, "did you mean 'seeds'?"),
    ],
)
def test_a_mistake_in_an_experiment_names_the_file_and_the_setting(tutelage, tmp_path, changes, sentence):
    done = tutelage("run", experiment_file(tmp_path, **changes))
    assert done.returncode == 2
    assert "settings.yaml" in done.stderr
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_refused(tutelage, tmp_path):
    path = experiment_file(tmp_path)
    done = tutelage("run", path, "--results", path / "below-a-file")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_a_damaged_result_is_set_aside_and_computed_again(tutelage, tmp_path):
    path, out = experiment_file(tmp_path), tmp_path / "results"
    first = json.loads(tutelage("run", path, "--json", "--results", out).stdout)
    with open(os.path.join(first["folder"], "unit.parquet"), "ab") as file:
        file.write(b"x")
    done = tutelage("run", path, "--json", "--results", out)
    assert done.returncode == 0
    assert "unit.parquet" in done.stderr
    assert "set aside" in " ".join(done.stderr.split())
    assert json.loads(done.stdout)["last"] == first["last"]
    assert len(list(out.glob(".*.damaged"))) == 1


def _heeds_ctrl_c():
    """What a shell starts in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_with_130_and_keeps_finished_results(tutelage, tmp_path):
    """Interrupt a study of many experiments after its first: the experiments that landed stay, whole, and are used
    again.
    """
    words = ["reproduce", "success-rate", "--scale", "smoke", "--out", str(tmp_path)]
    words += ["--results", str(tmp_path / "results"), "--json"]
    command = [sys.executable, "-c", "from tutelage.cli import main; main()", *words]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=one_thread,
        preexec_fn=_heeds_ctrl_c,
    )
    results = tmp_path / "results"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (results.is_dir() and any(results.glob("[!.]*"))):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    landed = {p.name: p.stat().st_mtime_ns for p in results.glob("[!.]*")}
    assert process.returncode == 130
    assert "interrupted; finished experiments are stored" in errors
    assert landed
    assert not list(results.glob(".*.part"))
    done = tutelage(*words)
    assert done.returncode == 0
    assert {name: (results / name).stat().st_mtime_ns for name in landed} == landed


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": {"kind": "gaussian", "train": 40, "evaluate": 30, "std": 1e30}},
        {"student": {"kind": "small-normal", "width_factor": 2, "scale": 1e18}},
        {"teacher": EXPERIMENT["teacher"] | {"bias": 1e300}},
    ],
)
def test_an_experiment_whose_numbers_overflow_is_one_sentence(tutelage, tmp_path, changes):
    done = tutelage("run", experiment_file(tmp_path, **changes), "--results", tmp_path / "results")
    assert done.returncode == 2
    assert "is not finite at step 0 for member 0: make the inputs and the weights at the start smaller" in done.stderr
    assert not list((tmp_path / "results").glob("[!.]*"))
