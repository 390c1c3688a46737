"""What a network is: stacked weights, forward pass, fan-out matrices, starting points, files and torch modules."""

from tutelage.networks.activations import ACTIVATIONS, gate
from tutelage.networks.fan_out import alpha, backward, beta, fan_out, recursive_gradient
from tutelage.networks.files import load, save
from tutelage.networks.forward import Activity, forward, outputs
from tutelage.networks.initial import SmallNormal, Student, UniformFanIn
from tutelage.networks.modules import from_module, to_module
from tutelage.networks.network import Network, concatenate

__all__ = [
    "ACTIVATIONS",
    "Activity",
    "Network",
    "SmallNormal",
    "Student",
    "UniformFanIn",
    "alpha",
    "backward",
    "beta",
    "concatenate",
    "fan_out",
    "forward",
    "from_module",
    "gate",
    "load",
    "outputs",
    "recursive_gradient",
    "save",
    "to_module",
]
