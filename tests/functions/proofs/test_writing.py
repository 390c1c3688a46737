"""Answers with a proof that the checker accepts, and sentences where there is none."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.functions.conftest import make_network

from tutelage.errors import TutelageError
from tutelage.functions import box, difference_bound, polytope, same_function, save_proof, top_class_agreement
from tutelage.networks import Network
from tutelage.networks.exporting import save_onnx
from tutelage.verifying import verified

pytest.importorskip("onnx")


def single(widths, seed, **more):
    return make_network(widths, seed, **more).map(lambda a: a.float())


def near(network, share, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return network.map(lambda a: a * (1 + share * torch.randn(a.shape, generator=draw)))


@pytest.fixture
def files(tmp_path):
    """A function that writes two networks to ONNX files."""

    def write(*networks):
        paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
        for network, path in zip(networks, paths, strict=True):
            save_onnx(network, path)
        return paths

    return write


def permuted(network, scales=(1.0,), seed=0):
    """The same network with the units of every hidden layer in another order, scaled."""
    weights, biases = list(network.weights), list(network.biases)
    draw = torch.Generator().manual_seed(seed)
    for layer in range(network.depth - 1):
        order = torch.randperm(weights[layer].shape[2], generator=draw)
        by = torch.tensor(scales)[torch.randint(len(scales), (len(order),), generator=draw)]
        weights[layer], biases[layer] = weights[layer][..., order] * by, biases[layer][..., order] * by
        weights[layer + 1] = weights[layer + 1][:, order] / by[:, None]
    return Network(tuple(weights), tuple(biases), network.activation)


def with_split_layer(network):
    """The same function with one layer more: units are taken apart, and put together again above (ReluSplitter)."""
    w, b = network.weights[0], network.biases[0]
    eye = torch.eye(w.shape[2])[None]
    weights = torch.cat([2 * w, -w], 2), torch.cat([0.5 * eye, -eye], 1), *network.weights[1:]
    biases = torch.cat([2 * (b - 0.25), 0.25 - b], 1), torch.full_like(b, 0.25), *network.biases[1:]
    return Network(weights, biases, network.activation)


PAIRS = {
    "nearly equal": lambda net: near(net, 0.01),
    "permuted": lambda net: near(permuted(net), 0.01),
    "scaled": lambda net: near(permuted(net, (0.3, 1.0, 7.0)), 0.001),
    "split and put together": lambda net: near(with_split_layer(net), 0.0),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_a_bound_has_a_proof(kind, files, tmp_path):
    first = single((2, 5, 4, 2), 1)
    second, where = PAIRS[kind](first), box(-1, 1, dimension=2)
    epsilon = 1.2 * difference_bound(first, second, where).at_most.max().item() + 1e-6
    answer = difference_bound(first, second, where, epsilon, keep=True)
    paths = files(first, second)
    parts = save_proof(tmp_path / "proof.json.gz", answer, *paths, where, epsilon=epsilon)
    assert verified(tmp_path / "proof.json.gz", *paths) == (
        True,
        f"no output differs by more than {epsilon!r}, for every input of the box ({parts:,} parts)",
    )
    assert not verified(tmp_path / "proof.json.gz", paths[0], files(first, near(second, 0.5))[1])[0]


def test_networks_of_other_widths_and_depths_have_a_proof(files, tmp_path):
    first, second, where = single((2, 4, 2), 1), single((2, 3, 5, 2), 2), box(-1, 1, dimension=2)
    answer = difference_bound(first, second, where, keep=True)
    paths = files(first, second)
    save_proof(tmp_path / "proof.json", answer, *paths, where)
    right, words = verified(tmp_path / "proof.json", *paths)
    assert right
    assert repr(answer.at_most[0].item()) in words


def test_one_output_alone_has_a_proof(files, tmp_path):
    first, where = single((2, 5, 3), 1), box((-1.0, 0.5), (1.0, 0.5), flat=True)
    second = near(first, 0.02)
    answer = difference_bound(first, second, where, 0.5, output=1, keep=True)
    paths = files(first, second)
    save_proof(tmp_path / "proof.json", answer, *paths, where, epsilon=[torch.inf, 0.5, torch.inf])
    assert json.loads((tmp_path / "proof.json").read_text())["claim"] == {"at_most": [None, 0.5, None]}
    assert verified(tmp_path / "proof.json", *paths)[1].startswith("output 1 differs by at most 0.5, for")


def test_top_classes_have_a_proof(files, tmp_path):
    first, where = single((2, 6, 3), 4), box(-1, 1, dimension=2)
    second = near(first, 1e-4)
    answer = top_class_agreement(first, second, where, 0.05, keep=True)
    paths = files(first, second)
    save_proof(tmp_path / "proof.json", answer, *paths, where, margin=0.05)
    assert verified(tmp_path / "proof.json", *paths)[0]


@pytest.mark.parametrize(("scales", "equal"), [((1.0, 0.5, 4.0), True), ((1.0, 0.3, 1.7), False)])
def test_units_permuted_and_scaled_are_the_same_function_over_all_inputs(scales, equal, files, tmp_path):
    first = single((3, 6, 5, 2), 3)
    second = permuted(first, scales)
    answer = same_function(first, second)
    assert answer.verdict == "same and related"
    paths = files(first, second)
    assert save_proof(tmp_path / "proof.json", answer, *paths, None) == 0
    right, words = verified(tmp_path / "proof.json", *paths)
    assert right
    assert ("no output differs by more than 0.0, times" in words) == equal
    assert "for all inputs x" in words


def test_an_answer_without_boxes_is_cut_where_the_checker_needs_it(files, tmp_path):
    first, where = single((2, 6, 5, 1), 1), box(-1, 1, dimension=2)
    second = near(first, 0.02)
    epsilon = 1.2 * difference_bound(first, second, where).at_most.item()
    answer = replace(difference_bound(first, second, where, epsilon, keep=True), leaves=None)
    paths = files(first, second)
    assert save_proof(tmp_path / "proof.json", answer, *paths, where, epsilon=epsilon) > 3
    assert verified(tmp_path / "proof.json", *paths)[0]


def test_parts_that_the_checker_proves_at_once_are_left_whole(files, tmp_path):
    """A search cuts boxes that its first bounds leave open: it may have more of them than the proof needs."""
    first, where = single((2, 6, 2), 1), box(-1, 1, dimension=2)
    second = near(first, 0.02)
    answer = difference_bound(first, second, where, 5.0, keep=True)
    low = np.array([[x, y] for x in (-1.0, -0.5, 0.0, 0.5) for y in (-1.0, 0.0)])
    answer = replace(answer, leaves=(low, low + np.array([0.5, 1.0])))
    paths = files(first, second)
    assert save_proof(tmp_path / "proof.json", answer, *paths, where, epsilon=5.0) == 1
    assert verified(tmp_path / "proof.json", *paths)[0]


def test_boxes_are_kept_where_they_are_the_proof_alone():
    """Of a division that another strategy ended, or the time, boxes are missing."""
    first, second, where = single((2, 9, 9, 1), 1), single((2, 9, 9, 1), 2), box(-1, 1, dimension=2)
    found = difference_bound(first, second, where, 1.01 * difference_bound(first, second, where).difference, seconds=0,
                             keep=True)  # fmt: skip
    assert found.verdict == "not decided"
    assert found.leaves is None


def test_what_has_no_proof_is_an_error_and_no_file(files, tmp_path):
    first, where = single((2, 6, 5, 1), 1), box(-1, 1, dimension=2)
    second = near(first, 0.02)
    paths, path = files(first, second), tmp_path / "proof.json"
    holds = difference_bound(first, second, where, 0.5, keep=True)
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0]))
    for answer, domain, epsilon, seconds, words in (
        (difference_bound(first, second, where, 1e-9), where, 1e-9, 9, 'the answer is "violated"'),
        (holds, triangle, 0.5, 9, "ask about a box"),
        (holds, where, 1e-3, 1e-6, "the time is over"),
        (replace(same_function(first, first), tolerance=0.0), None, None, 9, "possible over all inputs"),
    ):
        with pytest.raises(TutelageError, match=words):
            save_proof(path, answer, *paths, domain, epsilon=epsilon, seconds=seconds)
        assert not path.exists()
    save_onnx(replace(first, activation="leaky"), paths[0])
    with pytest.raises(TutelageError, match="LeakyRelu"):
        save_proof(path, holds, *paths, where, epsilon=0.5)
