"""Ray on this machine: experiments land as they do here, and no cluster is a sentence."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
import torch

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, execute, schedule

ray = pytest.importorskip("ray", reason="pip install 'tutelage[cluster]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def several(values):
    return [TeacherStudent(**values(teacher={"polarity": p})) for p in (0, 1, 2)]


def listening(numbers):
    """Addresses on which any of these processes listens, from the kernel's own tables."""
    sockets = set()
    for number in numbers:
        try:
            links = [os.readlink(f"/proc/{number}/fd/{fd}") for fd in os.listdir(f"/proc/{number}/fd")]
        except OSError:
            continue
        sockets |= {link[8:-1] for link in links if link.startswith("socket:[")}
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            rows = [line.split() for line in lines][1:]
        found += [row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]
    return found


def family(root):
    """A process and all that descend from it."""
    parents = {}
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [root]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return found


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same as the kernel writes it for IPv6, and ::1."""


JOIN = """
import sys
import ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False)
    print("joined")
except Exception as error:
    print("turned away")
"""


@dataclass
class Visit:
    """What was seen from inside one sweep on Ray; starting a cluster takes many seconds, so one serves all tests."""

    away: list = field(default_factory=list)
    landed: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def look(self, result):
        self.landed.append(result.experiment.hash)
        self.addresses += listening(family(os.getpid()))
        if len(self.landed) == 1:
            words = [sys.executable, "-c", JOIN, ray.get_runtime_context().gcs_address]
            tokens = (os.environ["RAY_AUTH_TOKEN"], "0" * 64)
            drivers = [
                subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | {"RAY_AUTH_TOKEN": token})
                for token in tokens
            ]
            self.answers += [driver.communicate(timeout=120)[0].strip() for driver in drivers]


@pytest.fixture(scope="module")
def visit(values, tmp_path_factory):
    seen = Visit()
    store = Store(tmp_path_factory.mktemp("away"))
    seen.away += schedule(several(values), store, "ray:2", engine="stacked", on_landed=seen.look)
    return seen


def test_results_computed_on_ray_are_those_computed_here(values, tmp_path, visit):
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as many as each worker of Ray has
    local = execute(several(values), Store(tmp_path / "local"), engine="stacked")
    torch.set_num_threads(before)
    for a, b in zip(visit.away, local, strict=True):
        assert {n: v.tobytes() for n, v in a.report.values.items()} == {
            n: v.tobytes() for n, v in b.report.values.items()
        }
    assert len(visit.landed) == 3


def test_a_cluster_of_this_machine_listens_on_loopback_alone_and_asks_for_a_token(visit):
    assert len(visit.addresses) > 5
    assert set(visit.addresses) <= LOOPBACK
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(os.environ["RAY_AUTH_TOKEN"]) >= 32


def test_a_driver_with_another_token_is_turned_away(visit):
    assert visit.answers == ["joined", "turned away"]


def test_a_refusal_in_a_task_reaches_the_user(values, tmp_path):
    with pytest.raises(TutelageError, match="unknown engine 'warp'"):
        schedule(several(values), Store(tmp_path), "ray", engine="warp")


def test_a_version_that_cannot_ask_for_a_token_is_an_error(values, tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "__version__", "2.51.3")
    with pytest.raises(TutelageError, match=r"Ray 2\.51\.3 cannot ask for a token: pip install 'ray>=2\.52'"):
        schedule(several(values), Store(tmp_path), "ray:1", engine="stacked")
