"""Small problems that many tests share, and one profile for Hypothesis."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

import tutelage as tt
from tutelage.networks import Network
from tutelage.networks.activations import slope_of

settings.register_profile("tutelage", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("tutelage")
torch.set_num_threads(1)  # the tests run in two processes on two cores
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell starts what it leaves in the background like this
    signal.signal(signal.SIGINT, signal.default_int_handler)  # or what tests start would not be interrupted either


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request) -> torch.dtype:
    return request.param


def make_network(widths, members=2, seed=0, bias=True, activation="relu", slope=0.1, dtype=torch.float64) -> Network:
    """Weights of variance 1/fan_in, so that every layer is of order one."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, i, o) / i**0.5 for i, o in pairs)
    biases = tuple(normal(members, o) for _, o in pairs) if bias else None
    return Network(weights, biases, activation, slope_of(activation, slope))


@pytest.fixture(scope="session")
def random_network():
    return make_network


class Problem:
    """Teachers, students and inputs of a few members, small enough for any test."""

    def __init__(
        self,
        seeds=range(3),
        widths=(6, 4, 3),
        width_factor=2,
        dtype=torch.float64,
        train=64,
        scale=0.3,
        teacher_bias=-0.1,
        **student,
    ):
        self.seeds = tuple(seeds)
        self.recipe = tt.teachers.Levels(
            inputs=widths[0], hidden=widths[1:-1], outputs=widths[-1], polarity=0.5, bias=teacher_bias
        )
        self.distribution = tt.inputs.Gaussian(std=1.5, train=train, evaluate=50)
        self.teacher = self.recipe.build(self.seeds, self.distribution, dtype)
        self.inputs = self.distribution.draw(self.teacher, self.seeds)
        self.students = tt.students.SmallNormal(width_factor=width_factor, scale=scale, **student).build(
            self.teacher, self.seeds
        )


@pytest.fixture
def problem():
    return Problem


@pytest.fixture(autouse=True)
def signals_are_handled_as_before():
    """A command that a test runs in this process leaves signals as the end of a process needs them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)


class Prepared:
    """Runs commands of ``tutelage`` in forks of one process that has imported the package (tests/prepared.py)."""

    def __init__(self, scratch: Path):
        self.out, self.err = scratch / "out", scratch / "err"
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "prepared.py"], stdin=pipe, stdout=pipe
        )

    def __call__(self, *words, folder=".", variables=os.environ, seconds=300) -> subprocess.CompletedProcess[str]:
        """Run one command to its end: its status (of a signal: minus its number) and what it printed."""
        streams = {"out": str(self.out), "err": str(self.err)}
        for path in streams.values():
            Path(path).write_text("")
        words = [str(word) for word in words]
        asked = {"words": words, "folder": str(Path(folder).absolute()), "variables": dict(variables)}
        self.process.stdin.write(json.dumps(asked | streams | {"seconds": seconds}).encode() + b"\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        return subprocess.CompletedProcess(words, status, self.out.read_text(), self.err.read_text())

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Commands in processes of their own, without the seconds of imports that each of them would cost."""
    commands = Prepared(tmp_path_factory.mktemp("prepared"))
    yield commands
    commands.end()


WHY = "PAGES ARE NOT TESTED IN A BROWSER"


def _chromium():
    """A Chromium of this machine, or None for playwright's own."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("TUTELAGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser():
    """A Chromium; without one the tests are skipped, or fail where TUTELAGE_BROWSER=required says so."""
    required = os.environ.get("TUTELAGE_BROWSER") == "required"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        (pytest.fail if required else pytest.skip)(f"{WHY}: install playwright")
    with sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        except Exception as error:
            (pytest.fail if required else pytest.skip)(f"{WHY}: install chromium ({str(error).splitlines()[0]})")
        yield launched
        launched.close()
