"""The figures of the seeds with their claims: one folder a subject, one file a study."""

from tutelage.discover import import_all
from tutelage.studies.claims import Claim, Verdict, judge
from tutelage.studies.reproduce import Outcome, reproduce
from tutelage.studies.statistics import at_step
from tutelage.studies.study import SCALES, STUDIES, Plan, Scale, Study, find, source, study

import_all(__name__, __path__)

__all__ = [
    "SCALES",
    "STUDIES",
    "Claim",
    "Outcome",
    "Plan",
    "Scale",
    "Study",
    "Verdict",
    "at_step",
    "find",
    "judge",
    "reproduce",
    "source",
    "study",
]
