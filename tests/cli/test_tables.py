"""What the commands print, on outcomes made by hand."""

from pathlib import Path

import numpy as np
import pytest

from tutelage.cli.tables import study_rows, study_table, summary
from tutelage.lab import TrainedStudents
from tutelage.measures import Report
from tutelage.studies import STUDIES


def test_a_summary_averages_units_then_members_and_skips_the_diverged():
    values = {
        "fan_out": np.array([[[1.0, 3.0], [np.nan, np.nan], [4.0, 6.0]]]),
        "unit_class": np.array([[[1, 2], [-1, -1], [0, 0]]]),
    }
    row = summary(TrainedStudents(None, Report((0,), values), Path()))
    assert set(row) == {"fan_out"}
    assert row["fan_out"]["mean"] == pytest.approx(3.5)
    assert row["fan_out"]["n"] == 2
    assert row["fan_out"]["interval"] == pytest.approx([3.5 - 12.706 * 1.5, 3.5 + 12.706 * 1.5], abs=1e-3)


def test_sizes_add_up():
    row = next(r for r in study_rows() if r["study"] == "l-shape")
    assert row["scales"]["paper"]["experiments"] == 12
    assert row["scales"]["smoke"]["seconds"] < row["scales"]["quick"]["seconds"] < row["scales"]["paper"]["seconds"]


@pytest.mark.parametrize("width", [80, 160])
def test_every_study_has_its_title_and_its_times(on_terminal, width):
    text = on_terminal(study_table(width), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(text.split())
    for study in STUDIES.values():
        assert study.name in words
    start = next(i for i, line in enumerate(lines) if line.startswith("l-shape "))
    assert len(lines[start + 1].split()) > 1  # the title
    assert lines[start].split()[-6:] == ["1", "s", "6", "s", "2", "min"]
