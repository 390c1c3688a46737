"""The wheel is the whole package: it runs without the clone, and brings no tools of development."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="wheels are built by hatchling")

ROOT = Path(__file__).parents[1]
CORE = {
    "duckdb", "jinja2", "matplotlib", "mpmath", "numba", "numpy", "pillow", "pyarrow", "pydantic", "pyyaml", "rich",
    "safetensors", "scipy", "torch", "typer",
}  # fmt: skip


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A folder with what the wheel holds."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(unpacked, folder, *words):
    """A command of the unpacked wheel, in a folder that is no clone."""
    environment = os.environ | {"PYTHONPATH": str(unpacked), "MPLBACKEND": "Agg"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_package_is_the_one_of_the_wheel(unpacked, tmp_path):
    done = run(unpacked, tmp_path, "-c", "import tutelage; print(tutelage.__file__)")
    assert done.stdout.strip() == str(unpacked / "tutelage" / "__init__.py")


def test_a_study_runs_and_has_its_report(unpacked, tmp_path):
    done = run(unpacked, tmp_path, "-m", "tutelage", "reproduce", "l-shape", "--scale", "smoke", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "smoke" / "l-shape" / "report.html").stat().st_size > 10_000


def test_the_playground_is_written(unpacked, tmp_path):
    done = run(unpacked, tmp_path, "-m", "tutelage", "studio", "--offline", "play.html")
    assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "play.html").read_text()[:200]


def test_every_file_of_the_package_is_in_the_wheel(unpacked):
    source = ROOT / "src" / "tutelage"
    files = {path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    missing = [path for path in files if not (unpacked / "tutelage" / path.relative_to(source)).is_file()]
    assert missing == []
    assert len(files) > 500


def test_only_what_every_user_needs_is_required(unpacked):
    (metadata,) = unpacked.glob("tutelage-*.dist-info/METADATA")
    lines = [line.split(": ", 1)[1] for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist")]
    required = {line.split(">")[0].split("<")[0].strip().lower() for line in lines if "extra ==" not in line}
    assert required == CORE
