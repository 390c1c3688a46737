"""Stamps change with what is compiled, and with nothing else."""

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
