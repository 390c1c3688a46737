"""Methods written for one torch module and a data loader, as methods for a stack of students."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from tutelage.errors import TutelageError
from tutelage.networks import to_module
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import Function
from tutelage.planted.view import StudentsView

OnModule = Callable[[nn.Module, DataLoader, int], Any]


def for_modules(function: OnModule, batch: int = 256) -> Function:
    """Make a method for stacks of students from one for a torch module and a data loader.

    Parameters
    ----------
    function
        Called for every member as ``function(module, loader, layer)``: an ``nn.Sequential`` of linear layers and
        activations, a loader of pairs of inputs [B, d] and labels [B, C], and the hidden layer in question, from 1. It
        returns a :class:`MethodAnswer` for that module, without a member axis.
    batch
        Size of the batches.

    Returns
    -------
    callable
        To be registered with :func:`method`.

    Examples
    --------
    >>> from tutelage.planted import MethodAnswer, for_modules
    >>> def loudest(module, loader, layer):
    ...     inside = module[: 2 * layer]
    ...     return MethodAnswer(ranking=torch.cat([inside(x) for x, _ in loader]).std(0))
    >>> stacked = for_modules(loudest)
    """

    def stacked(students: StudentsView, inputs: Tensor) -> MethodAnswer:
        answers = []
        for member in range(students.members):
            data = TensorDataset(inputs[member], students.labels[member])
            with torch.no_grad():
                module = to_module(students.network[member])
                answers.append(function(module, DataLoader(data, batch_size=batch), students.layer))
        return _stack(answers)

    stacked.__doc__, stacked.__module__ = function.__doc__, function.__module__
    return stacked


def _stack(answers: list[Any]) -> MethodAnswer:
    """Answers of single networks as one of all members; a member with fewer candidates is an error."""
    for answer in answers:
        if not isinstance(answer, MethodAnswer):
            raise TutelageError(
                f"a function for modules must return tutelage.planted.MethodAnswer, got {type(answer).__name__}"
            )
    values: dict[str, Any] = {"rectified": answers[0].rectified}
    for field in fields(MethodAnswer):
        if field.name == "rectified" or getattr(answers[0], field.name) is None:
            continue
        arrays = [np.asarray(getattr(answer, field.name)) for answer in answers]
        if len({array.shape for array in arrays}) > 1:
            raise TutelageError(
                f"the {field.name} of single networks must all have one shape, got "
                f"{' and '.join(str(list(s)) for s in sorted({a.shape for a in arrays}))}: pad them"
            )
        values[field.name] = np.stack(arrays)
    return MethodAnswer(**values)
