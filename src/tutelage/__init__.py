"""A laboratory for teacher-student networks.

A fixed teacher labels inputs, many students learn from it, and the laboratory says what each student became.
"""

from tutelage import autoencoders, certificates, distillation, geometry, inputs, measures, networks, teachers, training
from tutelage.certificates import certify
from tutelage.distillation import distil
from tutelage.errors import Refusal
from tutelage.geometry import canonical, connect, identify, match, prune, same_function
from tutelage.measures import measure
from tutelage.networks import Network
from tutelage.training import Trajectory, train

__version__ = "0.1.0"

__all__ = [
    "Network",
    "Refusal",
    "Trajectory",
    "autoencoders",
    "canonical",
    "certificates",
    "certify",
    "connect",
    "distil",
    "distillation",
    "geometry",
    "identify",
    "inputs",
    "match",
    "measure",
    "measures",
    "networks",
    "prune",
    "same_function",
    "teachers",
    "train",
    "training",
]
