"""How students start: recipes that draw a stack of students for a given teacher."""

from tutelage.discover import import_all
from tutelage.training.students.fan_in_normal import FanInNormal
from tutelage.training.students.small_normal import SmallNormal
from tutelage.training.students.student import Student
from tutelage.training.students.uniform_fan_in import UniformFanIn

import_all(__name__, __path__)

__all__ = ["FanInNormal", "SmallNormal", "Student", "UniformFanIn"]
