"""The entry point lists its commands, and its exit codes mean what they say."""

import json
import os
import signal
import subprocess
import sys

import pytest
import typer

import tutelage
from tutelage.cli import main as entry
from tutelage.cli.lazy import load
from tutelage.errors import TutelageError

MAIN = [sys.executable, "-c", "from tutelage.cli import main; main()"]
module = sys.modules["tutelage.cli.main"]


def test_help_names_every_command():
    done = subprocess.run([*MAIN, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for command in ("studies", "reproduce", "run", "report", "ledger", "engines", "experiment", "store", "query"):
        assert command in done.stdout


@pytest.mark.parametrize("name", module.COMMANDS)
def test_every_command_can_be_loaded_and_has_help(name):
    where, summary = module.COMMANDS[name]
    command = load(name, f"tutelage.cli.{where}")
    assert command.name == name
    assert summary.endswith(".")
    assert command.help


def test_the_version_and_the_module_form():
    done = subprocess.run([sys.executable, "-m", "tutelage", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"tutelage {tutelage.__version__}\n"


def ended(monkeypatch, capsys, error, command=None) -> tuple[int, str]:
    """The exit code and the words of a command that ends in an error."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)

    @app.command(command)
    def fail():
        raise error

    monkeypatch.setattr(module, "app", app)
    monkeypatch.setattr(sys, "argv", ["tutelage", command or "fail"])
    monkeypatch.setattr(module.signal, "signal", lambda *a: None)
    with pytest.raises(SystemExit) as end:
        entry()
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (typer.Exit(0), 0, ""),
        (typer.Exit(1), 1, ""),
        (TutelageError("depth must be positive, got -1"), 2, "tutelage: depth must be positive, got -1\n"),
        (PermissionError(13, "Permission denied", "/a"), 2, "tutelage: Permission denied: /a\n"),
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("[enforce fail] can't allocate memory: you tried 9 bytes"), 2, "not enough memory"),
        (KeyError("x"), 70, "tutelage: internal error: KeyError: 'x'; please report it"),
        (ValueError("two\nlines"), 70, r"internal error: ValueError: two\nlines; please"),
        (EOFError("early"), 70, "tutelage: internal error: EOFError: early"),
        (OSError("no number"), 70, "internal error: OSError: no number"),
        (KeyboardInterrupt(), 130, "tutelage: interrupted"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
)
def test_exit_codes(monkeypatch, capsys, error, code, words):
    met, said = ended(monkeypatch, capsys, error)
    assert met == code
    assert words in said
    assert "Traceback" not in said


def test_errors_are_json_with_json(command, tmp_path):
    for words, part in [
        (("query", "SELECT 1", "--results", tmp_path / "none", "--json"), "cannot be read"),
        (("query", "--json"), "Missing argument 'SQL'"),
        (("query", "SELECT 1", "--jso", "--json"), "No such option"),
        (("nothing", "--json"), "No such command"),
        (("engines", "--json", "--wrong"), "No such option"),
    ]:
        done = command(*words)
        said = json.loads(done.err)
        assert (done.code, said["exit"], done.out) == (2, 2, "")
        assert part in said["error"]


def test_an_internal_error_is_json_with_json(monkeypatch, capsys):
    monkeypatch.setattr(module, "_JSON", "fail")  # stands for --json among the words
    code, said = ended(monkeypatch, capsys, KeyError("x"))
    assert (code, json.loads(said)["exit"]) == (70, 70)


def test_verdicts_stay_verdicts_with_json(monkeypatch, capsys):
    monkeypatch.setattr(module, "_JSON", "fail")
    assert ended(monkeypatch, capsys, typer.Exit(1)) == (1, "")
    assert ended(monkeypatch, capsys, KeyboardInterrupt())[0] == 130


def test_what_a_terminal_would_obey_is_escaped(monkeypatch, capsys):
    _, said = ended(monkeypatch, capsys, TutelageError("a\x1b[2J\u202eb"))
    assert said == "tutelage: a\\x1b[2J\\u202eb\n"


LOST = """
import os, signal, sys
import typer
import tutelage.cli
module = sys.modules["tutelage.cli.main"]

class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))

app = typer.Typer(pretty_exceptions_enable=False)
app.callback()(lambda: None)

@app.command()
def swallow():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))
    except BaseException:
        pass

@app.command()
def destroy():
    thing = Destroyed()
    del thing
    for _ in range(10**9):
        pass

@app.command()
def leave():
    import atexit
    atexit.register(lambda: (os.kill(os.getpid(), signal.SIGTERM), sum(range(1000))))

@app.command()
def twice():
    times = iter(range(20))

    def kill(number, frame):
        os.kill(os.getpid(), signal.SIGINT)
        if next(times, None) is None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    import atexit
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # its handler is gone when the interpreter is taken apart
    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for _ in range(10**9):
        pass

module.app = app
module.main()
"""


@pytest.mark.parametrize(
    ("words", "codes", "said"),
    [
        (["swallow"], (130,), "tutelage: interrupted\n"),
        (["destroy"], (130,), "tutelage: interrupted\n"),
        (["twice"], (130, -signal.SIGINT), "tutelage: interrupted\n"),  # a shell calls both 130
        (["leave"], (-signal.SIGTERM,), ""),
    ],
)
def test_no_interrupt_is_lost_and_none_ends_in_a_traceback(words, codes, said):
    done = subprocess.run([sys.executable, "-c", LOST, *words], capture_output=True, text=True, timeout=60)
    assert done.stderr == said
    assert done.returncode in codes


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("reproduce", "finished experiments are stored, and the same command continues"),
        ("run", "finished experiments are stored, and the same command continues"),
        ("compare", "interrupted without a result; with --seconds N the best result so far"),
        ("identify", "interrupted without a result; with --seconds N the best result so far"),
        ("match", "tutelage: interrupted\n"),
    ],
)
def test_what_is_left_of_an_interrupted_command(monkeypatch, capsys, command, words):
    code, said = ended(monkeypatch, capsys, KeyboardInterrupt(), command)
    assert code == 130
    assert words in said


@pytest.mark.parametrize("command", module._LIMITED)
def test_commands_that_name_a_time_limit_have_one(command):
    where, _ = module.COMMANDS[command]
    assert "seconds" in {p.name for p in load(command, f"tutelage.cli.{where}").params}


def test_the_traceback_of_an_internal_error_is_shown_on_request(monkeypatch, capsys):
    monkeypatch.setenv("TUTELAGE_TRACEBACK", "1")
    code, said = ended(monkeypatch, capsys, KeyError("x"))
    assert code == 70
    assert "Traceback" in said


def test_output_that_nobody_reads_is_no_verdict():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run([*MAIN, "cite"], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == module.UNREAD
    assert "Traceback" not in done.stderr


def every_command():
    """Every command with its parameters, groups opened."""
    for name, (where, _) in module.COMMANDS.items():
        command = load(name, f"tutelage.cli.{where}")
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", c) for inner, c in command.commands.items())
        else:
            yield name, command


def test_every_option_says_what_it_is():
    """Noun phrases or imperatives that end with a full stop; no bare "Of Adam." and no riddles."""
    for name, command in every_command():
        assert command.help, name
        assert command.help[0].isupper(), name
        assert not command.help.startswith(("Say ", "Tell ")), name
        for parameter in command.params:
            text = parameter.help or ""
            assert text[:1].isupper(), f"{name} {parameter.name}: {text!r}"
            assert text.endswith("."), f"{name} {parameter.name}: {text!r}"
            assert not text.startswith(("Of ", "Where ", "Which ", "The most", "A ", "An ", "The other")) or (
                parameter.name == "on"
            ), f"{name} {parameter.name}: {text!r}"
            assert " a member" not in text, f"{name} {parameter.name}: {text!r}"


def test_brackets_in_help_survive_the_markup(capsys, monkeypatch):
    for words, shape in ((("certify",), "[S, N, d]"), (("distil",), "[N, d]"), (("run",), "ray[://HOST:PORT]")):
        monkeypatch.setattr(sys, "argv", ["tutelage", *words, "--help"])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit):
            entry()
        assert shape in capsys.readouterr().out
