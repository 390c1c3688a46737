"""The strip of a stored study's verdicts, as on its report."""

from tutelage.studies.report.marks import strip as squares
from tutelage_docs.stored import StoredStudy


def strip(stored: StoredStudy | None) -> str:
    """The strip as HTML; a sentence where nothing is stored."""
    return squares(stored.claims) if stored else '<span class="strip-none">no stored results</span>'
