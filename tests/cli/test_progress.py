"""What is shown while experiments are computed, and that nothing is shown to a pipe."""

from collections import Counter

from rich.console import Console

from tutelage.cli.progress import share_shown, shown, standings_table
from tutelage.studies.live import Landed


def test_a_row_a_study_with_its_verdicts_so_far():
    console = Console(width=100, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(standings_table([Landed("l-shape", 3, 12, Counter(holds=5, fails=1), 2)]))
    console.file.close()
    row = next(line for line in console.export_text().splitlines() if "l-shape" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
        "l-shape",
        "3/12",
        "5",
        "1",
        "0",
        "0",
        "0",
        "0",
        "0",
        "2",
    ]


def test_nothing_is_drawn_without_a_terminal(capsys):
    with shown("label", 10.0, quiet=False) as (done, landed):
        done(5.0)
        landed(None)
    with share_shown("label", quiet=False) as tell:
        tell(0.5)
    assert capsys.readouterr() == ("", "")
