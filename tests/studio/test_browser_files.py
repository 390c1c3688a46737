"""Files in and out of the live page, and who can use it: saving, replays, comparing by drop, results, accessibility."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import tutelage as tt
from tutelage.lab.teacher_student import from_yaml
from tutelage.networks import load, outputs, save
from tutelage.studio.course import Course
from tutelage.studio.frames import decode
from tutelage.studio.scenes.folds import FoldSettings, changed

AXE = Path(__file__).parent / "vendor" / "axe.js"
SMALL = {"units": 4, "members": 4, "dimension": 6, "outputs": 3, "train": 100, "steps": 1000}
SCENES = ("specialisation", "flow", "margins", "distillation", "folds", "compare", "results")


def test_the_saved_yaml_runs_to_the_numbers_that_were_shown(tab, tmp_path):
    tab.open("specialisation", SMALL)
    tab.page.keyboard.press("End")
    shown, _ = decode(tab.at(50))
    path = tab.saved("yaml", tmp_path / "a.yaml")
    report = tt.run(from_yaml(path), results=tmp_path / "results").report
    np.testing.assert_array_equal(shown["specialisation"], report["specialisation"][-1])


def test_the_saved_python_runs(tab, tmp_path):
    tab.open("folds", {"units": 3}, tick=5)
    path = tab.saved("python", tmp_path / "a.py")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("path 8.3\n")
    assert "segments (" in done.stdout


@pytest.mark.parametrize(
    ("scene", "forms"), [("flow", {"link", "python", "replay", "png", "svg"}), ("compare", {"link", "png", "svg"})]
)
def test_the_menu_has_what_a_scene_can_be_saved_as(tab, scene, forms):
    tab.open(scene)
    tab.page.click("#save")
    shown = tab.page.locator("#save-menu [data-form]")
    assert {b.get_attribute("data-form") for b in shown.all() if b.is_visible()} == forms


def test_pictures_are_saved_as_png_and_svg(tab, tmp_path):
    tab.open("specialisation", SMALL | {"dimension": 2, "units": 2}, tick=10)
    for form, start in (("png", b"\x89PNG"), ("svg", b"<svg ")):
        names = []
        tab.page.on("download", lambda d, names=names: names.append(d))
        tab.page.click("#save")
        tab.page.click(f"[data-form={form}]")
        while len(names) < 5:
            tab.page.wait_for_timeout(50)
        for download in names:
            assert Path(download.path()).read_bytes().startswith(start)
        assert {d.suggested_filename for d in names} == {
            f"{n}.{form}" for n in ("units", "plane", "map", "recovery", "loss")
        }


@pytest.mark.parametrize("scene", ["specialisation", "flow", "margins", "distillation", "folds"])
def test_a_replay_plays_from_a_file_without_the_network(tab, browser, tmp_path, scene):
    settings = SMALL if scene == "specialisation" else {}
    tab.open(scene, settings, tick=20)
    path = tab.saved("replay", tmp_path / "replay.html")
    assert path.stat().st_size < 8 << 20
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page, errors, asked = context.new_page(), [], []
    page.on("console", lambda m: m.type in ("error", "warning") and errors.append(m.text))
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"file://{path}")
    page.wait_for_function("window.studio && studio.frame && studio.frame.tick === 0")
    page.keyboard.press("Space")
    page.wait_for_function("studio.frame.tick === 20 && !studio.playing", timeout=60_000)
    page.keyboard.press("Home")
    page.wait_for_function("studio.frame.tick === 0")
    page.keyboard.press("End")
    page.wait_for_function("studio.frame.tick === 20")
    name = {
        "specialisation": "fan_out",
        "distillation": "risk",
        "flow": "loss",
        "margins": "margins",
        "folds": "value",
    }[scene]
    course = Course(scene, settings)
    course.seek(20)
    values = page.evaluate(f"Array.from(studio.frame.arrays.{name}.values)")
    np.testing.assert_array_equal(np.float32(values), decode(course.frame())[0][name].ravel())
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def drop(tab, paths, zone=0):
    """Drop files on one of the two zones."""
    files = [[path.name, base64.b64encode(path.read_bytes()).decode()] for path in paths]
    tab.eval(
        f"""(() => {{
          const transfer = new DataTransfer();
          for (const [name, content] of {json.dumps(files)})
            transfer.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
          const zone = document.querySelectorAll('.zone')[{zone}];
          zone.dispatchEvent(new DragEvent('drop', {{dataTransfer: transfer, bubbles: true, cancelable: true}}));
        }})()"""
    )


def test_two_files_are_compared_by_drop(tab, tmp_path):
    network = FoldSettings(units=5, seed=7).network()
    twice = changed(network, {"copy": 1})
    others = {"same": changed(changed(network, {"permute": True}), {"scale": True}), "different": twice}
    save(network, tmp_path / "first.safetensors")
    for verdict, other in others.items():
        save(other, tmp_path / f"{verdict}.safetensors")
        tab.open("compare")
        drop(tab, [tmp_path / "first.safetensors", tmp_path / f"{verdict}.safetensors"])
        tab.until("document.querySelector('.verdict h2') && document.querySelector('.verdict img')")
        assert tab.page.locator(".verdict h2").inner_text().lower().startswith(verdict)
    assert tab.page.locator("tr.redundant").count() == 1
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download the pruned network").nth(1).click()
    download.value.save_as(tmp_path / "pruned.safetensors")
    pruned = load(tmp_path / "pruned.safetensors")
    points = torch.randn(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert pruned.widths == (2, 4, 1)
    torch.testing.assert_close(outputs(pruned, points), outputs(twice, points))


def test_the_page_says_that_units_of_a_state_dict_are_assumed(tab, tmp_path):
    save_file({"0.weight": torch.ones(2, 2), "2.weight": torch.ones(1, 2)}, tmp_path / "plain.safetensors")
    save(FoldSettings(units=2).network(), tmp_path / "own.safetensors")
    tab.open("compare")
    for zone, name, units in ((0, "plain", "relu, since the file does not say"), (1, "own", ", relu")):
        drop(tab, [tmp_path / f"{name}.safetensors"], zone)
        shown = f"document.querySelectorAll('.zone .name')[{zone}].textContent"
        tab.until(f"{shown}.startsWith('{name}.safetensors')")
        assert tab.eval(shown).endswith(units)


def test_a_broken_file_is_answered(tab, tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"not a network")
    (tmp_path / "b.pt").write_bytes(b"pickle")
    tab.open("compare")
    drop(tab, [tmp_path / "a.safetensors"])
    tab.message("a.safetensors")
    drop(tab, [tmp_path / "b.pt"], zone=1)
    tab.message("not a .safetensors or .onnx")
    assert str(tmp_path) not in tab.page.locator("#message").inner_text()
    tab.errors[:] = [e for e in tab.errors if "400" not in e]


def test_the_verdict_on_other_files_is_not_left_on_the_page(tab, tmp_path):
    save(FoldSettings(units=5, seed=7).network(), tmp_path / "a.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"not a network")
    tab.open("compare")
    drop(tab, [tmp_path / "a.safetensors", tmp_path / "a.safetensors"])
    tab.until("document.querySelector('.verdict h2')")
    drop(tab, [tmp_path / "broken.safetensors"])
    tab.message("broken.safetensors")
    assert not tab.page.locator(".verdict").is_visible()
    tab.errors[:] = [e for e in tab.errors if "400" not in e]


def test_frames_that_come_late_are_not_drawn_by_a_scene_without_any(tab):
    tab.open("specialisation", SMALL)
    for _ in range(5):
        tab.page.keyboard.press("Space")
        tab.page.wait_for_timeout(200)
        tab.page.keyboard.press("6")
        tab.ready("compare")
        tab.page.wait_for_timeout(300)
        assert tab.eval("studio.state.tick") == 0
        tab.page.keyboard.press("1")
        tab.ready("specialisation")


def test_results_are_browsed_filtered_and_exported(tab, results_studio, tmp_path):
    tab.studio = results_studio
    tab.open("results")
    tab.until("studio.results && studio.results.chosen.length === 24")
    tab.eval("studio.results.filter({width_factor: [2, 4]})")
    assert tab.eval("studio.results.chosen.filter(Boolean).length") == 12
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="CSV").click()
    rows = Path(download.value.path()).read_text().splitlines()
    assert len(rows) == 13
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="SQL").click()
    assert '"width_factor" BETWEEN 2 AND 4' in Path(download.value.path()).read_text()
    tab.eval("studio.results.select(3)")
    tab.until("document.querySelector('.story h2').textContent.startsWith('Student of seed')")
    assert "teacher units are recovered" in tab.page.locator(".story .words").inner_text()


def test_measures_of_many_orders_of_magnitude_have_a_logarithmic_axis(tab, results_studio):
    tab.studio = results_studio
    tab.open("results")
    tab.until("studio.results && studio.results.chosen.length === 24")
    tab.eval(
        "studio.results.columns.evaluate_loss = studio.results.columns.evaluate_loss.map((_, i) => 10 ** (-i / 4))"
    )
    parallel, scatter = "studio.page.views[0]", "studio.page.views[1]"
    tab.eval(f"{parallel}.redraw(), {scatter}.redraw(), 1")
    tab.until(f"{scatter}.scale.iy({scatter}.scale.top) > 1")
    a, b, c = tab.eval(f"[1e-4, 1e-2, 1].map({scatter}.scale.y)")
    assert a - b == pytest.approx(b - c)
    assert tab.eval(f"{parallel}.at.map((a) => [a.name, a.log])") == [
        ["evaluate_loss", True],
        ["width_factor", False],
        ["polarity", False],
    ]
    tab.eval("studio.results.filter({polarity: [0, 0]})")
    facts = tab.page.locator("#view-facts dl").inner_text().split()
    assert facts == ["members", "12", "of", "24", "experiments", "2", "polarity", "0", "to", "0"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scene", SCENES)
def test_no_serious_violation_of_accessibility(new_tab, studio, results_studio, scene, scheme):

    tab = new_tab(results_studio if scene == "results" else studio, color_scheme=scheme, bypass_csp=True)
    tab.open(scene, SMALL if scene == "specialisation" else None)
    if scene == "specialisation":
        tab.page.keyboard.press("u")
        tab.until("document.querySelectorAll('.story details').length === 3")
    tab.page.add_script_tag(path=str(AXE))
    found = tab.eval("axe.run()")["violations"]
    serious = {
        v["id"]: [n["html"][:120] for n in v["nodes"]][:3] for v in found if v["impact"] in ("serious", "critical")
    }
    tab.context.close()
    assert serious == {}


@pytest.mark.parametrize("size", [(1280, 720), (1024, 768), (820, 1180)])
@pytest.mark.parametrize("scene", ["specialisation", "flow", "folds"])
def test_every_picture_has_room(new_tab, studio, scene, size):

    tab = new_tab(studio)
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    tab.open(scene, SMALL if scene == "specialisation" else None)
    sizes = tab.eval("studio.page.views.filter((v) => !v.card.hidden).map((v) => v.size)")
    wide = tab.eval("document.documentElement.scrollWidth")
    tab.context.close()
    assert wide <= size[0]
    assert min(min(s) for s in sizes) >= 120
