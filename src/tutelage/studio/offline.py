"""The playground: the live page as one file, with an engine in the browser instead of a server.

The page's modules become data URLs behind an import map, as in a replay. The engine runs in a worker, which knows no
import maps, so its modules are joined to one program: each becomes a function that returns what it exports.
"""

import base64
import hashlib
import html
import json
import re
from graphlib import TopologicalSorter
from pathlib import Path

from tutelage import __version__
from tutelage.files import write_atomically
from tutelage.studio.describe import RESULTS, described
from tutelage.studio.saving import STATIC, body, import_map, licence, style

ENGINE = STATIC / "engine"
_IMPORTED = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORTED = re.compile(r"^export (?=(?:function|class|const) (\w+))", re.MULTILINE)


def program() -> str:
    """The engine as one program for a worker."""
    sources = {path.stem: path.read_text() for path in sorted(ENGINE.glob("*.js"))}
    needs = {name: {found for _, found in _IMPORTED.findall(source)} for name, source in sources.items()}
    parts = [_as_function(name, sources[name]) for name in TopologicalSorter(needs).static_order()]
    return "\n".join(['"use strict";', "const modules = {};", *parts])


def _as_function(name: str, source: str) -> str:
    exports = ", ".join(_EXPORTED.findall(source))
    inside = _IMPORTED.sub(r"const { \1 } = modules.\2;", _EXPORTED.sub("", source))
    return f"modules.{name} = (() => {{\n{inside}\nreturn {{ {exports} }};\n}})();"


def playground() -> bytes:
    """The page as one HTML file, which asks nothing of the network."""
    about = {"scenes": [*described(None), RESULTS], "version": __version__}
    entry, modules = 'import "studio/main.js";', import_map()
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in (modules, entry))
    policy = (
        f"default-src 'none'; script-src {allowed} data: blob:; worker-src blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n{licence()}<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>tutelage playground</title>\n<link rel="icon" href="data:,">\n<style>{style()}</style>\n'
        f'<script type="importmap">{modules}</script>\n</head>\n{body()}\n'
        f'<script type="application/json" id="playground">{_inside(json.dumps(about, sort_keys=True))}</script>\n'
        f'<script type="text/plain" id="engine">{_inside(program())}</script>\n'
        f'<script type="module">{entry}</script>\n</body>\n</html>\n'
    ).encode()


def write_playground(path: Path) -> int:
    """Write the playground, complete or not at all; its size in bytes."""
    content = playground()
    write_atomically(path, content)
    return len(content)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inside(text: str) -> str:
    """Text that may stand inside a script element, which an end tag or a comment would break."""
    if "</script" in text.lower() or "<!--" in text:
        text = re.sub(r"<(?=/script|!--)", r"\\u003c", text, flags=re.IGNORECASE)
    return text
