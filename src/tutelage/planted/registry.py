"""Which methods there are. Adding one adds a file to ``methods`` or to a plugin, and edits no other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from tutelage.errors import TutelageError, unknown
from tutelage.planted.view import SEES, Sees, StudentsView

Function = Callable[[StudentsView, Tensor], Any]


@dataclass(frozen=True)
class PlantedMethod:
    """A method that claims to find structure.

    Attributes
    ----------
    name
        Name for ``tutelage planted``.
    sees
        What it may look at, one of ``SEES``.
    function
        From the students and inputs [S, N, d] to a :class:`MethodAnswer`.
    first_layer
        Whether it is for the first hidden layer alone.
    """

    name: str
    sees: Sees
    function: Function = field(repr=False)
    first_layer: bool = False

    @property
    def built_in(self) -> bool:
        """Whether it is one of the package."""
        return self.function.__module__.startswith("tutelage.")

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.function.__doc__ or self.name).strip().splitlines()[0].rstrip(".")


METHODS: dict[str, PlantedMethod] = {}


def method(name: str, sees: Sees = "students", first_layer: bool = False) -> Callable[[Function], Function]:
    """Decorator that registers a function as a method to be scored.

    Parameters
    ----------
    name
        Name for ``tutelage planted``.
    sees
        What the method may look at: "students" alone, "twins" (other students of the same teachers), or the "teacher".
    first_layer
        Whether it is for the first hidden layer alone; deeper layers then get no score.

    Returns
    -------
    callable
        The decorator; it returns the function.

    Examples
    --------
    >>> from tutelage.planted import METHODS, MethodAnswer
    >>> @method("loudest-units")
    ... def loudest(students, inputs):
    ...     return MethodAnswer(ranking=students.activations(inputs).std(1))
    >>> METHODS.pop("loudest-units").sees
    'students'
    """
    if sees not in SEES:
        raise unknown("view of a method", sees, SEES)

    def register(function: Function) -> Function:
        known = METHODS.get(name)
        if known is not None and known.function.__module__ != function.__module__:
            raise TutelageError(f"there is a method '{name}' already: give the new one another name")
        METHODS[name] = PlantedMethod(name, sees, function, first_layer)
        return function

    return register


def find(name: str) -> PlantedMethod:
    """Method by name.

    Parameters
    ----------
    name
        A key of ``METHODS``.

    Returns
    -------
    PlantedMethod
        A :class:`~tutelage.TutelageError` names the nearest method if there is none of that name.
    """
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
