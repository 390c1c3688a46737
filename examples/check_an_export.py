"""
A PyTorch model and its ONNX export
===================================

Does the file compute what the model computes? A proof for every input of a box, not a comparison at some points.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save
from torch import nn

from tutelage.functions import check_export

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))


def exported(module: nn.Sequential, path: Path, decimals: int) -> Path:
    """Write the layers as Gemm and Relu; an export that prints weights with few decimals loses some of them."""
    nodes, arrays, here = [], [], "x"
    for number, layer in enumerate(module):
        name = f"h{number}"
        if isinstance(layer, nn.Linear):
            pair = {f"w{number}": layer.weight, f"b{number}": layer.bias}
            arrays += [numpy_helper.from_array(np.round(a.detach().numpy(), decimals), k) for k, a in pair.items()]
            nodes.append(helper.make_node("Gemm", [here, *pair], [name], transB=1))
        else:
            nodes.append(helper.make_node("Relu", [here], [name]))
        here = name
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", s]) for n, s in (("x", 4), (here, 3))]
    graph = helper.make_graph(nodes, "model", ends[:1], ends[1:], arrays)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


with tempfile.TemporaryDirectory() as folder:
    for decimals in (9, 3):
        found = check_export(
            model, exported(model, Path(folder) / "model.onnx", decimals), (-1, 1), tolerance=1e-3, seconds=5
        )
        most, least = found.closeness.at_most.max().item(), found.closeness.largest.max().item()
        print(
            f"{decimals} decimals: {found.verdict}; outputs differ by at most {most:.2g}, and by {least:.2g} somewhere"
        )
        print(f"  top classes agree everywhere in the box: {found.same_class.verdict}")
