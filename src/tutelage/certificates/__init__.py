"""Theorems as code: every condition with its value, bound and witness, the conclusion, and a verdict."""

from tutelage.certificates.eta_mu import EtaMu, eta_mu
from tutelage.certificates.records import VERDICTS, Certificate, Condition, Finding, Part, Verdict, check, unknown
from tutelage.certificates.registry import THEOREMS, Subject, Theorem, certify, certify_all, find, subjects, theorems
from tutelage.certificates.scene import Scene, certificate
from tutelage.discover import import_all

import_all(__name__, __path__)

__all__ = [
    "THEOREMS",
    "VERDICTS",
    "Certificate",
    "Condition",
    "EtaMu",
    "Finding",
    "Part",
    "Scene",
    "Subject",
    "Theorem",
    "Verdict",
    "certificate",
    "certify",
    "certify_all",
    "check",
    "eta_mu",
    "find",
    "subjects",
    "theorems",
    "unknown",
]
