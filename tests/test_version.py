"""The commit is what the environment says, else what git says of the checkout, else unknown; never an error."""

import subprocess
import sys

import pytest

from tutelage import version


@pytest.fixture(autouse=True)
def _fresh():
    version.commit.cache_clear()
    yield
    version.commit.cache_clear()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git checkout that looks like this package."""
    folder = tmp_path / "src" / "tutelage"
    folder.mkdir(parents=True)
    (folder / "version.py").write_text("")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    return tmp_path


def test_the_environment_decides_and_is_asked_once(monkeypatch):
    monkeypatch.setenv("TUTELAGE_COMMIT", " abc123 ")
    assert version.commit() == "abc123"
    monkeypatch.setenv("TUTELAGE_COMMIT", "another")
    assert version.commit() == "abc123"


def test_git_says_the_commit_and_whether_there_are_changes(checkout, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as inside a hook of another repository
    clean = version._described(checkout)
    assert clean
    (checkout / "src" / "tutelage" / "version.py").write_text("changed")
    assert version._described(checkout) == f"{clean}-dirty"


def test_another_repository_is_not_mistaken_for_the_package(checkout):
    (checkout / "src" / "tutelage" / "version.py").unlink()
    assert version._described(checkout) is None


def test_a_git_that_fails_or_is_slow_means_unknown(checkout, tmp_path, monkeypatch):
    (checkout / ".git" / "HEAD").write_text("rubbish")
    assert version._described(checkout) is None
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    late = tmp_path / "late"
    script.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(30)\nopen({str(late)!r}, 'w')\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(version, "_SECONDS", 0.2)
    assert version._described(checkout) is None
    assert not late.exists()  # nobody waited for it to end
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version._described(checkout) is None
