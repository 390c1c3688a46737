"""The house style is put on and taken off again; figures are saved whole, and the same twice."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tutelage.studies.figures import PALETTE, house_style, save


def drawn():
    with house_style():
        figure = Figure()
        figure.subplots().plot([0, 1], [1, 2])
    return figure


def test_the_style_does_not_leak():
    before = dict(mpl.rcParams)
    with house_style():
        assert mpl.rcParams["axes.spines.top"] is False
    assert dict(mpl.rcParams) == before


def test_figures_are_saved_as_png_and_pdf_without_leftovers(tmp_path):
    save(drawn(), tmp_path / "new")
    assert {f.name for f in (tmp_path / "new").iterdir()} == {"figure.png", "figure.pdf"}
    assert (tmp_path / "new" / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "new" / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_figure_has_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        save(drawn(), tmp_path / name)
    for suffix in ("png", "pdf"):
        assert (tmp_path / f"one/figure.{suffix}").read_bytes() == (tmp_path / f"two/figure.{suffix}").read_bytes()


def test_palette_colours_stay_apart_in_lightness_or_hue():
    """No two colours are closer than a tenth of the cube's diagonal."""
    colours = np.array([mpl.colors.to_rgb(c) for c in PALETTE])
    distances = np.linalg.norm(colours[:, None] - colours[None], axis=-1)[np.triu_indices(len(PALETTE), 1)]
    assert distances.min() > 0.1 * 3**0.5
