"""The playground in a real browser: the numbers of Python, every scene, tours, one's own target, hostile addresses."""

import json
import re

import numpy as np
import pytest

from tutelage.studio.course import Course
from tutelage.studio.describe import described
from tutelage.studio.offline import ENGINE, playground, program, write_playground
from tutelage.studio.scenes._students import StudentsSettings, World
from tutelage.studio.scenes.scene import SCENES, find

find("specialisation")
PRESETS = [(name, preset.name) for name, scene in SCENES.items() for preset in scene.presets]
SMALL = {"steps": 1000, "every": 100, "members": 4, "train": 400, "evaluate": 64}
"""Of the scene Specialisation, whose presets train for long."""
ABOUT = {scene["name"]: scene for scene in described(None)}
JUDGED = {  # what a scene certifies, by the words of its frame
    "flow": lambda c, words: {"loss": c.scene.mark(c.settings, c.state, c.tick)["loss"][0], **_numbers(words)},
    "margins": lambda c, words: {"vectors": None if c.state.vectors is None else _vectors(c.state.vectors)},
    "distillation": lambda c, words: {"risk": c.state.risks[0].item(), "bound": c.state.bound},
    "folds": lambda c, words: {"distance": c.scene.mark(c.settings, c.state, c.tick)["distance"][0]},
}


def _numbers(words):
    return {name: words[name] for name in ("gradient", "least", "largest")}


def _vectors(vectors):
    return [*vectors.positive.w[0].tolist(), *vectors.negative.w[0].tolist()]


def settings_of(scene, preset):
    given = next(p.settings for p in SCENES[scene].presets if p.name == preset)
    if scene != "specialisation":
        return given
    return given | SMALL | {"members": min(4, given.get("members", 16))}


@pytest.fixture(scope="module")
def engine(browser):
    """The engine in a page of its own, as a function from an expression to its value."""
    page = browser.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=program())
    page.evaluate("(about) => { window.about = about; }", ABOUT)
    yield page.evaluate
    page.close()


COURSE = """([scene, settings, ticks]) => {
    const course = new modules.course.Course(about[scene], settings), moments = [];
    for (const tick of ticks) {
        course.seek(tick);
        const { arrays, words, time } = course.frame(), plain = {};
        for (const [name, { values, shape }] of Object.entries(arrays))
            plain[name] = [Array.from(values, (v) => Number.isFinite(v) ? v : null), shape];
        moments.push({ arrays: plain, words, time });
    }
    return moments;
}"""


def as_array(given):
    values, shape = given
    return np.array([np.nan if v is None else v for v in values]).reshape(shape)


def test_draws_have_the_bits_of_python(engine):
    from tutelage import draws

    for seed, stream in ((0, "train"), (7, "student-1"), (2**53 - 1, "teacher-1-0")):
        key = draws.keys([seed], stream)
        at = f"modules.draws.key({seed}, {json.dumps(stream)})"
        assert engine(f"Array.from(modules.draws.normals({at}, 500))") == draws.normals(key, 500)[0].tolist()
        assert engine(f"Array.from(modules.draws.uniforms({at}, 50, 9))") == draws.uniforms(key, 50, 9)[0].tolist()
        found = engine(f"Array.from(modules.draws.indices({at}, new Int32Array(50), 1999, 3))")
        assert found == draws.indices(key, 50, 1999, 3)[0].tolist()
    extremes = "Array.from([1e-12, 1 - 2 ** -52, 2 ** -53, 0.075, 0.925], modules.draws.quantile)"
    import torch

    points = torch.tensor([1e-12, 1 - 2**-52, 2**-53, 0.075, 0.925], dtype=torch.float64)
    assert engine(extremes) == draws.normal_quantile(points).tolist()


@pytest.mark.parametrize("distribution", ["gaussian", "uniform", "sphere", "correlated-gaussian", "student-t"])
def test_teachers_inputs_and_starts_have_the_bits_of_python(engine, distribution):
    given = {"members": 2, "seed": 3, "train": 50, "evaluate": 20, "distribution": distribution, "dimension": 7}
    world, students = World.of(StudentsSettings(**given))
    found = engine(
        """([given]) => {
            const course = new modules.course.Course(about.specialisation, given), { world, members } = course.state;
            const lists = ({ teacher: t, train, evaluate }, { net: n }) =>
                [t.w, t.b, t.v, t.c, n.w, n.v, train, evaluate];
            return world.map((w, s) => lists(w, members[s]).map((a) => Array.from(a)));
        }""",
        [given],
    )
    for s, arrays in enumerate(found):
        teacher = [a[s] for pair in zip(world.teacher.weights, world.teacher.biases, strict=True) for a in pair]
        expected = [*teacher, *(w[s] for w in students.weights), world.inputs.train[s], world.inputs.evaluate[s]]
        for array, wanted in zip(arrays, expected, strict=True):
            assert np.array_equal(np.float32(array), wanted.numpy().ravel())


@pytest.mark.parametrize(
    ("optimiser", "rate", "distribution"),
    [
        ("sgd", 0.01, "gaussian"),
        ("momentum", 0.002, "gaussian"),
        ("adam", 0.002, "gaussian"),
        ("sgd", 0.01, "student-t"),
    ],
)
def test_weights_agree_after_a_thousand_steps(engine, optimiser, rate, distribution):
    given = settings_of("specialisation", "l-shape") | {
        "optimiser": optimiser, "learning_rate": rate, "distribution": distribution, "spread": 1.0, "noise": 0.1,
    }  # fmt: skip
    course = Course("specialisation", given)
    course.seek(10)
    script = """([given]) => {
        const course = new modules.course.Course(about.specialisation, given);
        course.seek(10);
        return course.state.members.map(({ net }) => [net.w, net.b, net.v, net.c].map((a) => Array.from(a)));
    }"""
    for s, arrays in enumerate(engine(script, [given])):
        students = course.state.students
        wanted = [a[s] for pair in zip(students.weights, students.biases, strict=True) for a in pair]
        for array, weights in zip(arrays, wanted, strict=True):
            expected = weights.numpy().ravel()
            assert np.linalg.norm(np.array(array) - expected) <= 1e-4 * np.linalg.norm(expected)


@pytest.mark.parametrize(("scene", "preset"), PRESETS)
def test_frames_are_those_of_python(engine, scene, preset):
    given = settings_of(scene, preset)
    course = Course(scene, given)
    ticks = [0, course.ticks // 3, course.ticks] if scene != "specialisation" else [0, 2]
    found = engine(COURSE, [scene, given, ticks])
    for tick, moment in zip(ticks, found, strict=True):
        course.seek(tick)
        arrays, words = course.scene.frame(course.settings, course.state, tick, {})
        assert moment["time"] == pytest.approx(course.time, rel=1e-12)
        certified = moment["words"].pop("certified", None)
        for name in set(arrays) - {"outline", "outline_from", "steepness", "segments", "segment_unit"}:
            close = {"atol": 2e-3, "rtol": 2e-3} if scene == "specialisation" and tick else {"atol": 1e-6, "rtol": 1e-6}
            wanted = np.asarray(arrays[name], np.float32)
            assert np.allclose(as_array(moment["arrays"][name]), wanted, equal_nan=True, **close), (name, tick)
        if scene == "folds":
            lengths = [np.zeros(32), np.zeros(32)]
            for total, source in zip(lengths, (moment["arrays"], None), strict=True):
                ends = as_array(source["segments"]) if source else arrays["segments"]
                units = as_array(source["segment_unit"]) if source else arrays["segment_unit"]
                np.add.at(total, np.asarray(units, int), np.hypot(*(ends[:, :2] - ends[:, 2:]).T))
            assert np.allclose(*lengths, atol=1e-5)
            for name in ("regions", "fingerprint", "redundant", "permutations", "scalings"):
                assert moment["words"][name] == words[name]
        for name, value in (JUDGED[scene](course, words) if scene in JUDGED else {}).items():
            got = certified[name] if name in certified else moment["words"][name]
            assert (got is None) == (value is None)
            tolerance = 1e-7 if scene == "flow" and tick else 1e-9  # of the integrator, and of rounding
            assert value is None or np.allclose(got, value, rtol=tolerance, atol=tolerance), (name, tick)


def test_every_export_of_a_module_reaches_the_program():
    sources = {path.stem: path.read_text() for path in ENGINE.glob("*.js")}
    exports = {name: set(re.findall(r"^export \w+ (\w+)", source, re.MULTILINE)) for name, source in sources.items()}
    imported = [
        found
        for source in sources.values()
        for found in re.findall(r'^import \{ (.*) \} from "\./(\w+)\.js";$', source, re.MULTILINE)
    ]
    assert imported
    for names, module in imported:
        assert set(names.split(", ")) <= exports[module]
    assert "export " not in re.sub(r"//.*", "", program())
    assert not re.search(r"^import ", program(), re.MULTILINE)


def test_modules_can_be_read_by_a_person():
    for path in ENGINE.glob("*.js"):
        assert len(path.read_text().splitlines()) < 300, path.name
        assert path.read_text().startswith("// "), path.name


def test_the_page_is_one_small_file(tmp_path):
    size = write_playground(tmp_path / "play.html")
    assert size == (tmp_path / "play.html").stat().st_size < 500_000
    text = playground().decode()
    assert "unsafe-eval" not in text
    assert not re.search(r"""(src|href)=["'](https?:)?//""", text)


@pytest.fixture
def page(browser, tmp_path):
    """The playground as a file, with every request to a network blocked and counted."""
    path = tmp_path / "play.html"
    write_playground(path)
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    opened, asked, errors = context.new_page(), [], []
    context.route(
        "**/*",
        lambda route: (
            asked.append(route.request.url) or route.abort()
            if route.request.url.startswith(("http", "ws"))
            else route.continue_()
        ),
    )
    opened.on("pageerror", lambda error: errors.append(str(error)))

    def go(fragment=""):
        opened.goto("about:blank")
        opened.goto(path.as_uri() + fragment)
        return opened

    yield go
    context.close()
    assert asked == []
    assert errors == []


def until(page, condition):
    for _ in range(3000):
        if page.evaluate(f"(() => !!({condition}))()"):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"{condition}: not so")


@pytest.mark.parametrize("scene", ["specialisation", "target", "flow", "margins", "distillation", "folds"])
def test_a_scene_plays_and_keeps_its_address(page, scene):
    tab = page(f"#scene={scene}")
    until(tab, f"studio.frame && studio.scene.name === '{scene}'")
    tab.keyboard.press("Space")
    until(tab, "studio.frame.tick > 2")
    tab.keyboard.press("Space")
    until(tab, "!studio.playing")
    tab.keyboard.press("ArrowRight")
    tick = tab.evaluate("studio.frame.tick")
    tab.keyboard.press("Home")
    until(tab, "studio.frame.tick === 0")
    assert tick > 2
    assert f"scene={scene}" in tab.evaluate("location.hash")
    assert tab.evaluate("[...document.querySelectorAll('[role=img]')].every((e) => e.getAttribute('aria-label'))")


def test_what_needs_python_says_so(page):
    for scene, command in (("compare", "tutelage compare"), ("results", "tutelage studio --results")):
        tab = page(f"#scene={scene}")
        until(tab, f"document.getElementById('views').textContent.includes('{command}')")


def test_a_story_of_a_unit_names_the_command_for_theorems(page):
    small = json.dumps({"units": 3, "members": 2, "dimension": 5, "train": 100, "evaluate": 50})
    tab = page(f"#scene=specialisation&settings={small}&look={json.dumps({'member': 1, 'unit': 2})}")
    until(tab, "document.getElementById('view-story').textContent.includes('tutelage studio')")
    assert "Unit 2 of student 1 (seed 1)" in tab.inner_text("#view-story")


@pytest.mark.parametrize(
    ("scene", "name"),
    [
        (scene, p["name"])
        for scene in ("flow", "folds", "target")
        for p in ABOUT.get(scene, {"presets": [{"name": "sine"}]})["presets"]
    ],
)
def test_a_tour_checks_its_questions(page, scene, name):
    tab = page(f"#scene={scene}&preset={name}")
    until(tab, "studio.frame")
    tab.click("text=Take the tour")
    for step in range(5):
        until(tab, f"document.querySelector('.tour h3').textContent === 'Step {step + 1} of 5'")
        choices, said = tab.locator(".tour .choices").first.locator("button"), []
        for i in range(choices.count()):
            choices.nth(i).click()
            while "not there yet" in (answer := tab.inner_text(".tour .said")):
                tab.wait_for_timeout(50)
                choices.nth(i).click()
            said.append(answer.startswith("Yes"))
        assert sum(said) == 1
        tab.locator(".tour button", has_text="Next" if step < 4 else "Done").click()
    assert tab.locator(".tour").is_hidden()


def test_a_formula_and_a_drawing_become_the_teacher(page):
    tab = page("#scene=target")
    until(tab, "studio.frame")
    tab.fill("[name=formula]", "abs(x) - 1")
    tab.click("text=Use it")
    until(tab, "studio.frame.arrays.target.values[120] === -1")
    box = tab.locator("#view-fit canvas").bounding_box()
    tab.mouse.move(box["x"] + 80, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 200, box["y"] + 60, steps=4)
    tab.mouse.up()
    until(tab, "Array.isArray(studio.state.settings.curve) && studio.state.settings.curve.length === 61")
    tab.fill("[name=formula]", "fetch(1)")
    tab.click("text=Use it")
    until(tab, "document.getElementById('message').textContent.includes('not known in a formula')")


@pytest.mark.parametrize(
    ("formula", "at", "value"),
    [
        ("-x^2", 3, -9), ("2^-1", 0, 0.5), ("1-2-3", 0, -4), ("8/2/2", 0, 2), ("max(x, 1) * pi", 0, np.pi),
        ("2^3^2", 0, 512), ("1e-3+.5", 0, 0.501), ("-(-x)", 2, 2), ("relu(-x)+step(x)", 1, 1),
    ],
)  # fmt: skip
def test_formulas_mean_what_they_say(engine, formula, at, value):
    assert engine("([f, x]) => modules.formula.parsed(f, 1)(x, 0)", [formula, at]) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "formula",
    [
        "",
        "x +",
        "(x",
        "constructor(1)",
        "x.y",
        "1 2",
        "y",
        "x;alert(1)",
        "(" * 99 + "x",
        "sin",
        "__proto__",
        "1" * 300,
        "max(x)",
    ],
)
def test_what_is_no_formula_is_one_sentence(engine, formula):
    said = engine(
        "([f]) => { try { modules.formula.parsed(f, 1); return null; } catch (e) { return e.message; } }", [formula]
    )
    assert said
    assert "\n" not in said
    assert len(said) < 250


@pytest.mark.parametrize(
    ("fragment", "part"),
    [
        ('#scene=specialisation&settings={"units":1e9}', "units must be at most 200"),
        ('#scene=specialisation&settings={"units":"<b>"}', "must be a number"),
        ('#scene=specialisation&settings={"__proto__2":1}', "unknown setting"),
        ('#scene=flow&settings={"teacher_at":[[1e300,0]]}', "shorter than 20"),
        ('#scene=margins&settings={"points":[[1,2]]}', "2 to 60 points"),
        ('#scene=target&settings={"formula":"1/x","train":50}', "between -1,000 and 1,000"),
        ('#scene=folds&events=[[0,{"unit":99,"to":[1,2,3]}]]', "must be from 0 to 4"),
    ],
)
def test_a_hostile_address_gives_one_sentence(page, fragment, part):
    tab = page(fragment)
    until(tab, f"document.getElementById('message').textContent.toLowerCase().includes({json.dumps(part.lower())})")
    until(tab, "studio.frame")  # the scene opens as it comes


def test_points_come_from_a_file(page, tmp_path):
    tab = page("#scene=margins")
    until(tab, "studio.frame")
    path = tmp_path / "points.csv"
    path.write_text("x1,x2,label\n1.0,2.0,1\n2,1.5,1\n-1,-0.5,-1\n-2,-1,0\n")
    tab.set_input_files(".pick-points input", path)
    until(tab, "studio.state.settings.points && studio.state.settings.points.length === 4")
    path.write_text("1,2\n")
    tab.set_input_files(".pick-points input", path)
    until(tab, "document.getElementById('message').textContent.includes('two numbers and a label')")


def test_a_phone_has_no_horizontal_scrolling(browser, tmp_path):
    write_playground(tmp_path / "play.html")
    context = browser.new_context(viewport={"width": 390, "height": 844})
    tab = context.new_page()
    for scene in ("specialisation", "target", "flow", "margins", "distillation", "folds", "compare"):
        tab.goto("about:blank")
        tab.goto((tmp_path / "play.html").as_uri() + f"#scene={scene}")
        until(tab, "studio.scene && (studio.frame || !studio.scene.plays)")
        assert tab.evaluate("document.documentElement.scrollWidth <= 390"), scene
    context.close()
