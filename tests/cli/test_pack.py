"""`tutelage pack` and `tutelage unpack` on a study that takes seconds."""

import json

from tutelage.studies.packing import Rerun

STUDY = "strong-monotonicity"


def test_a_study_is_packed_verified_and_computed_again(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("reproduce", STUDY, "--scale", "smoke").code == 0
    done = command("pack", STUDY, "--scale", "smoke")
    assert done.code == 0
    assert done.out.startswith(f"{STUDY}.zip: ")
    assert "claims.json" in json.loads(command("pack", STUDY, "two.zip", "--scale", "smoke", "--json").out)["files"]
    done = command("unpack", f"{STUDY}.zip", "--rerun")
    assert done.code == 0
    assert f"verified: unpacked/smoke/{STUDY}" in done.out
    assert "computed again: the same settings, the same verdicts" in done.out
    found = json.loads(command("unpack", "two.zip", "--json").out)
    assert found["command"] == f"tutelage reproduce {STUDY} --scale smoke"
    assert found["rerun"] is None


def test_a_rerun_that_differs_is_a_negative_verdict(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command("reproduce", STUDY, "--scale", "smoke")
    command("pack", STUDY, "--scale", "smoke")
    other = Rerun(False, ["a claim: holds was packed, fails came now"], 10, 8, 1e-9)
    monkeypatch.setattr("tutelage.studies.packing.rerun", lambda packed, out: other)
    done = command("unpack", f"{STUDY}.zip", "--rerun")
    assert done.code == 1
    assert "the study has changed since, 1 other verdicts; 8 of 10 values are equal" in done.out
    assert "a claim: holds was packed" in done.out


def test_what_cannot_be_packed_or_read_is_one_sentence(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("pack", "l-shape").code == 2
    (tmp_path / "odd.zip").write_bytes(b"odd")
    done = command("unpack", "odd.zip")
    assert done.code == 2
    assert "is not a complete archive" in " ".join(done.err.split())
