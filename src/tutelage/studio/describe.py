"""Scenes as plain data: what the page needs to build their controls."""

from pathlib import Path
from typing import Any

from tutelage.settings import Settings
from tutelage.studio.scenes.scene import SCENES, StudioScene, find


def _still(name: str, title: str, about: str) -> dict[str, Any]:
    """A scene without a timeline."""
    none: dict[str, Any] = {"clock": "", "unit": "", "plays": False, "forms": [], "presets": [], "fields": []}
    return {"name": name, "title": title, "about": about} | none


COMPARE = _still(
    "compare", "Compare", "Drop two network files: are they the same function, and if not, where do they differ?"
)
RESULTS = _still(
    "results",
    "Results",
    "All members of a folder of results: keep a range of an axis, compare two measures, read a student's story.",
)


def described(results: Path | None) -> list[dict[str, Any]]:
    """Title, presets and settings of every scene."""
    find("specialisation")
    timed = [_scene(scene) for scene in sorted(SCENES.values(), key=lambda scene: scene.order)]
    return [*timed, COMPARE, *([RESULTS] if results is not None else [])]


def _scene(scene: StudioScene[Any, Any]) -> dict[str, Any]:
    presets = [
        {"name": p.name, "title": p.title, "look": p.look, "source": p.source, "settings": p.settings}
        for p in scene.presets
    ]
    return {
        "name": scene.name,
        "title": scene.title,
        "about": scene.about,
        "clock": scene.clock,
        "unit": scene.unit,
        "pace": scene.pace,
        "forms": scene.forms,
        "plays": True,
        "presets": presets,
        "fields": fields(scene.settings),
    }


def fields(model: type[Settings]) -> list[dict[str, Any]]:
    """Every setting with its label, bounds, choices, default and help, and the given places that it replaces."""
    schema = model.model_json_schema()
    extras: dict[str, Any] = {n: f.json_schema_extra or {} for n, f in model.model_fields.items()}
    out = []
    for name, field in model.model_fields.items():
        extra = extras[name]
        about = schema["properties"][name]
        choices = about.get("enum")
        if extra.get("hidden"):
            continue
        number = "integer" if about.get("type") == "integer" else "number"
        out.append(
            {
                "name": name,
                "label": extra.get("label", name.replace("_", " ")),
                "help": (field.description or "").strip(),
                "group": extra.get("group", ""),
                "live": bool(extra.get("live")),
                "type": "choice" if choices else "boolean" if about.get("type") == "boolean" else number,
                "choices": choices or [],
                "min": about.get("minimum", about.get("exclusiveMinimum")),
                "max": about.get("maximum", about.get("exclusiveMaximum")),
                "open": ["exclusiveMinimum" in about, "exclusiveMaximum" in about],
                "step": extra.get("step", 1 if number == "integer" else None),
                "default": field.default,
                "drops": [n for n, e in extras.items() if name in e.get("instead_of", ())],
            }
        )
    return out
