"""Functions of a user that settings name: registered once, called with the options that stand beside the name.

Rules, gradients, losses and curricula are such functions. YAML names them, Python may hand over the function itself.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import Field, FiniteFloat, model_validator

from tutelage.errors import TutelageError, unknown
from tutelage.settings import Settings

Function = Callable[..., Any]


@dataclass(frozen=True)
class OwnFunction:
    """A registered function and its name."""

    name: str
    function: Function = field(repr=False)


class OwnFunctions(dict[str, Any]):
    """Registered functions of one kind, by name; ``word`` says what they are in messages."""

    def __init__(self, word: str, kind: type[OwnFunction]) -> None:
        super().__init__()
        self.word, self.kind = word, kind

    def register(self, function: Function, **more: Any) -> Function:
        """Register a function under its own name; one of another module is not replaced."""
        name = function.__name__
        known = self.get(name)
        if known is not None and known.function.__module__ != function.__module__:
            raise TutelageError(f"there is a {self.word} '{name}' already: give the new one another name")
        self[name] = self.kind(name, function, **more)
        return function

    def named(self, value: Any) -> Any:
        """The name of a function, which is registered where it is not; anything else as it is."""
        if not callable(value):
            return value
        known = self.get(getattr(value, "__name__", ""))
        if known is None or known.function is not value:
            self.register(value)
        return value.__name__

    def known(self, name: str) -> str:
        """A name that is registered; an error with the nearest one otherwise."""
        if name not in self:
            raise unknown(self.word, name, self)
        return name

    def check_options(self, name: str, options: dict[str, float]) -> None:
        """Raise an error for an option that the function does not take by name."""
        given = inspect.signature(self[name].function).parameters.values()
        taken = [p.name for p in given if p.kind is inspect.Parameter.KEYWORD_ONLY]
        anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in given)
        for option in options:
            if option not in taken and not anything:
                raise unknown(f"option of the {self.word} '{name}'", option, taken)


class Called(Settings):
    """The name of a registered function and its options; a function, a name or a table in settings make one."""

    functions: ClassVar[OwnFunctions]

    name: str
    """Name of a registered function."""
    options: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Options that are passed to the function."""

    @model_validator(mode="before")
    @classmethod
    def _from_function_name_or_table(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return {"name": cls.functions.named(values)}
        name = cls.functions.named(values.get("name"))
        options = values.get("options") or {
            key: value for key, value in values.items() if key not in ("name", "options")
        }
        return {"name": name, "options": options}

    @model_validator(mode="after")
    def _takes_its_options(self) -> "Called":
        self.functions.check_options(self.functions.known(self.name), self.options)
        return self

    def uses(self) -> tuple[Any, ...]:
        """The function, whose plugin enters the hash."""
        return (self.functions[self.name],)

    @property
    def function(self) -> Function:
        return self.functions[self.name].function
