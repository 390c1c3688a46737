"""The contract of a theorem: conditions with values and witnesses, a conclusion, a verdict; and one registry.

The theorems themselves are in the ``certificates`` of each subject. :func:`certify` reaches them all.
"""

from tutelage.certificates.records import Certificate, Finding, Part, check
from tutelage.certificates.registry import THEOREMS, Theorem, certify, certify_all, find, theorems

__all__ = [
    "THEOREMS",
    "Certificate",
    "Finding",
    "Part",
    "Theorem",
    "certify",
    "certify_all",
    "check",
    "find",
    "theorems",
]
