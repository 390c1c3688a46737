"""An experiment small enough to run in a blink, and ways to change it."""

import pytest

VALUES = {
    "teacher": {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2, "polarity": 1},
    "student": {"kind": "small-normal", "width_factor": 2, "scale": 0.1},
    "inputs": {"kind": "gaussian", "std": 1.5, "train": 40, "evaluate": 30},
    "training": {"steps": 30},
    "record": {"every": 10},
    "seeds": 3,
}


@pytest.fixture(scope="session")
def values():
    """Settings of a small experiment; keyword arguments replace whole sections or single settings in them."""

    def make(**changes):
        out = {name: dict(part) if isinstance(part, dict) else part for name, part in VALUES.items()}
        for name, change in changes.items():
            if isinstance(change, dict) and isinstance(out.get(name), dict):
                out[name] |= change
            else:
                out[name] = change
        return out

    return make
