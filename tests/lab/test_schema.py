"""The schema for editors: what the reader takes it takes, and misspelt names it does not."""

import json
from pathlib import Path

import pytest
import yaml

from tutelage.lab import TeacherStudent
from tutelage.lab.experiment import plain
from tutelage.lab.grid import settings_of
from tutelage.lab.schema import schema
from tutelage.studies import STUDIES
from tutelage.studies.study import SCALES

ROOT = Path(__file__).parents[2]
SCHEMA = schema()
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def fits(value, rule, whole=SCHEMA):
    """Whether a value fits a schema: the keywords that ours uses, and no others."""
    checks = {key: CHECKS[key] for key in rule if key not in ("description", "default", "title", "$schema", "$defs")}
    return all(check(value, rule, whole) for check in checks.values())


def of_type(value, rule, whole):
    if rule["type"] in ("integer", "number"):
        number = isinstance(value, int) or (rule["type"] == "number" and isinstance(value, float))
        return number and not isinstance(value, bool)
    return isinstance(value, TYPES[rule["type"]])


def reference(value, rule, whole):
    return fits(value, whole["$defs"][rule["$ref"].removeprefix("#/$defs/")], whole)


def conditional(value, rule, whole):
    branch = "then" if fits(value, rule["if"], whole) else "else"
    return branch not in rule or fits(value, rule[branch], whole)


def number(compare):
    return lambda value, rule, whole: not isinstance(value, int | float) or compare(value, rule)


CHECKS = {
    "type": of_type,
    "$ref": reference,
    "if": conditional,
    "then": lambda value, rule, whole: True,
    "else": lambda value, rule, whole: True,
    "const": lambda value, rule, whole: value == rule["const"],
    "enum": lambda value, rule, whole: value in rule["enum"],
    "minimum": number(lambda value, rule: value >= rule["minimum"]),
    "maximum": number(lambda value, rule: value <= rule["maximum"]),
    "exclusiveMinimum": number(lambda value, rule: value > rule["exclusiveMinimum"]),
    "exclusiveMaximum": number(lambda value, rule: value < rule["exclusiveMaximum"]),
    "minItems": lambda value, rule, whole: not isinstance(value, list) or len(value) >= rule["minItems"],
    "uniqueItems": lambda value, rule, whole: not isinstance(value, list) or len(set(value)) == len(value),
    "items": lambda value, rule, whole: (
        not isinstance(value, list) or all(fits(v, rule["items"], whole) for v in value)
    ),
    "required": lambda value, rule, whole: not isinstance(value, dict) or set(rule["required"]) <= set(value),
    "properties": lambda value, rule, whole: (
        not isinstance(value, dict)
        or all(fits(v, rule["properties"][k], whole) for k, v in value.items() if k in rule["properties"])
    ),
    "additionalProperties": lambda value, rule, whole: (
        not isinstance(value, dict) or set(value) <= set(rule["properties"])
    ),
    "anyOf": lambda value, rule, whole: any(fits(value, part, whole) for part in rule["anyOf"]),
    "allOf": lambda value, rule, whole: all(fits(value, part, whole) for part in rule["allOf"]),
    "oneOf": lambda value, rule, whole: sum(fits(value, part, whole) for part in rule["oneOf"]) == 1,
}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_example_fits(path):
    assert fits(yaml.safe_load(path.read_text()), SCHEMA)


def trained(name, scale):
    """The experiments of a study that train students."""
    return [e for e in STUDIES[name].plan(scale).experiments if isinstance(e, TeacherStudent)]


@pytest.mark.parametrize("name", sorted(name for name in STUDIES if trained(name, "smoke")))
def test_every_experiment_of_every_study_fits(name):
    experiments = [experiment for scale in SCALES for experiment in trained(name, scale)]
    assert len(experiments) >= len(SCALES)
    assert all(fits(plain(experiment), SCHEMA) for experiment in experiments)


@pytest.mark.parametrize(
    "change",
    [
        {"seeds": [3, 4]},
        {"teacher": {"hidden": [4, 3], "polarity": [0, 1, 2]}},
        {"training": {"batch": "all", "schedule": {"kind": "drops", "at": [3]}}},
        {"grid": {"student.width_factor": [1, 2.5], "inputs": [{"kind": "sphere"}]}, "zip": {"seeds": [1, [2, 3]]}},
    ],
)
def test_what_the_reader_takes_fits(values, change):
    assert fits(values(**change), SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"sedes": 3},
        {"seeds": 0},
        {"seeds": []},
        {"seeds": None},
        {"teacher": {"hiden": 3}},
        {"teacher": {"hidden": 0}},
        {"teacher": {"kind": "level"}},
        {"teacher": {"bias": "mean"}},
        {"student": {"width_factor": 0.5}},
        {"student": {"width_factor": True}},
        {"student": {"kind": "uniform-fan-in"}},  # which has no scale
        {"inputs": {"slope": 1}},
        {"inputs": 3},
        {"training": {"learning_rate": -1}},
        {"training": {"learning_rate": "fast"}},
        {"training": {"schedule": {"kind": "drops"}}},
        {"record": {"measures": ["rho_meen"]}},
        {"record": {"measures": []}},
        {"precision": "float16"},
        {"grid": {"student.width_facto": [1]}},
        {"grid": {"student.width_factor": 1}},
        {"grid": {"student.width_factor": []}},
        {"zip": {"student.width_factor": ["two"]}},
        {"grid": [1]},
    ],
)
def test_misspelt_names_and_wrong_values_do_not_fit(values, change):
    assert fits(values(), SCHEMA)
    assert not fits(values(**change), SCHEMA)


@pytest.mark.parametrize("name", ["teacher", "student", "inputs", "training", "seeds"])
def test_a_missing_section_does_not_fit_unless_a_grid_may_give_it(values, name):
    settings = values()
    del settings[name]
    assert not fits(settings, SCHEMA)
    assert fits(settings | {"grid": {"record.every": [1]}}, SCHEMA)


def test_a_missing_required_setting_does_not_fit_unless_a_grid_may_give_it(values):
    settings = values()
    settings["training"] = {"batch": 3}
    assert not fits(settings, SCHEMA)
    assert fits(settings | {"grid": {"training.steps": [1]}}, SCHEMA)
    settings["training"] = {"epochs": 3}
    assert fits(settings, SCHEMA)
    settings["training"] |= {"steps": 3}
    assert not fits(settings, SCHEMA)


def test_the_schema_is_json_and_comes_out_the_same_each_time():
    assert json.dumps(schema()) == json.dumps(schema())
    assert SCHEMA["$schema"].endswith("2020-12/schema")


def test_defaults_ranges_and_descriptions_come_from_the_recipes():
    (levels,) = [k for k in SCHEMA["$defs"]["teacher"]["oneOf"] if k["properties"]["kind"]["const"] == "levels"]
    assert levels["description"].startswith("Entries drawn from a few levels")
    assert levels["properties"]["output_bias"]["default"] == -0.1
    assert levels["properties"]["slope"]["exclusiveMaximum"] == 1
    distributions = SCHEMA["$defs"]["inputs"]["oneOf"]
    assert all(
        "One set of points for all members" in distribution["properties"]["shared"]["description"]
        for distribution in distributions
    )


def test_grid_and_zip_know_every_setting():
    assert set(schema()["$defs"]["lists"]["properties"]) == {dotted for dotted, _, _ in settings_of(TeacherStudent)}


def test_every_reference_is_defined():
    """Optional sections, such as a stopping rule, are written out like the others."""
    met = set()

    def walk(rule):
        if isinstance(rule, dict):
            met.update({rule["$ref"]} if isinstance(rule.get("$ref"), str) else ())
            for value in rule.values():
                walk(value)
        elif isinstance(rule, list):
            for value in rule:
                walk(value)

    walk(SCHEMA)
    assert {"#/$defs/stop", "#/$defs/label_noise"} <= met <= {f"#/$defs/{name}" for name in SCHEMA["$defs"]}


@pytest.mark.parametrize(
    ("training", "taken"),
    [
        ({"stop": {"kind": "loss-below", "threshold": 1}}, True),
        ({"stop": {"kind": "loss-below", "treshold": 1}}, False),
        ({"label_noise": 0.1}, True),
        ({"label_noise": {"kind": "flips", "share": 0.1}}, True),
        ({"label_noise": {"kind": "flip", "share": 0.1}}, False),
        ({"gradient": "natural"}, True),
        ({"gradient": {"name": "natural", "options": {"damping": 0.1}}}, True),
    ],
)
def test_optional_sections(training, taken):
    rule = SCHEMA["properties"]["training"]
    assert fits({"steps": 3, **training}, rule) == taken
