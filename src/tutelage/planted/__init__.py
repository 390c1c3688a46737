"""Does a method that claims to find structure find what is there? Planted teachers as a calibrated test bed.

Teachers whose units are known, students whose recovery of them is measured by exact theory, and methods scored as
estimators: recall at a false-discovery rate, calibration, coverage, bias of counts, and invariance under changes of the
weights that leave the function as it is. A method is one function, registered with :func:`method`::

    @method("loudest-units")
    def loudest(students, inputs):
        return MethodAnswer(ranking=students.activations(inputs).std(1))

Score it with ``tutelage planted loudest-units --with FILE.py``, or with :func:`evaluate`.

To read, in this order: ``difficulty`` (the dials), ``rewriting`` and ``cases`` (in which form students are given),
``truth`` (what is in them), ``view`` and ``answer`` (what a method sees and returns), ``scores``, ``experiment``, and
then ``methods/matching``.
"""

import importlib

from tutelage.planted.answer import MethodAnswer
from tutelage.planted.cases import CASES
from tutelage.planted.difficulty import DIALS, Difficulty
from tutelage.planted.experiment import PlantedScores, PlantedStudents, evaluate
from tutelage.planted.registry import METHODS, PlantedMethod, method
from tutelage.planted.scores import SCORES
from tutelage.planted.truth import STATES, Truth, truth
from tutelage.planted.view import StudentsView
from tutelage.planted.wrapping import for_modules

importlib.import_module(f"{__name__}.methods")

__all__ = [
    "CASES",
    "DIALS",
    "METHODS",
    "SCORES",
    "STATES",
    "MethodAnswer",
    "Difficulty",
    "PlantedMethod",
    "PlantedScores",
    "PlantedStudents",
    "Truth",
    "StudentsView",
    "evaluate",
    "for_modules",
    "method",
    "truth",
]
