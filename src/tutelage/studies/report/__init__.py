"""Reports as HTML, LaTeX and Markdown."""

from tutelage.studies.report.html import write_reports
from tutelage.studies.report.latex import write_latex
from tutelage.studies.report.ledger import write_ledger
from tutelage.studies.report.study_files import modules_page

__all__ = ["modules_page", "write_latex", "write_ledger", "write_reports"]
