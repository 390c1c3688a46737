"""Every Python block and every shell command of the documentation runs as printed, page by page.

The blocks of a page run one after another in one empty folder. A ``text`` block right after a ``python`` block is what
that block prints; lines of a ``console`` block without ``$`` are what the command before them prints. ``...`` stands
for anything. A ``code-block`` with a caption is a file of that name. Commands in ``sh`` blocks have placeholders such
as HASH: the options they name must exist.
"""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *(p for d in ("", "tutorials", "subjects") for p in sorted((ROOT / "docs" / d).glob("*.md"))),
]
NEEDS_YOURS = {
    "docs/subjects/exits.md": "module and images of the reader",
    "docs/subjects/sentences.md": "text of the reader",
    "docs/subjects/autoencoders.md": "modules of the reader",
    "docs/subjects/specialisation.md": "modules of the reader",
}
"""Pages whose Python blocks use what the reader has; they are compiled and their imports are run."""

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(?:\{code-block\} )?([\w-]+)\n((?::[\w-]+:[^\n]*\n)*)\n?(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """A fenced block: its language, the file it is (or ""), its text, and what it prints (None: not shown)."""

    language: str
    file: str
    text: str
    printed: str | None = None


def blocks(text: str) -> list[Block]:
    found, end = [], 0
    for match in FENCE.finditer(text):
        language, options, body = match.groups()
        if language == "text" and found and found[-1].language == "python" and not text[end : match.start()].strip():
            found[-1].printed = body
        else:
            caption = re.search(r":caption: (\S+)", options)
            found.append(Block(language, caption[1] if caption else "", body))
        end = match.end()
    return found


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with what is printed below it."""
    out: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            out.append((line[2:].split("  #")[0], ""))
        elif out:
            out[-1] = (out[-1][0], out[-1][1] + line + "\n")
    return out


def run_page(page: Path, folder: Path, prepared) -> None:
    """Run the blocks of a page in a folder and compare what they print."""
    names: dict = {"__name__": "page"}
    for block in blocks(page.read_text()):
        if block.file:
            (folder / block.file).write_text(block.text)
        elif block.language == "python":
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(block.text, str(page), "exec"), names)
            if block.printed is not None:
                check(block.printed, printed.getvalue(), block.text)
        elif block.language == "console":
            run_console(block, folder, prepared)


def run_console(block: Block, folder: Path, prepared) -> None:
    """Run the commands of a block; one may end with another status than 0 only if ``echo $?`` follows it."""
    status, todo = 0, commands(block)
    for i, (command, wanted) in enumerate(todo):
        if command == "echo $?":
            check(wanted, f"{status}\n", todo[i - 1][0])
            continue
        words = plain_words(command)
        if words[:1] == ["tutelage"]:
            done = prepared(*words[1:], folder=folder, variables=shell())
        else:
            done = run_in_shell(command, folder)
        status = done.returncode
        told = i + 1 < len(todo) and todo[i + 1][0] == "echo $?"
        assert status == 0 or told, f"{command} ended with {status}: {done.stderr}"
        if wanted.strip():
            check(wanted, done.stdout, command)


def plain_words(command: str) -> list[str]:
    """The words of a command in which a shell would see nothing but words and quotes; of any other, none."""
    if re.search(r"[$`*?~#\\]", command):
        return []
    words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
    return [] if any(set(word) <= set("();<>|&") for word in words if word) else shlex.split(command)


def run_in_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", command]
    return subprocess.run(words, cwd=folder, env=shell(), capture_output=True, text=True, timeout=300)


def shell() -> dict[str, str]:
    """The environment of a reader who has activated the virtual environment, in a window of 100 columns."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PATH": path, "PYTHONPATH": source, "COLUMNS": "100", "TERM": "dumb"}


def check(wanted: str, got: str, by: str) -> None:
    plain = "\n".join(line.rstrip() for line in got.splitlines()) + "\n"
    assert doctest.OutputChecker().check_output(wanted, plain, FLAGS), f"{by}\nprints\n{plain}\nnot\n{wanted}"


def kinds(page: Path) -> set[str]:
    return {block.language for block in blocks(page.read_text())}


@pytest.mark.parametrize("page", [p for p in PAGES if kinds(p) & {"python", "console"}], ids=lambda p: p.stem)
def test_a_page_runs_as_printed(page, tmp_path, monkeypatch, prepared):
    monkeypatch.chdir(tmp_path)
    if str(page.relative_to(ROOT)) in NEEDS_YOURS:
        code = [block.text for block in blocks(page.read_text()) if block.language == "python"]
        for block in code:
            compile(block, str(page), "exec")
        imports = [line for line in "\n".join(code).splitlines() if re.match(r"(from tutelage|import tutelage)", line)]
        assert imports
        exec("\n".join(imports), {})
    else:
        run_page(page, tmp_path, prepared)


def test_the_command_of_the_shell_is_the_one_that_pages_run(tmp_path, prepared):
    for command in ("tutelage --version", "tutelage new study 1st"):
        here, there = prepared(*plain_words(command)[1:], variables=shell()), run_in_shell(command, tmp_path)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ('tutelage query "SELECT round(avg(x), 2) FROM a"', ["tutelage", "query", "SELECT round(avg(x), 2) FROM a"]),
        ("tutelage run a.yaml --on processes:2", ["tutelage", "run", "a.yaml", "--on", "processes:2"]),
        ("tutelage studies | head", []),
        ("tutelage studies > a.txt", []),
        ("tutelage studies && ls", []),
        ("tutelage explain results/*", []),
        ("tutelage query SELECT round(2)", []),
    ],
)
def test_only_plain_words_are_run_without_a_shell(command, words):
    assert plain_words(command) == words


def templates() -> list[tuple[str, str]]:
    """Every command of an sh block, with its page."""
    lines = [
        (p.stem, line)
        for p in PAGES
        for b in blocks(p.read_text())
        if b.language == "sh"
        for line in b.text.splitlines()
    ]
    return [(page, line.split(" #")[0].strip()) for page, line in lines if line.startswith("tutelage ")]


@pytest.mark.parametrize(("page", "command"), templates())
def test_the_options_of_a_command_with_placeholders_exist(page, command):
    from tutelage.cli.main import app

    words = shlex.split(command)[1:]
    tree, path = typer.main.get_command(app), []
    for word in words:
        if word.startswith("-") or word not in listed(tree, path):
            break
        path.append(word)
    assert path, f"{page}: there is no command {words[0]}"
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).stdout
    for option in (word.split("=")[0] for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", shown), f"{page}: {' '.join(path)} has no option {option}"


def listed(tree, path: list[str]) -> list[str]:
    """Names of the commands below a path."""
    import click

    from tutelage.cli.lazy import load
    from tutelage.cli.main import COMMANDS

    if not path:
        return list(COMMANDS)
    command = load(path[0], f"tutelage.cli.{COMMANDS[path[0]][0]}")
    return list(getattr(command, "commands", {})) if len(path) == 1 and isinstance(command, click.Command) else []


def test_targets_of_make_on_pages_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z]+)\b", page.read_text(), re.MULTILINE)}
    assert {"demo", "test", "docs"} <= named <= targets


def test_counts_on_pages():
    from tutelage.certificates import theorems
    from tutelage.functions.comparing import gallery

    own = [theorem for theorem in theorems().values() if theorem.function.__module__.startswith("tutelage.")]
    assert f"all {len(own)} theorems" in (ROOT / "docs/subjects/certificates.md").read_text()
    assert len(gallery.names()) == 10  # docs/subjects/functions.md, docs/tutorials/same_function.md: "ten"


NAME = re.compile(r"`(?:tt|tutelage)((?:\.[A-Za-z_]\w*)+)")


@pytest.mark.parametrize("page", [p for p in PAGES if NAME.search(p.read_text())], ids=lambda p: p.stem)
def test_names_on_a_page_exist(page):
    for dotted in sorted(set(NAME.findall(page.read_text()))):
        assert exists("tutelage" + dotted), f"tutelage{dotted}"


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for name in parts[size:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def test_a_name_that_does_not_exist_is_found():
    assert exists("tutelage.population.loss")
    assert exists("tutelage.draws")
    assert not exists("tutelage.population.no_such_name")


def test_blocks_are_read_with_their_output_and_file():
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```{code-block} yaml\n:caption: a.yaml\n\nx: 1\n```\n"
    one, two = blocks(page)
    assert (one.text, one.printed, two.file, two.text) == ("print(1)\n", "1\n", "a.yaml", "x: 1\n")


def test_a_wrong_output_is_found(tmp_path, prepared):
    (tmp_path / "page.md").write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="prints"):
        run_page(tmp_path / "page.md", tmp_path, prepared)


def test_a_failing_command_is_found_unless_its_status_is_shown(tmp_path, prepared):
    (tmp_path / "page.md").write_text("```console\n$ exit 3\n$ echo $?\n3\n```\n")
    run_page(tmp_path / "page.md", tmp_path, prepared)
    (tmp_path / "page.md").write_text("```console\n$ exit 3\n```\n")
    with pytest.raises(AssertionError, match="ended with 3"):
        run_page(tmp_path / "page.md", tmp_path, prepared)
