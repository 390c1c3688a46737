"""Which statements of seed 004, chapter 3 there are, and how to hold a course of the flow against them.

They speak of labelled points and of a way through time rather than of a teacher and samples.
"""

from typing import Any

from tutelage.certificates.margins.scene import MarginScene
from tutelage.certificates.records import Certificate
from tutelage.certificates.statements import Statements
from tutelage.theory.margins.flow import Course

STATEMENTS = Statements("margins")
margin_certificate = STATEMENTS.add


def certify_margins(name: str, course: Course | MarginScene, **options: Any) -> list[Certificate]:
    """Hold every member of a course against a statement; a scene serves several statements without working twice.

    >>> from tutelage.theory.margins.datasets import cones
    >>> from tutelage.theory.margins.flow import balanced_start, flow
    >>> course = flow(cones([0]), balanced_start([0], units=6, dimension=3), [-float("inf"), 5.0])
    >>> [certificate] = certify_margins("balance", course)
    >>> certificate.verdict
    'holds'
    """
    scene = course if isinstance(course, MarginScene) else MarginScene(course)
    return STATEMENTS.certify(name, scene, options)
