"""Record `playground.gif`, the animation of the README, in a browser: students of the preset "The L" while they learn.

Run from the root, with chromium and playwright: ``python docs/figures/record_playground.py``.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tutelage.studio.offline import write_playground

HERE = Path(__file__).parent
SIZE = {"width": 1240, "height": 700}
FRAMES, MILLISECONDS, PAUSE = 40, 110, 1800
WIDTH = 820
COLOURS = 160


def main() -> None:
    """Seek through the training, more slowly at its start, and join the pictures."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        file = Path(folder) / "playground.html"
        write_playground(file)
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, bypass_csp=True)  # the page forbids eval, which playwright needs
        page.goto(f"{file.as_uri()}#scene=specialisation")
        page.wait_for_function("window.studio?.frame")
        last = page.evaluate("studio.ticks")
        for i in range(FRAMES):
            tick = round(last * (i / (FRAMES - 1)) ** 2)
            page.evaluate("tick => studio.source().send({ do: 'seek', tick })", tick)
            page.wait_for_function("tick => studio.frame?.tick === tick", arg=tick, timeout=120_000)
            page.wait_for_timeout(60)  # until it is drawn
            pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        browser.close()
    height = round(WIDTH * SIZE["height"] / SIZE["width"])
    small = [p.resize((WIDTH, height), Image.Resampling.LANCZOS) for p in pictures]
    strip = Image.new("RGB", (WIDTH, height * 3))
    for i, picture in enumerate(small[:: FRAMES // 2][:3]):  # colours of the start, the middle and the end
        strip.paste(picture, (0, i * height))
    palette = strip.quantize(COLOURS)
    frames = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in small]
    durations = [MILLISECONDS] * (FRAMES - 1) + [PAUSE]
    target = HERE / "playground.gif"
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    print(f"{target.name}: {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
