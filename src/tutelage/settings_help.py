"""What ``help`` shows of settings: their names, types, defaults and meaning, and none of the machinery of pydantic."""

import inspect
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # pydantic does not export its metaclass


class Documented(ModelMetaclass):
    """Lists only what tutelage defines: ``help``, completion and Sphinx then show no machinery of pydantic."""

    def __dir__(cls) -> list[str]:
        ours = [
            part for part in cls.__mro__ if part.__module__.partition(".")[0] not in ("pydantic", "abc", "builtins")
        ]
        return sorted({name for part in ours for name in vars(part) if not name.startswith(("_", "model_"))})


def with_parameters(model: type[BaseModel]) -> str:
    """The docstring of settings with one entry per setting: its type, its default and its meaning.

    A docstring that has such a section already stays as it is. Examples stay at the end.
    """
    text = inspect.cleandoc(model.__doc__ or model.__name__)
    fields = {name: field for name, field in model.model_fields.items() if name != "kind"}
    if not fields or "Parameters\n---" in text:
        return text
    lines = ["Parameters", "----------"]
    for name, field in fields.items():
        default = "" if field.is_required() else f", default {_default(field)!r}"
        lines.append(f"{name} : {_type_name(field.annotation)}{default}")
        lines += [f"    {field.description}"] if field.description else []
    head, mark, examples = text.partition("\n>>> ")
    tail = f"\n\nExamples\n--------\n>>> {examples}" if mark else ""
    return f"{head.rstrip()}\n\n" + "\n".join(lines) + tail


def _type_name(annotation: Any) -> str:
    """A type as a user says it: "int", "float or tuple", '"a" or "b"'."""
    if annotation is None or annotation is type(None):
        return "None"
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_name(parts[0])
    if origin is Literal:
        return " or ".join(repr(part) for part in parts)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type_name(part) for part in parts))
    named = origin or annotation
    return getattr(named, "__name__", str(named))


def signature(model: type[BaseModel]) -> inspect.Signature:
    """Settings by name with their defaults, required ones first; types are in the docstring."""
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, kind, default=_default(field)) for name, field in fields if name != "kind"]
    )


def _default(field: FieldInfo) -> Any:
    return inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
