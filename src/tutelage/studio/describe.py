"""Scenes as plain data: what the page needs to build their controls."""

from pathlib import Path
from typing import Any, get_args

from tutelage.settings import Settings
from tutelage.studio.scenes.scene import SCENES, Scene, find


def described(results: Path | None) -> list[dict[str, Any]]:
    """Title, presets and settings of every scene."""
    find("specialisation")
    return [_scene(scene) for name, scene in SCENES.items() if name != "results" or results is not None]


def _scene(scene: Scene[Any, Any]) -> dict[str, Any]:
    presets = [
        {"name": p.name, "title": p.title, "look": p.look, "source": p.source, "settings": p.settings}
        for p in scene.presets
    ]
    return {
        "name": scene.name,
        "title": scene.title,
        "about": scene.about,
        "clock": scene.clock,
        "plays": getattr(scene, "plays", True),
        "presets": presets,
        "fields": fields(scene.settings),
    }


def fields(model: type[Settings]) -> list[dict[str, Any]]:
    """Every setting with its label, bounds, choices, default and help."""
    schema = model.model_json_schema()
    out = []
    for name, field in model.model_fields.items():
        extra: Any = field.json_schema_extra or {}
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
                "choices": choices or list(get_args(None)),
                "min": about.get("minimum", about.get("exclusiveMinimum")),
                "max": about.get("maximum"),
                "step": extra.get("step", 1 if number == "integer" else None),
                "default": field.default,
            }
        )
    return out
