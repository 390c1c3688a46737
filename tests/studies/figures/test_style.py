"""The house style is put on and taken off again; figures are saved whole, and the same twice."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from tutelage import TutelageError
from tutelage.studies.figures import PALETTE, house_style
from tutelage.studies.figures.style import WIDTHS, check_style, fit, save


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


def panels(style, titles=("one",)):
    """A figure of studies, with a label of an explicit size, after the style has been applied to it."""
    with house_style(style):
        figure = Figure(figsize=(8.0, 3.0), layout="constrained")
        for axes, title in zip(np.atleast_1d(figure.subplots(1, len(titles))), titles, strict=True):
            axes.plot([0, 1], label="line")
            axes.set(title=title, xlabel="$x^2$", ylabel="y")
            axes.text(0.5, 0.5, "explicit", fontsize=6)
            axes.legend()
        fit(figure)
    return figure


def letters(figure):
    axes = figure.axes[0]
    texts = axes.title, axes.xaxis.label, axes.xaxis.get_ticklabels()[0], axes.get_legend().texts[0], axes.texts[0]
    return [text.get_fontsize() for text in texts]


def test_without_a_style_a_figure_is_left_as_it_was_drawn():
    figure = panels(None)
    assert tuple(figure.get_size_inches()) == (8.0, 3.0)
    assert letters(figure) == [9, 9, 9, 8, 6]


def test_a_style_of_letters_changes_all_of_them_alike():
    assert letters(panels({"font.size": 18})) == [18, 18, 18, 16, 12]
    assert letters(panels({"font.size": 18, "axes.titlesize": 5})) == [5, 18, 18, 16, 12]


def test_a_style_decides_the_size_of_a_figure():
    assert tuple(panels({"figure.figsize": (3.0, 5.0)}).get_size_inches()) == (3.0, 5.0)


@pytest.mark.parametrize("name", WIDTHS)
def test_a_named_width_is_the_width_of_the_saved_picture(tmp_path, name):
    figure = panels(name)
    save(figure, tmp_path)
    with Image.open(tmp_path / "figure.png") as image:
        assert image.width / image.info["dpi"][0] == pytest.approx(WIDTHS[name], abs=0.01)
    assert 1 < figure.get_size_inches()[1] < 3
    assert letters(figure) == pytest.approx([8, 8, 8, 64 / 9, 48 / 9])


def test_titles_of_panels_that_became_narrow_are_broken_and_formulas_are_not():
    style = {"font.size": 8, "figure.figsize": (3.25, 2.0)}
    figure = panels(style, ["a title of several words", "by the norm $|w| + |v|$ of units", "short"])
    assert [axes.get_title().count("\n") > 0 for axes in figure.axes] == [True, True, False]
    assert "$|w| + |v|$" in figure.axes[1].get_title()
    widths = [axes.title.get_window_extent().width for axes in figure.axes]
    assert max(widths) < figure.bbox.width / 3
