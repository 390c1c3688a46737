"""What a network is: stacked weights, forward pass, fan-out matrices, files and torch modules."""

from tutelage.networks.activations import ACTIVATIONS, Activation, activation
from tutelage.networks.adapting import to_network, to_sparse_network
from tutelage.networks.black_box import BlackBox
from tutelage.networks.exporting import save_network, save_onnx
from tutelage.networks.fan_out import alpha, backward, beta, fan_out, recursive_gradient
from tutelage.networks.files import load, save
from tutelage.networks.forward import Activity, forward, outputs
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.importing import read_any_network, read_network
from tutelage.networks.modules import from_module, to_module
from tutelage.networks.network import Network, concatenate
from tutelage.networks.nnet_files import load_nnet
from tutelage.networks.onnx_files import load_onnx
from tutelage.networks.state_dict import from_state_dict, to_state_dict

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Activity",
    "BlackBox",
    "Network",
    "SparseNetwork",
    "activation",
    "alpha",
    "backward",
    "beta",
    "concatenate",
    "fan_out",
    "forward",
    "from_module",
    "from_state_dict",
    "load",
    "load_nnet",
    "load_onnx",
    "outputs",
    "read_any_network",
    "read_network",
    "recursive_gradient",
    "save",
    "save_network",
    "save_onnx",
    "to_module",
    "to_network",
    "to_sparse_network",
    "to_state_dict",
]
