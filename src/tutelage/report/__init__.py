"""Reports as HTML."""

from tutelage.report.html import render, short, write_reports
from tutelage.report.ledger import write_ledger

__all__ = ["render", "short", "write_ledger", "write_reports"]
