"""The house style is put on and taken off again; figures are saved whole, and the same twice."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from tutelage import TutelageError
from tutelage.studies.figures import PALETTE, house_style
from tutelage.studies.figures.style import check_style, save


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


def test_a_style_of_the_user_goes_on_top_of_the_house_style(tmp_path):
    before = dict(mpl.rcParams)
    file = tmp_path / "mine.mplstyle"
    file.write_text("font.size: 14\n")
    for style, size in (({"font.size": 12}, 12), (file, 14), (str(file), 14), ("ggplot", 10)):
        with house_style(style):
            assert mpl.rcParams["font.size"] == size
            assert mpl.rcParams["pdf.fonttype"] == 42
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("style", ["no-such-style", {"font.sise": 3}, {"font.size": "large-ish"}])
def test_a_style_that_cannot_be_used_is_one_sentence(tmp_path, monkeypatch, style):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TutelageError, match="style"):
        check_style(style)
