"""Pages that stand alone: claims first, nothing fetched from elsewhere."""

import json
import re

import pytest

from tutelage import TutelageError
from tutelage.studies import reproduce
from tutelage.studies.report import short, write_reports


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduced")
    reproduce(["focus-shifting", "boundaries-2d"], "smoke", folder)
    return folder


def test_a_page_for_each_study_and_one_for_all(out):
    page = write_reports(out)
    assert page == out / "report.html"
    text = page.read_text()
    assert text.index('id="boundaries-2d"') < text.index('id="focus-shifting"')
    assert 'id="focus-shifting"' not in (out / "smoke" / "boundaries-2d" / "report.html").read_text()


def test_every_claim_and_verdict_is_on_the_page_before_the_figure(out):
    write_reports(out)
    text = (out / "smoke" / "focus-shifting" / "report.html").read_text()
    claims = json.loads((out / "smoke" / "focus-shifting" / "claims.json").read_text())
    for claim in claims:
        assert claim["claim"] in text
        assert text.index(claim["claim"]) < text.index("<img")
    for verdict in ("holds", "fails", "undecided"):
        count = sum(c["verdict"] == verdict for c in claims)
        assert len(re.findall(rf'class="verdict {verdict}"', text)) == count


def test_the_page_fetches_nothing(out):
    text = write_reports(out).read_text()
    assert "http" not in text
    assert "<script" not in text
    assert text.count("data:image/png;base64,") == 2


def test_a_smoke_run_is_called_a_rehearsal(out):
    assert "a rehearsal of seconds" in write_reports(out).read_text()


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
