"""Keeping freed memory is asked for where the C library knows it, and skipped elsewhere."""

import ctypes
import platform

from tutelage.lab.work import keep_freed_memory


def test_glibc_agrees():
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")


def test_other_libraries_are_left_alone(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert keep_freed_memory() is False
