"""Draw the pictures of the course: every scene that its pages open, as the playground shows it.

Run from the root, with chromium and playwright: ``python docs/figures/draw_course.py [NAME ...]``.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "_ext"))

from tutelage_docs import scenes  # noqa: E402  (after the path is set)

from tutelage.studio.offline import write_playground  # noqa: E402

SIZE = {"width": 1360, "height": 720}
COLOURS = 96


def main(names: list[str]) -> None:
    """Open each scene, wait until its place on the timeline is drawn, and store the picture."""
    (HERE / "course").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        file = Path(folder) / "playground.html"
        write_playground(file)
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, address in scenes.read(HERE.parent).items():
            if names and name not in names:
                continue
            page = browser.new_page(viewport=SIZE, bypass_csp=True)  # the page forbids eval, which playwright needs
            page.goto(f"{file.as_uri()}{address}")
            tick = int(address.rsplit("=", 1)[1])
            page.wait_for_function("tick => window.studio?.frame?.tick === tick", arg=tick, timeout=120_000)
            page.wait_for_timeout(300)  # until it is drawn
            picture = Image.open(io.BytesIO(page.locator("#views").screenshot())).convert("RGB").quantize(COLOURS)
            picture.save(HERE / "course" / f"{name}.png", optimize=True)
            page.close()
            print(f"{name}: {(HERE / 'course' / f'{name}.png').stat().st_size / 1e3:.0f} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
