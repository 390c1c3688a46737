"""The machinery of studies: plan, claims, verdicts, figures, reports. The studies are in the subjects."""

from tutelage.discover import import_from_subjects
from tutelage.studies.claims import Check, Claim, Measured, Verdict
from tutelage.studies.judging import judge
from tutelage.studies.reproduce import reproduce
from tutelage.studies.study import STUDIES, Plan, Scale, Study, study

import_from_subjects("studies")  # last, since studies use what is imported above

__all__ = [
    "STUDIES",
    "Check",
    "Claim",
    "Measured",
    "Plan",
    "Scale",
    "Study",
    "Verdict",
    "judge",
    "reproduce",
    "study",
]
