"""The contract of a theorem: conditions with values and witnesses, a conclusion, a verdict; and one registry.

The theorems themselves are in the ``certificates`` of each subject. :func:`certify` reaches them all.
"""

from tutelage.certificates.records import Certificate, Condition, Finding, Part, check, unknown
from tutelage.certificates.registry import THEOREMS, Subject, Theorem, certify, certify_all, find, subjects, theorems

__all__ = [
    "THEOREMS",
    "Certificate",
    "Condition",
    "Finding",
    "Part",
    "Subject",
    "Theorem",
    "certify",
    "certify_all",
    "check",
    "find",
    "subjects",
    "theorems",
    "unknown",
]
