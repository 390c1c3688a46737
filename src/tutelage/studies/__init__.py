"""The figures of the seeds with their claims: one folder a subject, one file a study."""

from tutelage.discover import import_all
from tutelage.studies.claims import Claim, Verdict, judge
from tutelage.studies.packs import Packs, at_step, setting
from tutelage.studies.reproduce import Outcome, reproduce
from tutelage.studies.study import SCALES, STUDIES, Plan, Scale, Study, find, source, study

import_all(__name__, __path__)

__all__ = [
    "SCALES",
    "STUDIES",
    "Claim",
    "Outcome",
    "Packs",
    "Plan",
    "Scale",
    "Study",
    "Verdict",
    "at_step",
    "find",
    "judge",
    "reproduce",
    "setting",
    "source",
    "study",
]
