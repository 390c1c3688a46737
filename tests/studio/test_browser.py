"""The live page in a real browser: every scene plays, pauses, rewinds, branches, and survives a reload."""

import json
from urllib.parse import parse_qs

import pytest

from tutelage.studio.course import Course

SMALL = {
    "specialisation": {"units": 4, "members": 4, "dimension": 6, "outputs": 3, "train": 100, "steps": 4000},
    "flow": {"teachers": 3, "students": 4},
    "margins": {"count": 8, "units": 8},
    "distillation": {"dimension": 20, "members": 8},
    "folds": {"units": 4},
}


def fragment(tab):
    """The state in the address."""
    state = {name: values[0] for name, values in parse_qs(tab.eval("location.hash.slice(1)")).items()}
    return {n: json.loads(v) if n in ("settings", "events", "look", "tick") else v for n, v in state.items()}


@pytest.mark.parametrize("scene", SMALL)
def test_a_scene_plays_pauses_and_rewinds_to_the_same_bytes(tab, scene):
    tab.open(scene, SMALL[scene])
    assert tab.tick == 0
    tab.page.keyboard.press("Space")
    tab.until("studio.playing && studio.frame.tick > 5")
    tab.page.keyboard.press("Space")
    tab.until("!studio.playing")
    last = tab.tick
    seen = tab.at(last)
    tab.page.click("#back")
    before = tab.at(last - 1)
    tab.page.keyboard.press("Home")
    tab.at(0)
    tab.eval(f"studio.source().send({{do: 'seek', tick: {last - 1}}})")
    assert tab.at(last - 1) == before
    tab.page.click("#forward")
    assert tab.at(last) == seen
    course = Course(scene, SMALL[scene])
    course.seek(last)
    assert course.frame() == seen


@pytest.mark.parametrize("scene", SMALL)
def test_a_reload_shows_the_same(tab, scene):
    tab.open(scene, SMALL[scene], tick=7)
    seen = tab.at(7)
    tab.page.keyboard.press("ArrowRight")
    moved = tab.at(8)
    tab.until("location.hash.includes('tick=8')")
    tab.page.reload()
    tab.ready(scene)
    assert tab.at(8) == moved != seen


def test_the_timeline_branches(tab):
    tab.open("specialisation", SMALL["specialisation"])
    tab.page.locator("#timeline").fill("40")
    unchanged = tab.at(40)
    tab.page.locator("#timeline").fill("20")
    tab.at(20)
    rate = tab.page.locator("[name=learning_rate]")
    rate.fill("0.2")
    rate.press("Enter")
    tab.until("studio.state.events.length === 1")
    assert tab.page.locator("#events i").count() == 1
    tab.page.locator("#timeline").fill("40")
    branched = tab.at(40)
    assert branched != unchanged
    assert fragment(tab)["events"] == [[20, {"learning_rate": 0.2}]]
    tab.until("location.hash.includes('tick=40')")
    tab.page.reload()
    tab.ready("specialisation")
    assert tab.at(40) == branched


def test_other_settings_start_again(tab):
    tab.open("specialisation", SMALL["specialisation"], tick=10)
    tab.at(10)
    tab.page.locator("[name=units]").fill("5")
    tab.page.locator("[name=units]").press("Enter")
    tab.until("studio.state.settings.units === 5 && studio.frame.tick === 0")
    assert fragment(tab)["settings"]["units"] == 5


def test_a_unit_has_a_story(tab):
    tab.open("specialisation", SMALL["specialisation"], tick=100)
    tab.page.keyboard.press("u")
    tab.page.keyboard.press("m")
    tab.until("document.querySelector('.story h2').textContent.includes('of student 1')")
    assert tab.page.locator(".story details").count() == 3
    assert tab.page.locator(".story .words p").count() >= 1
    assert fragment(tab)["look"] == {"member": 1, "unit": 0}
    box = tab.page.locator("#view-map canvas").bounding_box()
    tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    tab.until("studio.look.unit !== 0")
    tab.page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
    assert "correlation" in tab.page.locator("#view-map .tip").inner_text()


def test_a_student_unit_is_dragged(tab):
    tab.open("flow", SMALL["flow"] | {"student_at": [[0.5, 0.5], [-1, 0.3]]})
    place = "(([x, y]) => [studio.page.views[0].scale.x(x), studio.page.views[0].scale.y(y)])"
    box = tab.page.locator("#view-weights canvas").bounding_box()

    def at(x, y):
        px, py = tab.eval(f"{place}([{x}, {y}])")
        return box["x"] + px, box["y"] + py

    tab.page.mouse.move(*at(-1, 0.3))
    tab.page.mouse.down()
    tab.page.mouse.move(*at(1, 1), steps=4)
    tab.page.mouse.up()
    tab.until("studio.state.events.length === 1")
    [[tick, change]] = fragment(tab)["events"]
    assert (tick, change["student"]) == (0, 1)
    assert abs(change["to"][0] - 1) < 0.03
    assert abs(change["to"][1] - 1) < 0.03
    tab.page.click("#basins")
    tab.until("studio.page.views[0].basins")


def test_a_point_is_dragged(tab):
    points = [[1.0, 1.0, 1], [0.5, 1.5, 1], [-1.0, -1.0, -1]]
    tab.open("margins", SMALL["margins"] | {"points": points}, tick=20)
    box = tab.page.locator("#view-points canvas").bounding_box()
    px, py = tab.eval("[studio.page.views[0].scale.x(1), studio.page.views[0].scale.y(1)]")
    tab.page.mouse.move(box["x"] + px, box["y"] + py)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + px - 60, box["y"] + py, steps=5)
    tab.page.mouse.up()
    tab.until("studio.state && studio.state.settings.points && studio.state.settings.points[0][0] < 0.9")
    tab.until("studio.frame.tick === 20")
    assert fragment(tab)["settings"]["points"][1] == points[1]


def test_permuting_and_rescaling_keep_the_function(tab):
    tab.open("folds", SMALL["folds"])
    first, regions = tab.eval("[studio.frame.words.fingerprint, studio.frame.words.regions]")
    for i, name in enumerate(("Permute units", "Rescale units"), start=1):
        tab.page.get_by_role("button", name=name, exact=True).click()
        tab.until(f"studio.state.events.length === {i}")
        assert tab.eval("[studio.frame.words.fingerprint, studio.frame.words.regions]") == [first, regions]
    tab.page.click("text=Copy the chosen unit")
    tab.until("studio.frame.words.redundant.some((line) => line.includes('positive multiple'))")
    assert tab.eval("studio.frame.words.fingerprint") != first


def test_bad_input_is_answered_and_nothing_breaks(tab):
    tab.open("specialisation", SMALL["specialisation"])
    tab.page.locator("[name=units]").fill("10000")
    tab.page.locator("[name=units]").press("Enter")
    tab.message("200")
    tab.page.locator("[name=learning_rate]").fill("")
    tab.page.locator("[name=learning_rate]").press("Enter")
    tab.message("number")
    tab.open("specialisation", SMALL["specialisation"] | {"learning_rate": 5})
    tab.page.keyboard.press("End")
    tab.message("diverged")
    for link in (
        "#scene=nowhere&settings={&tick=x",
        "#scene=specialisation&events=3",
        "#scene=specialisation&settings=[1]",
    ):
        tab.page.goto("about:blank")
        tab.page.goto(tab.studio.address(link))
        tab.ready("specialisation")
    tab.page.keyboard.press("ArrowRight")
    tab.at(1)


def test_a_lost_connection_comes_back_to_the_same_state(tab):
    tab.open("specialisation", SMALL["specialisation"], tick=12)
    seen = tab.at(12)
    tab.eval("studio.frame = null, studio.source().socket.close()")
    tab.until("studio.frame && studio.frame.tick === 12")
    assert tab.frame() == seen


def test_everything_is_done_by_keyboard(tab):
    tab.open("specialisation", SMALL["specialisation"])
    press = tab.page.keyboard.press
    press("ArrowRight")
    tab.at(1)
    press("Shift+ArrowRight")
    tab.at(11)
    press("ArrowLeft")
    tab.at(10)
    press("End")
    tab.at(200)
    press("Home")
    tab.at(0)
    press("?")
    assert tab.eval("document.getElementById('helper').open")
    press("Escape")
    assert not tab.eval("document.getElementById('helper').open")
    press("t")
    assert tab.eval("document.documentElement.dataset.theme") == "dark"
    press("5")
    tab.ready("folds")
    press("1")
    tab.ready("specialisation")
    names = set()
    for _ in range(60):
        press("Tab")
        names.add(
            tab.eval("document.activeElement.id || document.activeElement.name || document.activeElement.tagName")
        )
    assert {
        "save",
        "theme",
        "help",
        "preset",
        "field-units",
        "field-learning_rate",
        "play",
        "speed",
        "timeline",
    } <= names
    tab.page.focus("#save")
    press("Enter")
    press("ArrowDown")
    assert tab.eval("document.activeElement.dataset.form") == "yaml"
    press("Escape")
    assert tab.eval("document.activeElement.id") == "save"


def test_every_preset_opens_by_its_name(tab):
    tab.open("flow")
    for preset in tab.eval("studio.scene.presets.map((p) => p.name)"):
        tab.page.select_option("#preset", preset)
        tab.until(f"location.hash.includes('preset={preset}') && studio.state")
        assert tab.page.locator("#look").inner_text().endswith(".")


def test_a_number_of_units_replaces_places_that_were_given(tab):
    saddle = {"teachers": 2, "students": 2, "teacher_at": [[1, 0], [0, 1]], "student_at": [[0.3, 0.3], [0.3, 0.3]]}
    tab.open("flow", saddle)
    assert tab.page.locator("[name=teachers]").input_value() == "2"
    field = tab.page.locator("[name=teachers]")
    field.fill("5")
    field.press("Enter")
    tab.until("studio.frame.arrays.teacher.shape[0] === 5")
    tab.until("!location.hash.includes('teacher_at') && location.hash.includes('student_at')")


def test_a_wrong_number_leaves_the_scene_as_it_was(tab):
    tab.open("folds", SMALL["folds"])
    field = tab.page.locator("[name=units]")
    field.fill("")
    field.press("Enter")
    tab.message("'units' in the fold settings")
    tab.page.click("#forward")
    tab.at(1)
    assert field.input_value() == "4"
