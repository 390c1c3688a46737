"""The base of every recipe: frozen, checked, the same in Python and in YAML."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from tutelage.errors import Refusal, unknown

PerMember = float | tuple[float, ...]
"""A number for all members, or one number a member."""


class Settings(BaseModel):
    """A frozen record of settings; a name it does not have, or a value out of range, is refused with a sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise Refusal(_sentence(error, self._title())) from None

    @model_validator(mode="before")
    @classmethod
    def _only_known_names(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for name in values:
                if name not in cls.model_fields:
                    raise unknown(f"setting of '{cls._title()}'", name, cls.model_fields)
        return values

    @classmethod
    def _title(cls) -> str:
        field = cls.model_fields.get("kind")
        return str(field.default) if field is not None and field.default else cls.__name__.lower()


class Recipe(Settings):
    """Settings of one kind among several; subclasses register themselves under their ``kind``."""

    kind: str
    kinds: ClassVar[dict[str, type["Recipe"]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Recipe in cls.__bases__:
            cls.kinds = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        default = cls.model_fields["kind"].default
        if isinstance(default, str):
            if default in cls.kinds:
                raise TypeError(
                    f"two recipes of the kind '{default}': {cls.kinds[default].__name__} and {cls.__name__}"
                )
            cls.kinds[default] = cls

    @classmethod
    def parse(cls, values: Any) -> Any:
        """The recipe that ``{kind: ..., ...}`` names."""
        if isinstance(values, cls):
            return values
        if not isinstance(values, dict) or "kind" not in values:
            raise Refusal(
                f"'{cls.__name__.lower()}' must be a table with a kind (one of {', '.join(sorted(cls.kinds))})"
            )
        if not isinstance(values["kind"], str) or values["kind"] not in cls.kinds:
            raise unknown(f"kind of {cls.__name__.lower()}", values["kind"], cls.kinds)
        return cls.kinds[values["kind"]](**{str(name): value for name, value in values.items()})


def per_member(value: PerMember, members: int, name: str) -> tuple[float, ...]:
    """One value a member: a number is repeated, a tuple must have one entry a member.

    >>> per_member(0.1, 3, "learning_rate")
    (0.1, 0.1, 0.1)
    """
    if isinstance(value, Sequence):
        if len(value) != members:
            raise Refusal(f"'{name}' has {len(value)} entries for {members} members: give one number or one a member")
        return tuple(float(v) for v in value)
    return (float(value),) * members


def _sentence(error: ValidationError, title: str) -> str:
    """The first thing wrong, in one sentence that names the field."""
    # of the branches of a union, the one that came furthest says best what is wrong
    first = max(error.errors(include_url=False), key=lambda e: len(e["loc"]))
    # the branches of a union ("constrained-float") stand in the path beside the names of fields: leave them out
    path = [str(part) for part in first["loc"] if isinstance(part, int) or str(part).isidentifier()]
    where = ".".join(part for part in path if part not in ("float", "int", "tuple")) or title
    text = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        return f"'{where}' is missing in the {title}"
    if first["type"] == "value_error":
        return text if not first["loc"] else f"'{where}': {text}"
    return f"'{where}' in the {title}: {text[0].lower()}{text[1:]}, not {first['input']!r}"
