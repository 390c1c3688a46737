"""Reports as HTML."""

from tutelage.report.html import render, short, write_reports
from tutelage.report.ledger import write_ledger
from tutelage.report.modules import modules_page

__all__ = ["modules_page", "render", "short", "write_ledger", "write_reports"]
