"""Hashes name stored results: one experiment of every kind keeps the hash it has."""

import json
from pathlib import Path

from tutelage.lab.execute import with_needs
from tutelage.studies import STUDIES
from tutelage.studies.reproduce import distinct_experiments, plans

KEPT = json.loads(Path(__file__).with_name("hashes.json").read_text())


def test_hashes_are_those_of_stored_results():
    """The first experiment of each kind in the plans of all studies at scale smoke.

    A hash that changes hides the results stored under the old one. That is meant where ``numerics`` was raised or a
    plan changed: then its line in hashes.json is changed too. A setting added to a record is marked ``ADDED`` instead.
    """
    first = {}
    for experiment in with_needs(distinct_experiments(plans(list(STUDIES), "smoke"))):
        first.setdefault(experiment.kind, experiment.hash)
    assert first == KEPT
