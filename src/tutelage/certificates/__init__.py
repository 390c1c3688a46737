"""Theorems as code: every condition with its value, bound and witness, the conclusion, and a verdict."""

from tutelage.certificates.eta_mu import EtaMu, eta_mu
from tutelage.certificates.records import VERDICTS, Certificate, Condition, Finding, Part, Verdict, check, unknown
from tutelage.certificates.registry import THEOREMS, Theorem, certificate, certify, certify_all, find
from tutelage.certificates.scene import Scene
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
    "Theorem",
    "Verdict",
    "certificate",
    "certify",
    "certify_all",
    "check",
    "eta_mu",
    "find",
    "unknown",
]
