"""Pages that stand alone: figure first, nothing fetched from elsewhere."""

import io
import json
import re
import shutil

import numpy as np
import pytest
from matplotlib.figure import Figure

from tutelage import TutelageError
from tutelage.studies import Check, Claim, judge, reproduce
from tutelage.studies.report import write_reports
from tutelage.studies.report.html import natural_width
from tutelage.studies.report.words import shade_of, short


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduced")
    reproduce(["focus-shifting", "boundaries-2d"], "smoke", folder)
    return folder


def test_a_page_for_each_study_and_one_for_all(out):
    page = write_reports(out)
    assert page == out / "report.html"
    text = page.read_text()
    assert text.index('id="boundaries-2d-smoke"') < text.index('id="focus-shifting-smoke"')
    assert 'id="focus-shifting-smoke"' not in (out / "smoke" / "boundaries-2d" / "report.html").read_text()


def test_the_figure_comes_first_and_every_claim_after_it(out):
    write_reports(out)
    text = (out / "smoke" / "focus-shifting" / "report.html").read_text()
    claims = json.loads((out / "smoke" / "focus-shifting" / "claims.json").read_text())
    for claim in claims:
        assert text.index("<img") < text.index(f"<h3>{claim['claim'][0].upper()}{claim['claim'][1:]}</h3>")


def judged(out, tmp_path):
    """The rehearsal of a study as if it were one at paper scale."""
    folder = tmp_path / "paper" / "focus-shifting"
    shutil.copytree(out / "smoke" / "focus-shifting", folder)
    claims = [claim | {"scale": "paper"} for claim in json.loads((folder / "claims.json").read_text())]
    (folder / "claims.json").write_text(json.dumps(claims))
    return claims, write_reports(tmp_path).read_text()


def test_rehearsals_are_not_mixed_with_judged_studies(out, tmp_path):
    shutil.copytree(out / "smoke" / "boundaries-2d", tmp_path / "smoke" / "boundaries-2d")
    _, text = judged(out, tmp_path)
    assert "boundaries-2d" not in text
    assert "A rehearsal" not in text


def test_every_verdict_has_a_square_and_a_row(out, tmp_path):
    claims, text = judged(out, tmp_path)
    assert text.count("<i class=") == len(claims)
    for shade in {shade_of(claim) for claim in claims}:
        count = sum(shade_of(claim) == shade for claim in claims)
        assert len(re.findall(rf'class="verdict {shade}"', text)) == count
        assert text.count(f'<i class="v-{shade}"') == count


def test_the_page_fetches_nothing(out):
    text = write_reports(out).read_text()
    assert "://" not in text  # pictures written as letters may hold any word, but no colon
    assert "<script" not in text
    assert text.count("data:image/png;base64,") == 2


def test_a_smoke_run_is_called_a_rehearsal_and_carries_no_verdicts(out):
    text = write_reports(out).read_text()
    assert "A rehearsal of seconds" in text
    assert "<i class=" not in text
    assert set(re.findall(r'class="verdict ([a-z-]+)"', text)) == {"ran"}


def test_text_from_files_is_escaped(out):
    path = out / "smoke" / "focus-shifting" / "claims.json"
    before = path.read_text()
    path.write_text(before.replace("p = 1, 2x", "<b>bold</b>"))
    text = write_reports(out).read_text()
    path.write_text(before)
    assert "<b>bold</b>" not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(TutelageError, match="holds no reproduced study"):
        write_reports(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "[{}]"])
def test_a_damaged_study_is_refused_by_name(tmp_path, content):
    (tmp_path / "smoke" / "broken").mkdir(parents=True)
    (tmp_path / "smoke" / "broken" / "claims.json").write_text(content)
    with pytest.raises(TutelageError, match=r"broken.claims.json is damaged"):
        write_reports(tmp_path)


def test_numbers_are_short():
    assert [short(v) for v in (0.0, 1234.5, -0.00012345, None)] == ["0", "1.23e+03", "-0.000123", "-"]


def test_a_figure_has_its_natural_size_and_its_pdf(out):
    """Four inches wide are 384 CSS pixels, whatever the resolution of the file."""
    for dpi in (100, 160):
        buffer = io.BytesIO()
        Figure(figsize=(4, 2)).savefig(buffer, format="png", dpi=dpi)
        assert natural_width(buffer.getvalue(), out) == 384
    with pytest.raises(TutelageError, match="is not a PNG image"):
        natural_width(b"nothing", out)
    text = write_reports(out).read_text()
    assert 'href="smoke/focus-shifting/figure.pdf"' in text
    assert re.search(r'<img [^>]*width="\d+"', text)
    assert 'href="figure.pdf"' in (out / "smoke" / "focus-shifting" / "report.html").read_text()


def test_the_number_of_the_paper_stands_beside_ours():
    claim = Claim("s", "t", "> 0", lambda e: {"all": np.arange(1.0, 9)}, "why", published="+6.3 (Table 6.2)")
    [verdict] = judge(claim, None)
    assert verdict.published == "+6.3 (Table 6.2)"
    [check] = judge(Check("s", "t", "> 0", lambda e: {"all": 1.0}, "why", published="2"), None)
    assert check.published == "2"
