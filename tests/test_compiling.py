"""Stamps change with what is compiled, and with nothing else."""

import os
import pickle
import subprocess
import sys

from tutelage.compiling import compiled, stamp_of


def test_a_stamp_is_that_of_the_texts_and_the_setting(tmp_path):
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text("x = 1")
    second.write_text("y = 1")
    stamp = stamp_of(str(first), str(second), setting="avx2")
    assert stamp == stamp_of(str(first), str(second), setting="avx2")
    assert stamp != stamp_of(str(first), str(second), setting="narrow")
    assert stamp != stamp_of(str(second), str(first), setting="avx2")
    second.write_text("y = 2")
    assert stamp != stamp_of(str(first), str(second), setting="avx2")


def test_an_entry_point_runs():
    def double(x):
        return 2 * x

    assert compiled(double)(21) == 42


def test_files_of_another_version_are_compiled_anew(tmp_path):
    """An index that cannot be unpickled, since a class it names is gone, costs a compilation and nothing else."""
    (tmp_path / "loops.py").write_text(
        "from tutelage.compiling import compiled\n\n@compiled\ndef double(x):\n    return 2 * x\n"
    )
    words = [sys.executable, "-c", "import loops; print(loops.double(3))"]
    own = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}", "NUMBA_CACHE_DIR": ""}
    first = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True, check=True)
    (index,) = tmp_path.rglob("*.nbi")
    with open(index, "rb") as file:
        version = pickle.load(file)  # numba's own, in its own file
    index.write_bytes(pickle.dumps(version) + b"cnowhere\nNothing\n.")
    second = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
    assert (second.returncode, second.stdout) == (0, first.stdout), second.stderr
