"""Time limits of commands on networks that are too large for them: kept, whatever the sizes."""

import itertools
import json

import torch
from safetensors.torch import save_file

from tutelage.networks import Network, save

ROOM = 60
"""Seconds beyond the limit that a loaded machine may take; the searches these limits end would take far longer."""


def drawn(draw):
    """Two networks of some million weights, equal but for a little, and a box."""
    widths = [int(draw.choice([5, 50, 500])), *draw.choice([1000, 2000, 3000], size=int(draw.integers(1, 3))), 10]
    generator = torch.Generator().manual_seed(int(draw.integers(2**31)))
    shapes = [(1, int(a), int(b)) for a, b in itertools.pairwise(widths)]
    weights = [torch.randn(s, generator=generator) / s[1] ** 0.5 for s in shapes]
    biases = tuple(torch.randn(1, s[2], generator=generator) / 10 for s in shapes)
    moved = [w + 1e-4 * torch.randn(w.shape, generator=generator) for w in weights]
    return Network(tuple(weights), biases), Network(tuple(moved), biases)


def test_commands_end_at_their_limit(attack, prepared, tmp_path):
    draw = attack.generator(97)
    for number in attack.rounds(1):
        first, second = drawn(draw)
        save(first, tmp_path / "a.safetensors")
        save(second, tmp_path / "b.safetensors")
        save_file({"points": torch.rand(50, first.inputs)}, tmp_path / "x.safetensors")
        a, b = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
        asked = [
            ("compare", a, b),
            ("compare", a, b, "--box", 0, 1, "--epsilon", 0.1),
            ("check", a, b, "--data", tmp_path / "x.safetensors", "--box", 0, 1),
            ("prune", a, "--box", 0, 1),
        ]
        words = asked[int(draw.integers(len(asked)))]
        done = prepared(*words, "--seconds", 3, "--json", seconds=3 + ROOM)  # one that goes on is killed
        assert done.returncode in (0, 1, 3), (number, words, done.stderr)
        assert isinstance(json.loads(done.stdout.splitlines()[-1]), dict)
