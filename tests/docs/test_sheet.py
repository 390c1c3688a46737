"""The cheat sheet: every block of its page is on the printed one, and inside its margins."""

from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from tutelage_docs import sheet

PAGE = Path(__file__).parents[2] / "docs" / "cheat_sheet.md"


def test_every_block_is_printed_in_its_order():
    text = PAGE.read_text()
    given = sheet.blocks(text)
    assert len(given) == text.count("\n## ") == text.count("```\n") >= 12
    assert [block for column in sheet.columns(given) for block in column] == given


def test_the_sheet_is_one_page_and_nothing_leaves_its_column(tmp_path):
    given = sheet.blocks(PAGE.read_text())
    for column in sheet.columns(given):
        height = sum(sheet.HEAD + sheet.GAP + sheet.LINE * len(lines) for _, lines in column)
        assert height < sheet.TOP
    letter = 0.602 * sheet.SIZE / 72 / sheet.PAGE[0]  # of DejaVu Sans Mono, as a share of the width of the page
    room = (1 - sheet.LEFT) / sheet.COLUMNS
    assert max(len(line) for _, lines in given for line in lines) * letter < room - 0.01
    sheet.write(PAGE, tmp_path / "sheet.pdf")
    content = (tmp_path / "sheet.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page ") == 1
