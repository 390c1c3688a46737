"""Inputs that are given: tensors, loaders and files, with labels or without."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network
from tutelage.networks.modules import stack_of
from tutelage.training.inputs.inputs import Distribution, Inputs


def from_tensors(
    x: Tensor,
    y: Tensor | None = None,
    *,
    seeds: Sequence[int],
    evaluate: Tensor | tuple[Tensor, Tensor] | None = None,
) -> Inputs:
    """Inputs from tensors, the same for all members.

    Parameters
    ----------
    x
        Points [N, d].
    y
        Labels [N, C], outputs [N], or classes [N] of integers, which become one column per class; None where a teacher
        labels the points.
    seeds
        One seed per member.
    evaluate
        Points, or points and labels, to be evaluated on; default: the training points.

    Returns
    -------
    Inputs
        For :func:`tutelage.train`, with teacher None where labels are given.

    Examples
    --------
    >>> x = torch.randn(20, 3)
    >>> from_tensors(x, x.sum(1), seeds=range(4)).train_labels.shape
    torch.Size([4, 20, 1])
    """
    points = _points(x, "x")
    wanted = None if y is None else _labels(y, len(points))
    if evaluate is None:
        test, test_labels = points, wanted
    else:
        given = (evaluate, None) if isinstance(evaluate, Tensor) else evaluate
        test = _points(given[0], "evaluate")
        classes = None if wanted is None else wanted.shape[1]
        test_labels = None if given[1] is None else _labels(given[1], len(test), classes)
        if test.shape[1] != points.shape[1] or (wanted is None) != (test_labels is None):
            raise TutelageError("evaluate must have the inputs of x, and labels exactly where x has labels")
    return _repeated(points, wanted, test, test_labels, seeds)


def from_loader(loader: Iterable[Any], *, seeds: Sequence[int], evaluate: Iterable[Any] | None = None) -> Inputs:
    """Inputs from a loader of batches x or (x, y), read once.

    Parameters
    ----------
    loader
        Batches of points [B, ...], which are flattened, or of points and labels.
    seeds
        One seed per member.
    evaluate
        Loader of points to be evaluated on; default: the training points.

    Returns
    -------
    Inputs
        As :func:`from_tensors`.

    Examples
    --------
    >>> import torch
    >>> batches = [(torch.ones(4, 2, 2), torch.zeros(4)), (torch.ones(3, 2, 2), torch.zeros(3))]
    >>> from_loader(batches, seeds=[0, 1]).train.shape
    torch.Size([2, 7, 4])
    """
    x, y = _read(loader, "loader")
    if evaluate is None:
        return from_tensors(x, y, seeds=seeds)
    test, wanted = _read(evaluate, "evaluate")
    return from_tensors(x, y, seeds=seeds, evaluate=test if wanted is None else (test, wanted))


class PointsFile(Distribution):
    """Points from a NumPy file (``.npz`` with arrays x and, for a data set, y; ``.npy`` with points alone).

    Arrays ``evaluate_x`` and ``evaluate_y`` are the points to be evaluated on; without them the first points are
    trained on and the last ones evaluated on, as many as ``train`` and ``evaluate`` say. All members share the points.
    """

    kind: Literal["file"] = "file"
    path: Path
    """The file; its content enters the hash."""
    shared: bool = True
    """One set of points for all members, that of the file."""

    def reads(self) -> tuple[Path, ...]:
        return (self.path,)

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        raise TutelageError(f"{self.path} holds a fixed set of points: use sampling 'replacement' or 'epochs'")

    def training_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        return self.draw(teacher, seeds).train

    def draw(self, teacher: Network | BlackBox | nn.Module, seeds: Sequence[int]) -> Inputs:
        teacher, arrays = stack_of(teacher), _arrays(self.path)
        x, y = _points(arrays["x"], "x"), arrays.get("y")
        wanted = None if y is None else _labels(y, len(x))
        if x.shape[1] != teacher.inputs:
            raise TutelageError(
                f"the points of {self.path} must have {teacher.inputs} inputs, as the teacher has, got {x.shape[1]}"
            )
        if "evaluate_x" in arrays:
            test = _points(arrays["evaluate_x"], "evaluate_x")
            classes = None if wanted is None else wanted.shape[1]
            test_labels = None if wanted is None else _labels(arrays["evaluate_y"], len(test), classes)
        else:
            if len(x) < self.train + self.evaluate:
                raise TutelageError(
                    f"train={self.train} and evaluate={self.evaluate} need {self.train + self.evaluate} points, but "
                    f"{self.path} has {len(x)}: lower one of them"
                )
            test, test_labels = x[-self.evaluate :], None if wanted is None else wanted[-self.evaluate :]
        x, wanted = x[: self.train], None if wanted is None else wanted[: self.train]
        x, test = x.to(teacher.device, teacher.dtype), test.to(teacher.device, teacher.dtype)
        wanted, test_labels = (
            None if a is None else a.to(teacher.device, teacher.dtype) for a in (wanted, test_labels)
        )
        return _repeated(x, wanted, test, test_labels, seeds)


def _repeated(
    points: Tensor | None,
    wanted: Tensor | None,
    test: Tensor | None,
    test_labels: Tensor | None,
    seeds: Sequence[int],
) -> Inputs:
    seeds = draws.as_seeds(seeds)

    def repeat(a: Tensor | None) -> Any:
        return None if a is None else a.expand(len(seeds), -1, -1)

    return Inputs(repeat(points), repeat(test), seeds, None, repeat(wanted), repeat(test_labels))


def _arrays(path: Path) -> dict[str, Tensor]:
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = {"x": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError) as error:
        raise TutelageError(f"{path} cannot be read as a NumPy file ({error})") from None
    if "x" not in arrays:
        raise TutelageError(f"{path} must have the array x, got {', '.join(arrays) or 'no arrays'}: name the points x")
    if "y" in arrays and "evaluate_x" in arrays and "evaluate_y" not in arrays:
        raise TutelageError(f"{path} has labels y but none for evaluate_x: add evaluate_y")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _points(x: Tensor, name: str) -> Tensor:
    if not isinstance(x, Tensor) or x.ndim < 2 or not len(x):
        shape = list(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise TutelageError(f"{name} must be a tensor of points [N, d], got {shape}")
    return x.flatten(1) if x.is_floating_point() else x.flatten(1).to(torch.float32)


def _labels(y: Tensor, count: int, classes: int | None = None) -> Tensor:
    """Labels as [N, C]: classes become columns of 0 and 1."""
    if len(y) != count or y.ndim not in (1, 2):
        raise TutelageError(f"labels must have shape [{count}] or [{count}, C], one row per point, got {list(y.shape)}")
    if y.ndim == 1 and not y.is_floating_point():
        return torch.nn.functional.one_hot(y.long(), -1 if classes is None else classes).to(torch.float32)
    return (y.unsqueeze(1) if y.ndim == 1 else y).to(y.dtype if y.is_floating_point() else torch.float32)


def _read(loader: Iterable[Any], name: str) -> tuple[Tensor, Tensor | None]:
    batches = [batch if isinstance(batch, tuple | list) else (batch,) for batch in loader]
    if not batches or any(not 1 <= len(b) <= 2 or not all(isinstance(a, Tensor) for a in b) for b in batches):
        raise TutelageError(f"{name} must give batches x or (x, y) of tensors")
    columns = [torch.cat(column) for column in zip(*batches, strict=True)]
    return columns[0], columns[1] if len(columns) > 1 else None
