"""The base of every recipe: frozen, checked, the same in Python and in YAML."""

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    NonNegativeFloat,
    PositiveFloat,
    ValidationError,
    model_validator,
)

from tutelage.errors import TutelageError, unknown
from tutelage.printing import printable
from tutelage.settings_help import Documented, signature, with_parameters

_EACH = "one value per member"  # marks the type of settings that may be a list with one entry per member

ADDED = "left out of the hash at its default"
"""Marks the type of a setting that was added later, so that hashes of experiments without it stay as they were."""

PerMember = Annotated[float | tuple[float, ...], _EACH]
"""A number for all members, or one number per member."""

PerMemberNonNegative = Annotated[NonNegativeFloat | tuple[NonNegativeFloat, ...], _EACH]
"""The same, at least 0."""

PerMemberPositive = Annotated[PositiveFloat | tuple[PositiveFloat, ...], _EACH]
"""The same, above 0."""


def _listed_seeds(value: Any) -> Any:
    """A number of members stands for the seeds 0, 1, ...; a range for its entries."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise ValueError(f"at least one seed is needed, got {value}")
        return tuple(range(value))
    return tuple(value) if isinstance(value, range) else value


def check_seeds(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Seeds that are not negative; a negative one would be another seed of 64 bits without a sign."""
    if negative := [seed for seed in seeds if seed < 0]:
        raise ValueError(f"a seed must be at least 0, got {negative[0]}")
    return seeds


Seeds = Annotated[tuple[int, ...], BeforeValidator(_listed_seeds), AfterValidator(check_seeds)]
"""Seeds of the members: a number of members (seeds 0, 1, ...), a range or a list."""

_LONGEST = 1000  # letters of a sentence: what a user gave is cut short, a list of names never is


_OTHER_WORDS = {"lr": "learning_rate", "batch_size": "batch", "optimizer": "optimiser", "scheduler": "schedule"}
"""Words of other libraries for settings, for the hint of an error."""
_SHOWN = 12  # entries of a list that are written one by one


class _Long:
    """A long list as it is written: its first and last entries, and how many there are."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        first, second, *_, last = self.values
        return f"({first!r}, {second!r}, ..., {last!r}; {len(self.values)} values)"


class Settings(BaseModel, metaclass=Documented):
    """A frozen record of settings; a name it does not have, or a value out of range, raises a
    :class:`TutelageError`.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True, validate_default=True
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise TutelageError(_sentence(error, self._title())) from None
        except UnicodeEncodeError:
            raise TutelageError(
                f"a name or text in the {self._title()} contains an invalid Unicode surrogate: remove it"
            ) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        cls.__doc__ = with_parameters(cls)
        cls.__signature__ = signature(cls)

    def __str__(self) -> str:
        return repr(self)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The settings that differ from their defaults."""
        fields = type(self).model_fields
        for name, value in super().__repr_args__():
            if name not in fields or value != fields[name].get_default(call_default_factory=True):
                yield name, _Long(value) if isinstance(value, tuple) and len(value) > _SHOWN else value

    @model_validator(mode="before")
    @classmethod
    def _only_known_names(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for name, value in values.items():
                if name not in cls.model_fields:
                    known = _dotted(cls, name)
                    usual = _OTHER_WORDS.get(name) if isinstance(name, str) else None
                    if usual in cls.model_fields:
                        raise TutelageError(f"unknown setting of {cls._title()} '{name}'; did you mean '{usual}'?")
                    raise unknown(f"setting of {cls._title()}", _named(name), known)
                if _holds_truth(value) and not _takes(cls.model_fields[name].annotation, bool):
                    raise TutelageError(f"'{name}' in the {cls._title()} must not be a boolean, got {_shown(value)}")
        return values

    @model_validator(mode="after")
    def _only_numbers_of_64_bits(self) -> "Settings":
        for name in type(self).model_fields:
            value = getattr(self, name)
            for entry in value if isinstance(value, tuple) else (value,):
                if isinstance(entry, int) and not -(2**63) <= entry < 2**63:
                    raise TutelageError(f"'{name}' in the {self._title()} must lie between -2^63 and 2^63")
        return self

    @classmethod
    def _title(cls) -> str:
        field = cls.model_fields.get("kind")
        if field is not None and field.default:
            return str(field.default)
        stem = cls.__name__.removesuffix("Settings")
        return stem.lower() if stem == cls.__name__ else f"{stem.lower()} settings"


class Recipe(Settings):
    """Settings of one kind among several; subclasses register themselves under their ``kind``."""

    def reads(self) -> tuple[Path, ...]:
        """Files that are read; what they contain enters the hash of an experiment with this recipe."""
        return ()

    kind: str
    kinds: ClassVar[dict[str, type["Recipe"]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Recipe in cls.__bases__:
            cls.kinds = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        default = cls.model_fields["kind"].default
        if isinstance(default, str):
            if default in cls.kinds:
                raise TypeError(
                    f"two recipes of the kind '{default}': {cls.kinds[default].__name__} and {cls.__name__}"
                )
            cls.kinds[default] = cls

    @classmethod
    def parse(cls, values: Any) -> Any:
        """The recipe that ``{kind: ..., ...}`` names; the name of a kind alone stands for its defaults."""
        if isinstance(values, cls):
            return values
        if isinstance(values, str):
            values = {"kind": values}
        if not isinstance(values, dict) or "kind" not in values:
            raise TutelageError(
                f"'{cls.__name__.lower()}' must be a table with a kind (one of {', '.join(sorted(cls.kinds))})"
            )
        if not isinstance(values["kind"], str) or values["kind"] not in cls.kinds:
            raise unknown(f"kind of {cls.__name__.lower()}", _named(values["kind"]), cls.kinds)
        return cls.kinds[values["kind"]](**{str(name): value for name, value in values.items()})


def per_member_names(model: type[Settings]) -> list[str]:
    """Settings of a model that may have one value per member, by the type of the field."""
    return [name for name, field in model.model_fields.items() if _EACH in field.metadata]


def check_per_member(settings: Settings, members: int) -> None:
    """Raise an error where a list with one entry per member has another length, at any depth."""
    for name in per_member_names(type(settings)):
        per_member(getattr(settings, name), members, name)
    for _, inner in _inner(settings):
        check_per_member(inner, members)


def of_members(settings: Any, members: Sequence[int]) -> Any:
    """The same settings for some of the members: lists with one entry per member are cut, at any depth."""
    changed: dict[str, Any] = {name: of_members(inner, members) for name, inner in _inner(settings)}
    for name in per_member_names(type(settings)):
        if isinstance(value := getattr(settings, name), tuple):
            changed[name] = tuple(value[i] for i in members)
    return settings.model_copy(update=changed) if changed else settings


def of_all(several: Sequence[Any], members: Sequence[int]) -> Any:
    """Settings of stacks of so many members as those of one stack: what may differ from member to member is listed."""
    first = several[0]
    changed: dict[str, Any] = {name: of_all([getattr(s, name) for s in several], members) for name, _ in _inner(first)}
    for name in per_member_names(type(first)):
        each = [per_member(getattr(s, name), count, name) for s, count in zip(several, members, strict=True)]
        changed[name] = tuple(value for values in each for value in values)
    return first.model_copy(update=changed) if changed else first


def without_members(settings: Any) -> Any:
    """The same settings with 0 for whatever may differ from member to member."""
    changed: dict[str, Any] = {name: without_members(inner) for name, inner in _inner(settings)}
    changed |= dict.fromkeys(per_member_names(type(settings)), 0.0)
    return settings.model_copy(update=changed) if changed else settings


def _inner(settings: Settings) -> Iterator[tuple[str, Settings]]:
    return ((name, value) for name, value in settings if isinstance(value, Settings))


def per_member(value: PerMember, members: int, name: str) -> tuple[float, ...]:
    """One value per member: a number is repeated, a tuple must have one entry per member.

    >>> per_member(0.1, 3, "learning_rate")
    (0.1, 0.1, 0.1)
    """
    if isinstance(value, Sequence):
        if len(value) != members:
            raise TutelageError(
                f"'{name}' has {len(value)} entries for {members} members: give one number, or one per member"
            )
        return tuple(float(v) for v in value)
    return (float(value),) * members


def _dotted(model: type[Settings], name: Any) -> list[str]:
    """The settings of a model, those of its sections included where one has the very name: ``optimiser.momentum``."""
    inner = {field: part for field, info in model.model_fields.items() for part in _sections(info.annotation)}
    return [*model.model_fields, *(f"{field}.{name}" for field, part in inner.items() if name in part.model_fields)]


def _sections(annotation: Any) -> Iterator[type[Settings]]:
    """The settings classes among the parts of a type."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
    for part in get_args(annotation):
        yield from _sections(part)


def _holds_truth(value: Any) -> bool:
    return any(isinstance(entry, bool) for entry in (value if isinstance(value, list | tuple) else (value,)))


def section_of(annotation: Any) -> tuple[type[Settings] | None, bool]:
    """The settings class that a setting holds, None where it holds none, and whether it may be left empty."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    optional = len(parts) == 1 and len(get_args(annotation)) == 2
    inner = parts[0] if optional else annotation
    while get_origin(inner) is Annotated:
        inner = get_args(inner)[0]
    return (inner if isinstance(inner, type) and issubclass(inner, Settings) else None), optional


def first_paragraph(model: type[Settings]) -> str:
    """What settings say about themselves: the first paragraph of their docstring, in one line."""
    paragraph = inspect.cleandoc(model.__doc__ or model.__name__).split("\n\n")[0]
    return " ".join(paragraph.replace("``", "").split())


def _takes(annotation: Any, wanted: type) -> bool:
    """Whether a type is the wanted one or has it among its parts."""
    return annotation is wanted or any(_takes(part, wanted) for part in get_args(annotation))


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
        return one_line(text if not first["loc"] else f"'{where}': {text}")
    return one_line(f"'{where}' in the {title}: {text[0].lower()}{text[1:]}, not {_shown(first['input'])}")


def one_line(text: str, most: int = _LONGEST) -> str:
    r"""Text as one line of letters that can be printed, not too long: what a user gave may hold anything.

    >>> print(one_line("two\nlines"))
    two\nlines
    """
    return _cut(printable(text).replace("\n", "\\n").replace("\t", "\\t"), most)


def _shown(value: Any) -> str:
    """A value as Python writes it, cut short where it is long; its type where it cannot be written."""
    try:
        return _cut(repr(value))
    except (ValueError, RecursionError):  # a whole number of thousands of digits, a list inside itself
        return f"this {type(value).__name__}"


def _named(name: Any) -> str:
    return one_line(_cut(name)) if isinstance(name, str) else _shown(name)


def _cut(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
