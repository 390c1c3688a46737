"""Compiled loops give the same bits in the process that compiles them and in one that reads them from disk."""

import os
import subprocess
import sys

DESCENT = """
import hashlib
from tutelage.local import LocalSetting, descend, local_students, separated_teachers
teachers = separated_teachers(3, 4, range(8))
run = descend(LocalSetting(teachers, local_students(teachers, 9, range(8))), [0, 300])
print(hashlib.sha256(run.end.students.numpy().tobytes()).hexdigest())
"""


def test_descent_has_the_same_bits_whether_compiled_now_or_before(tmp_path):
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", DESCENT], env=surroundings, check=True, capture_output=True, text=True)
        for _ in range(2)
    )
    assert any(tmp_path.rglob("*.nbi"))
    assert first.stdout == second.stdout
