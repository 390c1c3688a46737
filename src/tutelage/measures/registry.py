"""What a measure is, and which there are. Adding a measure adds a file to this package and edits no other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from tutelage.errors import TutelageError, unknown
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Network

Axis = Literal["member", "layer", "teacher", "unit", "pair", "teacher_pair", "unit_pair"]


@dataclass(frozen=True)
class Measure:
    """A quantity observed on every member of a snapshot.

    Attributes
    ----------
    name
        Name used in ``Record.measures``, reports and tables.
    axis
        What the entries after the member axis are: nothing ("member", [S]), hidden layers ("layer", [S, L-1]), teacher
        units ("teacher", [S, m]), student units ("unit", [S, n]) or pairs of both ("pair", [S, m, n]; for several
        hidden layers [S, sum of m_l n_l]; where teacher and students differ in depth all pairs, [S, sum of m_l, sum of
        n_l]); or pairs of teacher units ("teacher_pair", [S, m, m]) and of student units ("unit_pair", [S, n, n]).
        Units of several layers follow one another from below.
    function
        From a :class:`Snapshot` to the values.
    of_teacher_units
        Whether the teacher must have units to be compared with.
    two_layers
        Whether it is defined for two-layer networks only.
    """

    name: str
    axis: Axis
    function: Callable[[Snapshot], Tensor]
    of_teacher_units: bool = False
    two_layers: bool = False

    def __call__(self, snapshot: Snapshot) -> Tensor:
        if self.two_layers and not snapshot.teacher.depth == snapshot.students.depth == 2:
            raise TutelageError(
                f"the measure '{self.name}' is defined for two-layer networks, and the teacher has "
                f"{snapshot.teacher.depth} layers and the students {snapshot.students.depth}"
            )
        return self.function(snapshot)


MEASURES: dict[str, Measure] = {}


def measure_of(
    axis: Axis, of_teacher_units: bool | None = None, two_layers: bool = False
) -> Callable[[Callable[[Snapshot], Tensor]], Measure]:
    """Decorator that registers a function as a measure under its own name.

    Parameters
    ----------
    axis
        What the entries after the member axis are; see :class:`Measure`.
    of_teacher_units
        Whether the teacher must have units; default: for the axes "teacher", "pair" and
        "teacher_pair".
    two_layers
        Whether it is defined for two-layer networks only.

    Returns
    -------
    callable
        The decorator; it returns a :class:`Measure` that keeps the function's docstring.

    Examples
    --------
    >>> @measure_of("member")
    ... def largest_weight(snapshot):
    ...     return torch.stack([w.abs().amax((1, 2)) for w in snapshot.student.weights]).amax(0)
    >>> largest_weight.name, largest_weight.axis
    ('largest_weight', 'member')
    >>> _ = MEASURES.pop("largest_weight")  # measured by default until then
    """

    def register(function: Callable[[Snapshot], Tensor]) -> Measure:
        needs = axis in ("teacher", "pair", "teacher_pair") if of_teacher_units is None else of_teacher_units
        measure = Measure(function.__name__, axis, function, needs, two_layers)
        measure_doc = function.__doc__
        object.__setattr__(measure, "__doc__", measure_doc)
        MEASURES[measure.name] = measure
        return measure

    return register


def find(name: str) -> Measure:
    """Measure by name.

    Parameters
    ----------
    name
        A key of :data:`MEASURES`.

    Returns
    -------
    Measure
        A :class:`~tutelage.TutelageError` names the nearest measure if there is none of that name.
    """
    if name not in MEASURES:
        raise unknown("measure", name, MEASURES)
    return MEASURES[name]


def axis_shape(axis: Axis, teacher: Network | tuple[int, ...], students: Network | tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a measure's entries beyond the member axis, from the widths of teacher and students."""
    m = (teacher.widths if isinstance(teacher, Network) else teacher)[1:-1]
    n = (students.widths if isinstance(students, Network) else students)[1:-1]
    match axis:
        case "member":
            return ()
        case "layer":
            return (len(n),)
        case "teacher":
            return (sum(m),)
        case "unit":
            return (sum(n),)
        case "teacher_pair" | "unit_pair":
            columns = m if axis == "teacher_pair" else n
            return (columns[0], columns[0]) if len(columns) == 1 else (sum(a * a for a in columns),)
        case "pair":
            if len(m) != len(n):
                return sum(m), sum(n)
            return (m[0], n[0]) if len(m) == 1 else (sum(a * b for a, b in zip(m, n, strict=True)),)
