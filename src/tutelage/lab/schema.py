"""The JSON schema of experiment files (draft 2020-12), so that editors complete names and mark mistakes.

Everything in it comes from the recipes themselves: their fields, ranges and defaults, and their docstrings. The
schema knows no rule that ties two settings together (a step recorded beyond the last one passes), and in one point it
is stricter than the reader: a section names its kind even where the grid varies it.
"""

from typing import Any, get_args

from tutelage.lab.experiment import plain
from tutelage.lab.grid import settings_of
from tutelage.lab.teacher_student import Record, TeacherStudent
from tutelage.measures import MEASURES
from tutelage.settings import Recipe, Settings, first_paragraph, section_of
from tutelage.training import Noise, Training
from tutelage.training.losses import Loss
from tutelage.training.own_functions import Called

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Schema:
    """The schema of experiment files, with every kind that is registered now, plugins too."""
    sections = {name: _section(family) for name, family in sorted(_families(TeacherStudent).items())}
    varied = {
        "grid": "Lists of values by dotted name; every combination is an experiment.",
        "zip": "Lists of one length by dotted name, gone through side by side.",
    }
    lists = {word: {"$ref": "#/$defs/lists", "description": description} for word, description in varied.items()}
    return {
        "$schema": DRAFT,
        "title": "tutelage experiment",
        "description": first_paragraph(TeacherStudent),
        "type": "object",
        "properties": _table(TeacherStudent)["properties"] | lists,
        "additionalProperties": False,
        "if": {"anyOf": [{"required": ["grid"]}, {"required": ["zip"]}]},
        "else": {"$ref": "#/$defs/complete"},
        "$defs": sections | {"complete": _complete(TeacherStudent), "lists": _lists()},
    }


def _families(model: type[Settings]) -> dict[str, type[Recipe]]:
    """The families of recipes that settings hold, by the name of the section."""
    families: dict[str, type[Recipe]] = {}
    for name, field in model.model_fields.items():
        inner, _ = section_of(field.annotation)
        if inner is not None and issubclass(inner, Recipe):
            families[name] = inner
        elif inner is not None:
            families |= _families(inner)
    return families


def _section(family: type[Recipe]) -> Schema:
    """One of the kinds of a family, each with fields of its own."""
    kinds = [_table(kind) | {"required": ["kind"]} for _, kind in sorted(family.kinds.items())]
    return {"description": first_paragraph(family), "oneOf": kinds}


def _table(model: type[Settings]) -> Schema:
    """A table with the fields of a model; which of them must be there is said apart, since a grid may give them."""
    fields = {name: _field(model, name) for name in model.model_fields}
    if issubclass(model, Called):  # options may stand beside the name
        name = {"type": "string", "description": "Name of a registered function."}
        return {
            "type": "object",
            "description": first_paragraph(model),
            "properties": {"name": name},
            "required": ["name"],
        }
    return {
        "type": "object",
        "description": first_paragraph(model),
        "properties": fields,
        "additionalProperties": False,
    }


def _field(model: type[Settings], name: str) -> Schema:
    field = model.model_fields[name]
    inner, optional = section_of(field.annotation)
    if inner is not None:
        out: Schema = {"$ref": f"#/$defs/{name}"} if issubclass(inner, Recipe) else _table(inner)
        if optional:  # a name alone stands for a table, and a number for a noise
            numbers = [{"type": "number"}, {"type": "array", "items": {"type": "number"}}] if inner is Noise else []
            short = [{"type": "null"}, {"type": "string"}, *numbers]
            out = {"anyOf": [out, *short], "description": field.description}
    else:
        out = dict(model.model_json_schema()["properties"][name])
        out.pop("title", None)
        if (model, name) == (Record, "measures"):
            out |= {"items": {"enum": sorted(MEASURES)}, "minItems": 1, "uniqueItems": True}
        if (model, name) == (Training, "loss"):
            out = {"anyOf": [{"enum": [*get_args(Loss)]}, {"type": "string"}]}
        if out.get("type") == "array" and _takes_one(model, name):
            out = {"anyOf": [{"type": "integer", "minimum": 1}, out | {"minItems": 1}]}
        if field.description:
            out["description"] = field.description
    if not field.is_required():
        default = field.get_default(call_default_factory=True)
        out["default"] = plain(default) if isinstance(default, Settings) else default
        if isinstance(default, tuple):
            out["default"] = list(default)
    return out


def _takes_one(model: type[Settings], name: str) -> bool:
    """Whether a list may be given as one number: a validator that comes before the check makes it a list."""
    validators = model.__pydantic_decorators__.field_validators.values()
    return any(name in v.info.fields and v.info.mode == "before" for v in validators)


def _complete(model: type[Settings]) -> Schema:
    """What must be there in a file without a grid or zip: the required settings, kind by kind."""
    inner: Schema = {}
    for name, field in model.model_fields.items():
        held, optional = section_of(field.annotation)
        if optional:
            continue
        if held is not None and issubclass(held, Recipe):
            kinds = [(kind, _complete(recipe)) for kind, recipe in sorted(held.kinds.items())]
            rules = [_when(kind, needs) for kind, needs in kinds if needs]
            if rules:
                inner[name] = {"allOf": rules}
        elif held is not None and (needs := _complete(held)):
            inner[name] = needs
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    either: Schema = {"oneOf": [{"required": [length]} for length in ("steps", "epochs")]} if model is Training else {}
    return either | ({"required": required} if required else {}) | ({"properties": inner} if inner else {})


def _when(kind: str, needs: Schema) -> Schema:
    return {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": needs}


def _lists() -> Schema:
    """A table of lists, with every setting of every kind for a name and its values for entries."""
    entries: dict[str, list[Schema]] = {}
    for dotted, model, name in settings_of():
        entry = {key: value for key, value in _field(model, name).items() if key not in ("default", "description")}
        if entry not in entries.setdefault(dotted, []):
            entries[dotted].append(entry)
    return {
        "type": "object",
        "properties": {
            dotted: {"type": "array", "minItems": 1, "items": entry[0] if len(entry) == 1 else {"anyOf": entry}}
            for dotted, entry in entries.items()
        },
        "additionalProperties": False,
    }
