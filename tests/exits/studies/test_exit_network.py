"""One network with exits as an experiment: what decides its hash, which images it reads, how several are grouped."""

import time

import numpy as np
import pytest
import torch

from tutelage.data.blobs import blobs
from tutelage.errors import TutelageError
from tutelage.exits.studies import _exit_network as exit_network
from tutelage.exits.studies._exit_network import ExitNetwork, side_by_side
from tutelage.lab import Context

TINY = ExitNetwork(images="blobs", labelled=10, held=4, total=20, width=4, epochs=1, batch=20)


@pytest.fixture(autouse=True)
def fresh_images():
    exit_network._images.cache_clear()
    yield
    exit_network._images.cache_clear()


def test_everything_a_training_depends_on_is_in_the_hash():
    changes = {
        "images": "digits", "labelled": 14, "held": 3, "total": 21, "unlabelled": True, "teachers": "none",
        "temperature": 4.0, "limit": 0.1, "network": "msdnet", "width": 5, "halve": (1,), "epochs": 2, "batch": 10,
        "learning_rate": 0.2, "drops": (1,), "mixed": True, "top": 5, "seed": 1, "folder": "pictures",
    }  # fmt: skip
    assert set(changes) == set(ExitNetwork.model_fields)
    experiments = [TINY] + [TINY.model_copy(update={name: value}) for name, value in changes.items()]
    assert len({experiment.hash for experiment in experiments}) == len(experiments)


def test_cifar100_and_its_measure_are_settings(monkeypatch):
    asked = []
    monkeypatch.setattr(exit_network, "load_images", lambda name: asked.append(name) or blobs(300, 100))
    chosen = ExitNetwork(**TINY.model_dump() | {"images": "cifar100", "top": 5})
    all_found = chosen.run(Context())
    assert asked == ["cifar100"]
    assert (all_found["single"] >= TINY.run(Context())["single"]).all()


def test_a_group_is_trained_as_its_networks_are_one_by_one():
    experiments = [TINY, TINY.model_copy(update={"teachers": "none"}), TINY.model_copy(update={"seed": 1})]
    together = exit_network.train_networks(experiments, torch.device("cpu"), lambda share: None, [Context()] * 3)
    for experiment, arrays in zip(experiments, together, strict=True):
        alone = experiment.run(Context())
        assert alone.keys() == arrays.keys()
        assert all(np.array_equal(alone[name], arrays[name]) for name in alone)
    assert "temperatures" not in together[1]


@pytest.mark.parametrize("teachers", ["last", "none"])
def test_an_interrupted_training_goes_on_where_it_was(tmp_path, teachers):
    """The numbers are those of a training without interruption, and no epoch is trained twice."""
    long = TINY.model_copy(update={"epochs": 20, "drops": (5, 12), "teachers": teachers})
    whole = long.run(Context())
    shares = []

    def stop(share):
        shares.append(share)
        if len(shares) == 13:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        long.run(Context(scratch=tmp_path, progress=stop))
    assert len(list(tmp_path.glob("*.safetensors"))) == 6
    again = []
    found = long.run(Context(scratch=tmp_path, progress=again.append))
    assert len(again) == 8  # of 20 epochs, 12 were kept
    assert whole.keys() == found.keys()
    assert all(np.array_equal(whole[name], found[name]) for name in whole)


def test_networks_side_by_side_have_the_same_images_and_epochs():
    longer = TINY.model_copy(update={"epochs": 2})
    many = [e.model_copy(update={"seed": seed}) for seed in range(3) for e in (TINY, longer)]
    groups = side_by_side(many, most=2)
    assert [len(group) for group in groups] == [2, 1, 2, 1]
    assert all(len({e.epochs for e in group}) == 1 for group in groups)
    assert sorted(e.hash for group in groups for e in group) == sorted(e.hash for e in many)


def test_on_a_gpu_networks_are_trained_in_groups(monkeypatch):
    """The device is not used: what is trained together is recorded instead of training."""
    groups, shares = [], {}

    def record(experiments, device, progress, contexts):
        assert len(contexts) == len(experiments)
        groups.append([e.seed for e in experiments])
        progress(0.5)
        time.sleep(0.02)
        return [{"seed": e.seed} for e in experiments]

    monkeypatch.setattr(exit_network, "train_networks", record)
    context = Context(device=torch.device("cuda"), on_done=lambda e, share: shares.update({e.seed: share}))
    many = [TINY.model_copy(update={"seed": seed}) for seed in range(26)]
    many.append(TINY.model_copy(update={"seed": 26, "labelled": 16}))
    found = list(ExitNetwork.run_all(many, context))
    assert groups == [list(range(25)), [25, 26]]
    assert [(e.seed, arrays["seed"]) for e, arrays in found] == [(seed, seed) for seed in range(27)]
    assert shares == dict.fromkeys(range(27), 0.5)
    seconds = [arrays.about(e)["seconds"] for e, arrays in found]
    assert seconds[0] == seconds[24] > 0  # each has its part of the time
    assert seconds[26] == pytest.approx(2 * seconds[25], abs=2e-3)  # for it learns from twice as many images


def test_settings_out_of_range_are_an_error():
    with pytest.raises(TutelageError, match="epochs"):
        ExitNetwork(images="blobs", labelled=10, held=4, total=20, epochs=0)
    with pytest.raises(TutelageError, match="teachers"):
        ExitNetwork(images="blobs", labelled=10, held=4, total=20, epochs=1, teachers="first")
