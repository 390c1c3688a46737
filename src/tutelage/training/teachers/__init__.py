"""How a teacher is made."""

from tutelage.discover import import_all
from tutelage.training.teachers.files import FromFile, NoTeacher
from tutelage.training.teachers.levels import Levels
from tutelage.training.teachers.normal import Normal
from tutelage.training.teachers.teacher import Teacher

import_all(__name__, __path__)

__all__ = ["FromFile", "Levels", "NoTeacher", "Normal", "Teacher"]
