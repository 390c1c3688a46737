"""How a teacher is made."""

from tutelage.teachers.levels import Levels
from tutelage.teachers.teacher import Teacher

__all__ = ["Levels", "Teacher"]
