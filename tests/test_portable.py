"""Calls that exist on POSIX systems alone: each is listed here with what happens elsewhere, so that none slips in."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tutelage"
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
NAMES = {
    "os": {
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "PRIO_PROCESS", "WNOHANG", "chown", "fork", "getegid",
        "geteuid", "getgid", "getloadavg", "getpgid", "getuid", "killpg", "mkfifo", "nice", "sched_getaffinity",
        "setpriority", "setsid", "sysconf", "uname", "wait4", "waitpid",
    },
    "signal": {
        "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIG_BLOCK",
        "SIG_SETMASK", "SIG_UNBLOCK", "pthread_sigmask", "setitimer", "sigwait",
    },
}  # fmt: skip
KNOWN = {
    ("files.py", "fcntl"): "without locks the age of a file says whether it is left over",
    ("files.py", "os.O_NOFOLLOW"): "is_at_work returns before it without fcntl",
    ("files.py", "os.O_NONBLOCK"): "is_at_work returns before it without fcntl",
    ("functions/layers/pairs.py", "os.sysconf"): "a constant where there is no sysconf",
    ("lab/database.py", "resource"): "memory of queries is limited by DuckDB alone",
    (
        "lab/on_processes.py",
        "signal.SIGKILL",
    ): "within except AttributeError: the thread that waits for the driver does",
    ("lab/on_processes.py", "signal.SIG_BLOCK"): "after a test for pthread_sigmask",
    ("lab/on_processes.py", "signal.SIG_SETMASK"): "after a test for pthread_sigmask",
    ("lab/on_processes.py", "signal.pthread_sigmask"): "after a test for pthread_sigmask",
    ("threads.py", "os.PRIO_PROCESS"): "after a test for Linux",
    ("threads.py", "os.sched_getaffinity"): "os.cpu_count elsewhere",
    ("threads.py", "os.setpriority"): "after a test for Linux",
}


def uses(tree: ast.AST) -> set[str]:
    """Names of a module that Windows does not have."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found.add(node.module)
        elif isinstance(node, ast.ImportFrom) and node.module in NAMES:
            found |= {f"{node.module}.{alias.name}" for alias in node.names if alias.name in NAMES[node.module]}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = node.value.id
            if node.attr in NAMES.get(module, ()):
                found.add(f"{module}.{node.attr}")
    return found


def test_every_call_that_windows_lacks_is_known():
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in uses(ast.parse(path.read_text()))
    }
    assert found == set(KNOWN)


@pytest.mark.parametrize("text", ["import fcntl", "from os import fork", "import os\nos.killpg(1, 2)", "signal.SIGHUP"])
def test_such_calls_are_seen(text):
    assert uses(ast.parse(text))


def test_files_are_written_and_folders_replaced_without_locks(tmp_path, monkeypatch):
    from tutelage import files

    monkeypatch.setattr(files, "fcntl", None)
    files.write_atomically(tmp_path / "a.txt", "a")
    with files.at_work(tmp_path / "part"):
        assert not files.is_at_work(tmp_path / "part")
        files.write_atomically(tmp_path / "part" / "b.txt", "b")
    files.replace_folder(tmp_path / "part", tmp_path / "final")
    assert (tmp_path / "final" / "b.txt").read_text() == "b"


def test_queries_run_where_memory_cannot_be_limited(monkeypatch):
    from tutelage.lab import database

    monkeypatch.setattr(database, "resource", None)
    with database.limited(1):
        assert len(bytearray(10**6)) == 10**6
