"""What the commands print, on outcomes made by hand."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tutelage.cli.tables import claims_table, study_rows, summary
from tutelage.lab import TrainedStudents
from tutelage.measures import Report
from tutelage.studies import STUDIES, Reproduction, Verdict


def printed(table):
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    console.file.close()
    return console.export_text()


def test_claims_are_shown_setting_by_setting():
    verdicts = [
        Verdict("a sentence", setting, "a statistic", "> 0", measured, 0.1, 8, verdict, "r")
        for setting, measured, verdict in (("p = 0", 1.5, "holds"), ("p = 1", -2.0, "fails"))
    ]
    text = printed(claims_table(Reproduction(STUDIES["l-shape"], "quick", Path(), verdicts)))
    assert text.count("a sentence") == 1
    assert "holds" in text
    assert "-2" in text
    assert "fails" in text


def test_a_summary_averages_units_then_members_and_skips_the_diverged():
    values = {
        "fan_out": np.array([[[1.0, 3.0], [np.nan, np.nan], [4.0, 6.0]]]),
        "unit_class": np.array([[[1, 2], [-1, -1], [0, 0]]]),
    }
    row = summary(TrainedStudents(None, Report((0,), values), Path()))
    assert set(row) == {"fan_out"}
    assert row["fan_out"]["mean"] == pytest.approx(3.5)
    assert row["fan_out"]["n"] == 2


def test_sizes_add_up():
    row = next(r for r in study_rows() if r["study"] == "l-shape")
    assert row["scales"]["paper"]["experiments"] == 12
    assert row["scales"]["smoke"]["seconds"] < row["scales"]["quick"]["seconds"] < row["scales"]["paper"]["seconds"]
