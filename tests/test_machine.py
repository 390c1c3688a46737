"""The machine that a result is stored with."""

import platform

import numpy as np
import torch

from tutelage.machine import machine, processor


def test_the_versions_are_those_of_the_libraries_in_use():
    told = machine()
    assert (told["python"], told["numpy"]) == (platform.python_version(), np.__version__)
    assert torch.__version__.startswith(told["torch"].partition("+")[0])


def test_the_model_of_the_processor_is_read_from_the_first_that_is_listed(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: A fast one\n\nprocessor\t: 1\nmodel name\t: another\n")
    assert processor(cpuinfo) == "A fast one"


def test_without_such_a_list_it_is_never_empty(tmp_path):
    assert processor(tmp_path / "missing")
