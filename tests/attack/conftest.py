"""Attacks: random searches for a wrong answer, a hole or a traceback.

`make test` runs each attack once with a fixed seed; `make attack` runs it many times more with a fresh one. The seed is
printed at the head of the run: `TUTELAGE_ATTACK_SEED=N make attack` repeats it.
"""

import os
import secrets
from dataclasses import dataclass

import numpy as np
import pytest

FACTOR = int(os.environ.get("TUTELAGE_ATTACK", "1"))
SEED = int(os.environ.get("TUTELAGE_ATTACK_SEED", "0" if FACTOR == 1 else str(secrets.randbits(32))))

os.environ["TUTELAGE_ATTACK_SEED"] = str(SEED)  # for the workers of xdist, which would each draw one


@dataclass(frozen=True)
class Attack:
    """How often to try, and the seed of everything random."""

    seed: int
    factor: int

    def rounds(self, short: int) -> range:
        """As many rounds as `make test` makes, times the factor of `make attack`."""
        return range(short * self.factor)

    def generator(self, stream: int = 0) -> np.random.Generator:
        return np.random.default_rng((self.seed, stream))


@pytest.fixture
def attack() -> Attack:
    return Attack(SEED, FACTOR)


def pytest_report_header() -> str:
    return f"attack seed {SEED}, factor {FACTOR} (TUTELAGE_ATTACK_SEED, TUTELAGE_ATTACK)"
