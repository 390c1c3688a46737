"""How a teacher is made."""

from tutelage.training.teachers.levels import Levels
from tutelage.training.teachers.teacher import Teacher

__all__ = ["Levels", "Teacher"]
