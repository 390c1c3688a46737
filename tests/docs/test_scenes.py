"""Pictures of the course: every scene that a page opens exists, has a picture, and plays without a message."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from tutelage_docs import scenes

from tutelage.studio.scenes.scene import find

DOCS = Path(__file__).parents[2] / "docs"
SCENES = scenes.read(DOCS)


def test_every_lesson_has_scenes_and_every_picture_is_one():
    lessons = sorted((DOCS / "course").glob("lesson_*.md"))
    assert len(lessons) == 5
    assert all(len(scenes.scenes_of(page.read_text())) >= 4 for page in lessons)
    assert {path.stem for path in (DOCS / "figures" / "course").glob("*.png")} == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_opens_a_preset_at_a_place_on_its_timeline(name):
    given = {key: values[0] for key, values in parse_qs(SCENES[name].removeprefix("#")).items()}
    scene = find(given["scene"])
    [preset] = [preset for preset in scene.presets if preset.name == given["preset"]]
    assert 0 <= int(given["tick"]) <= scene.ticks(scene.settings(**preset.settings))


def test_replays_on_the_site_are_small():
    sizes = {path.name: path.stat().st_size for path in (DOCS / "_static").glob("*.html")}
    assert sizes
    assert max(sizes.values()) < 700_000
