"""Any two torch modules side by side: which of my units found which of the teacher's (Tian 2020, eq. 9).

Nothing is asked of the modules but that both take the same batches. Their layers are watched from outside, by forward
hooks, and what is needed of the activations is summed up batch by batch: memory does not grow with the samples.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tutelage.errors import TutelageError, unknown
from tutelage.measures.correlation import RECOVERED
from tutelage.measures.streaming import StreamedCorrelation
from tutelage.printing import printed


def points_of(batches: Tensor | Iterable[Any], name: str = "batches") -> Iterator[Tensor]:
    """The points of every batch: a batch is a tensor x, or a tuple or list that begins with x, as (x, y).

    >>> import torch
    >>> [len(x) for x in points_of([(torch.zeros(3, 2), torch.zeros(3)), torch.zeros(4, 2)])]
    [3, 4]
    """
    if isinstance(batches, Tensor):
        if batches.ndim < 2:
            raise TutelageError(f"{name} must have shape [N, ...], one row per sample, got {list(batches.shape)}")
        yield batches
        return
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes | dict):
        raise TutelageError(f"{name} must be a tensor or a loader of x or (x, y), got {type(batches).__name__}")
    for place, batch in enumerate(batches):
        x = batch[0] if isinstance(batch, tuple | list) and batch else batch
        if not isinstance(x, Tensor):
            raise TutelageError(f"batch {place} of {name} must be a tensor x or a tuple (x, y), got {type(x).__name__}")
        if x.ndim < 2:
            raise TutelageError(
                f"batch {place} of {name} has shape {list(x.shape)}: wanted inputs [N, ...], one row per sample; for a "
                "single tensor of samples pass the tensor itself"
            )
        yield x


_WATCHED = (nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.ReLU6, nn.Hardswish, nn.Softplus)


@printed
@dataclass(frozen=True, eq=False)
class LayerMatch:
    """One layer of a teacher module compared with one layer of a student module.

    Attributes
    ----------
    teacher, student
        Names of the two layers.
    correlation
        Correlation [m, n] of every teacher unit with every student unit over all samples; every pixel of a feature map
        counts as a sample; 0 where a unit is constant.
    idle_teacher, idle_student
        Units that were constant.
    samples
        Number of samples.
    """

    teacher: str
    student: str
    correlation: np.ndarray
    idle_teacher: tuple[int, ...]
    idle_student: tuple[int, ...]
    samples: int

    @property
    def rho_mean(self) -> float:
        """mean_j max_k rho_jk over the teacher units that are not constant (Tian 2020, eq. 9)."""
        return float(np.delete(self.correlation, self.idle_teacher, axis=0).max(1).mean())

    @property
    def best_student(self) -> np.ndarray:
        """The student unit that found each teacher unit best: [m]."""
        return self.correlation.argmax(1)

    @property
    def best_correlation(self) -> np.ndarray:
        """How well each teacher unit is found: [m]."""
        return self.correlation.max(1)

    @property
    def recovered(self) -> np.ndarray:
        """Which teacher units are found with a correlation above 0.95: bool [m]."""
        return self.best_correlation > RECOVERED

    def __str__(self) -> str:
        recovered, units = int(self.recovered.sum()), len(self.correlation)
        idle = f", {len(self.idle_student)} student units idle" if self.idle_student else ""
        return (
            f"{self.teacher} -> {self.student}: rho_mean {self.rho_mean:.3f}, {recovered} of {units} teacher units "
            f"found{idle} ({self.samples:,} samples)"
        )


def match_modules(
    teacher: nn.Module,
    student: nn.Module,
    batches: Tensor | Iterable[Any],
    layers: Sequence[str] | Sequence[tuple[str, str]] | None = None,
) -> list[LayerMatch]:
    """Compare layers of two torch modules on the same inputs (Tian 2020, eq. 9).

    Parameters
    ----------
    teacher, student
        Any modules. They run in evaluation mode and are left as they were.
    batches
        One tensor of inputs [N, ...], several tensors, or a loader of x or (x, y), whose labels are not used.
    layers
        Names from ``named_modules``: one name for both modules, or a pair per layer. By default activation layers (ReLU
        and its relatives) are compared in the order in which they run, and both modules must have the same number of
        them.

    Returns
    -------
    list of LayerMatch
        One per pair of layers.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> teacher = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> [layer] = match_modules(teacher, teacher, torch.randn(100, 3))
    >>> [int(unit) for unit in layer.best_student]
    [0, 1, 2, 3]
    """
    pairs = _named(teacher, student, layers) if layers is not None else None
    sums: list[StreamedCorrelation] = []
    for batch in points_of(batches):
        taught = _seen(teacher, batch, None if pairs is None else [a for a, _ in pairs], "teacher")
        learnt = _seen(student, batch, None if pairs is None else [b for _, b in pairs], "student")
        if pairs is None:
            pairs = _in_order(list(taught), list(learnt))
        sums = sums or [StreamedCorrelation() for _ in pairs]
        for (a, b), running in zip(pairs, sums, strict=True):
            running.add(*_samples(a, taught[a], b, learnt[b]))
    if not sums or pairs is None:
        raise TutelageError("there are no inputs to compare the modules on: give at least one batch")
    return [_match(*pair, running) for pair, running in zip(pairs, sums, strict=True)]


def _named(teacher: nn.Module, student: nn.Module, layers: Sequence) -> list[tuple[str, str]]:
    """Pairs of names, each checked to be a layer."""
    pairs = [(name, name) if isinstance(name, str) else tuple(name) for name in layers]
    if not pairs:
        raise TutelageError("no layers were named: leave 'layers' out to compare all activation layers in order")
    for side, (whose, module) in enumerate((("teacher", teacher), ("student", student))):
        known = dict(module.named_modules())
        for pair in pairs:
            if pair[side] not in known:
                raise unknown(f"layer of the {whose}", pair[side], [name for name in known if name])
    return pairs


def _in_order(taught: list[str], learnt: list[str]) -> list[tuple[str, str]]:
    if len(taught) != len(learnt):
        raise TutelageError(
            f"the teacher has {len(taught)} activation layers ({', '.join(taught)}) and the student {len(learnt)} "
            f"({', '.join(learnt)}): say which to compare, layers=[(teacher's, student's), ...]"
        )
    return list(zip(taught, learnt, strict=True))


def _seen(module: nn.Module, batch: Tensor, names: Sequence[str] | None, whose: str) -> dict[str, Tensor]:
    """Outputs of the watched layers on a batch, in the order in which they ran."""
    watched = {
        name: layer
        for name, layer in module.named_modules()
        if (isinstance(layer, _WATCHED) if names is None else name in names)
    }
    if not watched:
        raise TutelageError(f"the {whose} has no activation layers to watch: name layers of it, layers=[...]")
    activations: dict[str, Tensor] = {}

    def hook(name: str) -> Any:
        def keep(layer: nn.Module, given: Any, out: Any) -> None:
            if name in activations:
                raise TutelageError(
                    f"the layer '{name}' of the {whose} runs more than once: give it a layer for each use"
                )
            if not isinstance(out, Tensor):
                kind = type(layer).__name__
                raise TutelageError(f"the layer '{name}' ({kind}) of the {whose} gives no tensor: name another layer")
            activations[name] = out.detach().clone()  # what follows may change it in place

        return keep

    handles = [layer.register_forward_hook(hook(name)) for name, layer in watched.items()]
    training = {layer: layer.training for layer in module.modules()}
    module.eval()
    try:
        with torch.no_grad():
            module(batch)
    except (RuntimeError, ValueError, TypeError) as error:
        if isinstance(error, TutelageError):
            raise
        shape, first = list(batch.shape), str(error).splitlines()[0]
        raise TutelageError(
            f"the {whose} cannot take inputs of shape {shape} ({first}): give both modules the same"
        ) from None
    finally:
        for handle in handles:
            handle.remove()
        for layer, was in training.items():
            layer.training = was
    absent = [name for name in watched if name not in activations]
    if absent:
        raise TutelageError(f"the layer '{absent[0]}' of the {whose} did not run on these inputs: name another layer")
    return activations


def _samples(a: str, first: Tensor, b: str, second: Tensor) -> tuple[Tensor, Tensor]:
    """Activations of two layers as [1, N, units]; pixels are samples, and maps must then have one size."""
    units = [_units(name, x) for name, x in ((a, first), (b, second))]
    if units[0].shape[1] != units[1].shape[1]:
        raise TutelageError(
            f"the layers '{a}' and '{b}' have outputs {list(first.shape)} and {list(second.shape)}: units are compared "
            "place by place, so name layers with feature maps of one size"
        )
    return units[0], units[1]


def _units(name: str, x: Tensor) -> Tensor:
    """[N, units], or feature maps [N, channels, ...] with every place a sample: -> [1, samples, units]."""
    if x.ndim < 2 or not x.is_floating_point():
        raise TutelageError(
            f"the layer '{name}' must give real numbers [samples, units] or feature maps, got {x.dtype} {list(x.shape)}"
        )
    return x.flatten(2).transpose(1, 2).reshape(1, -1, x.shape[1]) if x.ndim > 2 else x.unsqueeze(0)


def _match(teacher: str, student: str, running: StreamedCorrelation) -> LayerMatch:
    idle = [tuple(torch.nonzero(norm[0] == 0)[:, 0].tolist()) for norm in running.norms()]
    correlation = running.correlations()[0].cpu().numpy()
    for whose, name, which, units in (
        ("teacher", teacher, idle[0], correlation.shape[0]),
        ("student", student, idle[1], correlation.shape[1]),
    ):
        if len(which) == units:
            raise TutelageError(
                f"every unit of the layer '{name}' of the {whose} is constant on these inputs: it is dead"
            )
    return LayerMatch(teacher, student, correlation, idle[0], idle[1], running.count)
