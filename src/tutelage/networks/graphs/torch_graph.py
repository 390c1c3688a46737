"""Torch modules as graphs of values, traced by ``torch.export``."""

import logging
import operator
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn

from tutelage.errors import TutelageError
from tutelage.networks.graphs import affine_operators, image_operators, shape_operators, unit_operators  # noqa: F401
from tutelage.networks.graphs.operators import TORCH, axis_of
from tutelage.networks.graphs.values import Value, reshaped, start
from tutelage.networks.onnx_model import not_linear

MONOTONE = ("_softmax", "_log_softmax", "sigmoid", "softmax", "log_softmax")
"""Operators at the end that keep the top class."""
_SAMPLES = 2  # an axis of this size is the axis of samples


SMOOTH = (
    nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer,
    nn.LayerNorm, nn.GroupNorm, nn.Tanh, nn.GELU, nn.SiLU, nn.Softplus, nn.ELU, nn.SELU, nn.CELU, nn.Mish,
    nn.LogSigmoid, nn.Softsign, nn.Bilinear,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TorchGraph:
    """The output value of a module, and the precision of its weights."""

    output: Value
    dtype: torch.dtype


def read_module(module: nn.Module, shape: Sequence[int] | None, name: str, logits: bool = False) -> TorchGraph:
    """Read a module as a graph.

    Parameters
    ----------
    module
        Any module whose forward takes one tensor of samples; it is traced in evaluation mode.
    shape
        Of one sample; default: what the first Linear layer takes.
    name
        What error messages call it.
    logits
        Leave out a softmax or sigmoid at the end.
    """
    for place, part in module.named_modules():
        if isinstance(part, SMOOTH):
            raise TutelageError(not_linear(f"the {type(part).__name__} {place or 'itself'} of the {name}"))
    first = next((p for p in module.parameters() if p.is_floating_point()), None)
    if first is None:
        raise TutelageError(f"the {name} has no weights: give a module with layers of weights")
    sample = _sample_shape(module, name) if shape is None else tuple(shape)
    example = torch.zeros(_SAMPLES, *sample, dtype=first.dtype, device=first.device)
    program = _exported(module, example, name)
    output = _walked(program, sample, name, logits)
    return TorchGraph(reshaped(output, (output.size,)), first.dtype)


_SMOOTH_CALLS = (
    "tanh", "gelu", "silu", "softplus", "elu", "erf", "exp", "log", "pow", "sqrt", "rsqrt", "sin", "cos", "mish",
    "native_layer_norm", "native_group_norm", "lstm", "gru", "scaled_dot_product_attention", "bmm", "celu", "selu",
)  # fmt: skip


def read_program(program: Any, name: str, logits: bool = False) -> TorchGraph:
    """Read what ``torch.export.export`` made of a module; the first axis of its one input is that of the samples."""
    given = set(program.graph_signature.user_inputs)
    inputs = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder" and n.name in given]
    if len(inputs) != 1 or inputs[0].ndim < 2:
        raise TutelageError(f"the {name} must take one tensor of samples: export it with one such example")
    samples, *sample = inputs[0].shape
    output = _walked(_decomposed(program), tuple(int(n) for n in sample), name, logits, samples)
    kinds = [v.dtype for v in program.state_dict.values() if v.is_floating_point()]
    if not kinds:
        raise TutelageError(f"the {name} has no weights: give a module with layers of weights")
    return TorchGraph(reshaped(output, (output.size,)), kinds[0])


def _decomposed(program: Any) -> Any:
    table = torch.export.default_decompositions()
    table.pop(torch.ops.aten._prelu_kernel.default, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program.run_decompositions(table)


def _sample_shape(module: nn.Module, name: str) -> tuple[int, ...]:
    """What the first layer with weights takes, where that tells the shape of a sample."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            return (part.in_features,)
        if isinstance(part, nn.BatchNorm1d):
            return (part.num_features,)
        if isinstance(part, nn.Conv1d | nn.Conv2d | nn.BatchNorm2d):
            break
    raise TutelageError(
        f"the {name} does not tell the shape of its inputs: call to_network(module, shape=(3, 32, 32)) with the shape "
        "of one sample, and give what it returns"
    )


def _exported(module: nn.Module, example: Tensor, name: str) -> Any:
    modes = [m.training for m in module.modules()]
    module.eval()
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # torch logs what it raises
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _decomposed(torch.export.export(module, (example,)))
    except Exception as error:  # a forward with control flow fails in ways of its own
        first = str(error).split("\n", 1)[0][:200]
        raise TutelageError(
            f"the forward of the {name} cannot be traced ({first}): export the model to ONNX and give the file"
        ) from None
    finally:
        logging.disable(level)
        for part, mode in zip(module.modules(), modes, strict=True):
            part.training = mode


def _walked(program: Any, sample: tuple[int, ...], name: str, logits: bool, samples: Any = _SAMPLES) -> Value:
    """The value that a traced module returns."""
    signature = program.graph_signature
    known: dict[fx.Node, Any] = {}
    stored = {**dict(program.state_dict), **dict(program.constants)}
    names = {
        **signature.inputs_to_parameters, **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }  # fmt: skip
    for node in program.graph.nodes:
        if node.op == "placeholder":
            known[node] = stored[names[node.name]] if node.name in names else start(sample)
        elif node.op == "output":
            (result, *more) = node.args[0]
            value = known.get(result)
            if more or not isinstance(value, Value):
                raise TutelageError(f"the {name} must return one tensor that depends on its input")
            return value
        else:
            given: Any = fx.node.map_arg(node.args, known.__getitem__)
            how: Any = fx.node.map_arg(node.kwargs, known.__getitem__)
            kind = str(node.target).split(".")[1] if str(node.target).startswith("aten.") else str(node.target)
            label = f"{kind} ({node.name}) of the {name}"
            if kind == "sym_size":  # the number of samples of a program for any number
                known[node] = node.meta["val"]
            elif not _moving((given, how)):
                known[node] = node.target(*given, **how)
            elif node.target is operator.getitem:
                known[node] = given[0][given[1]]
            elif kind in MONOTONE:
                known[node] = _left_out(node, given, logits, label)
            elif kind not in TORCH:
                raise TutelageError(
                    not_linear(label)
                    if kind in _SMOOTH_CALLS
                    else f"the {name} calls {kind} ({node.name}), which is not piecewise linear or not understood: use "
                    "other layers, or export the part of the model before it"
                )
            else:
                known[node] = TORCH[kind](label, *given, **how)
            _check(node, known[node], label, samples)
    raise TutelageError(f"the {name} returns nothing")


def _left_out(node: fx.Node, given: Any, logits: bool, label: str) -> Value:
    """A softmax or sigmoid at the end."""
    value = given[0]
    if len(given) > 1 and value.shape[axis_of(given[1], value, label)] != value.size:
        raise TutelageError(f"{label} is about one axis of samples of shape {list(value.shape)}: flatten them")
    if not logits or any(user.op != "output" for user in node.users):
        raise TutelageError(
            f"{label} is not piecewise linear: leave it out of the module, as in module[:-1] of a Sequential where "
            "it is the last layer"
        )
    return value


def _moving(given: Any) -> bool:
    """Whether arguments depend on the input."""
    if isinstance(given, Value):
        return True
    if isinstance(given, dict):
        return any(map(_moving, given.values()))
    return isinstance(given, list | tuple) and any(map(_moving, given))


def _check(node: fx.Node, value: Any, label: str, samples: Any) -> None:
    """A value must have the shape that torch states, samples first."""
    stated = node.meta.get("val")
    if isinstance(value, Value) and isinstance(stated, Tensor) and tuple(stated.shape) != (samples, *value.shape):
        raise TutelageError(
            f"{label} makes {list(stated.shape)} of {samples} samples: the first axis must stay the axis of samples"
        )
