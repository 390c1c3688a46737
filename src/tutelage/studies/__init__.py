"""The machinery of studies: plan, claims, verdicts, figures, reports. The studies are in the subjects."""

from tutelage.discover import import_from_subjects
from tutelage.studies.claims import Check, Claim, Measured, Verdict, compared, judge
from tutelage.studies.reproduce import Reproduction, reproduce
from tutelage.studies.study import SCALES, STUDIES, Plan, Scale, Study, find, study

import_from_subjects("studies")  # last, since studies use what is imported above

__all__ = [
    "SCALES",
    "STUDIES",
    "Check",
    "Claim",
    "Measured",
    "Plan",
    "Reproduction",
    "Scale",
    "Study",
    "Verdict",
    "compared",
    "find",
    "judge",
    "reproduce",
    "study",
]
