"""Reports as HTML."""

from tutelage.report.html import render, short, write_reports

__all__ = ["render", "short", "write_reports"]
