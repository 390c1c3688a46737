"""Every Python block of the documentation runs as printed, page by page, the blocks of a page one after another."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDS_YOURS = {
    "docs/certificates.md": "teacher, students and inputs of the reader",
    "docs/exits.md": "module and images of the reader",
    "docs/sentences.md": "text of the reader",
    "docs/autoencoders.md": "modules of the reader",
    "docs/specialisation.md": "modules of the reader",
}
"""Pages whose blocks use what the reader has; they are compiled and their imports are run."""


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


PAGES = [p for p in sorted((ROOT / "docs").glob("*.md")) if blocks(p)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = blocks(page)
    if str(page.relative_to(ROOT)) in NEEDS_YOURS:
        for block in code:
            compile(block, str(page), "exec")
        imports = [line for line in "\n".join(code).splitlines() if re.match(r"(from tutelage|import tutelage)", line)]
        code = ["\n".join(imports)]
    names: dict = {}
    for block in code:
        exec(compile(block, str(page), "exec"), names)
