"""kill -9 at random moments, of sweeps and of studies: all that is there is whole, and resumed work ends the same."""

import json
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tutelage.lab import store_tools
from tutelage.studies import reproduce

faults = runpy.run_path(str(Path(__file__).with_name("faults.py")))

ALTERNATE = """
import sys
import numpy as np, pyarrow as pa
from matplotlib.figure import Figure
from tutelage.lab import Experiment
from tutelage.studies import STUDIES, Claim, reproduce
from tutelage.studies.study import Plan, Study

class Ones(Experiment, kind="attack-ones", numerics=1):
    variant: str
    seeds: tuple[int, ...] = (0, 1, 2)

    def run(self, context):
        return {"ones": np.ones(3)}

def study(variant):
    def plan(scale):
        values = lambda r: {variant: r.one()["ones"]}
        claim = Claim("ones are positive", "the number", "> 0", values, "the sign decides")
        return Plan([Ones(variant=variant)], lambda r: Figure(), [claim], lambda r: pa.table({"variant": [variant]}))
    return Study("ones", "tian2020", "Thm 1", "Ones", "Ones.", plan)

def write(variant):
    STUDIES["ones"] = study(variant)
    reproduce(["ones"], "smoke", sys.argv[1])

write("a")
print("ready", flush=True)
while True:
    for variant in ("b", "a"):
        write(variant)
"""

REPRODUCE = """
import sys
from tutelage.studies import reproduce
print("ready", flush=True)
reproduce([sys.argv[2]], "smoke", sys.argv[1])
print("done", flush=True)
"""


@pytest.mark.parametrize("on", ["local", "processes:2"])
def test_a_sweep_that_is_killed_loses_nothing_and_ends_with_the_same_numbers(on, attack):
    kills = len(attack.rounds(1))
    counts = faults["run"](kills=kills, on=on, seed=attack.seed, within=3.0)
    assert counts["driver"] + counts["worker"] == kills
    assert [counts[name] for name in ("lost", "changed", "damaged", "different")] == [0, 0, 0, 0]
    assert counts["landed"] == faults["PACKS"] * counts["rounds"]


def start(script, *words):
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process):
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_folder_of_a_study_is_never_of_two_runs(tmp_path, attack):
    """A study is written again and again in two variants, and killed; its files must be those of one of them."""
    chance, seen = attack.generator(1), set()
    for _ in attack.rounds(2):
        process = start(ALTERNATE, tmp_path)
        time.sleep(chance.uniform(0, 1.0))
        kill(process)
        folder = tmp_path / "smoke" / "ones"
        claims = json.loads((folder / "claims.json").read_text())
        (settings,) = yaml.safe_load_all((folder / "settings.yaml").read_text())
        (variant,) = pq.read_table(folder / "numbers.parquet")["variant"].to_pylist()
        assert {claims[0]["setting"], settings["variant"], variant} == {variant}
        assert {file.name for file in folder.iterdir()} == {
            "figure.png", "figure.pdf", "claims.json", "numbers.parquet", "values.parquet", "settings.yaml",
        "provenance.json",
        }  # fmt: skip
        seen.add(variant)
    assert seen <= {"a", "b"}


STUDIES = ("batch-size", "sentences", "orthogonal-two-layer", "focus-shifting")
"""Three that compute something else than trained students, and one that trains them."""


def test_a_study_that_is_killed_and_resumed_ends_with_the_same_bytes(tmp_path, attack):
    """Results are absent or whole after a kill, and the study ends the same after another start."""
    chance = attack.generator(2)
    for number in attack.rounds(1):
        name, out = STUDIES[number % len(STUDIES)], tmp_path / str(number)
        process = start(REPRODUCE, out, name)
        time.sleep(chance.uniform(0, 3.0))
        kill(process)
        reproduce([name], "smoke", tmp_path / "undisturbed")
        wanted = contents(tmp_path / "undisturbed" / "smoke" / name)
        folder = out / "smoke" / name
        if (out / "results").is_dir():
            assert not any(found for _, found in store_tools.check(out / "results"))
        assert not folder.exists() or contents(folder) == wanted
        reproduce([name], "smoke", out)
        assert contents(folder) == wanted


def contents(folder):
    """What does not depend on the time: everything but provenance."""
    return {
        file: (folder / file).read_bytes() for file in ("claims.json", "numbers.parquet", "figure.png", "settings.yaml")
    }
