"""Networks from `.nnet` files, the text format of the ACAS Xu networks: ReLU units between dense layers."""

import itertools
from pathlib import Path

import numpy as np
import torch

from tutelage.errors import TutelageError
from tutelage.networks.boundary import reader
from tutelage.networks.network import Network

LARGEST = 1 << 28
"""The most bytes of a file."""


@reader
def load_nnet(path: str | Path) -> Network:
    """Read a network from a ``.nnet`` file.

    Parameters
    ----------
    path
        The file. Its inputs are the normalised ones and its outputs the raw ones: the ranges, means and scales in the
        header are read over.

    Returns
    -------
    Network
        One member in float64, the nearest numbers to the decimals of the file.

    Raises
    ------
    TutelageError
        If the file ends early or holds something else than numbers.
    """
    path = Path(path)
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    if path.stat().st_size > LARGEST:
        raise TutelageError(f"{path} is larger than {LARGEST >> 20} MiB: take a smaller network")
    try:
        lines = [line for line in path.read_text("ascii").splitlines() if line.strip() and not line.startswith("//")]
        depth = int(_numbers(lines[0])[0])
        widths = [int(n) for n in _numbers(lines[1])[: depth + 1]]
        rows = [_numbers(line) for line in lines[7:]]
    except (ValueError, IndexError, OverflowError) as error:
        raise TutelageError(f"{path} is not an .nnet file ({error})") from None
    if len(widths) != depth + 1 or depth < 1 or min(widths) < 1 or max(widths) > LARGEST:
        raise TutelageError(
            f"{path} says it has {depth:g} layers of widths {', '.join(f'{n:g}' for n in widths[:20])}: one width more "
            f"than layers is needed, each from 1 to {LARGEST:,}"
        )
    weights, biases, at = [], [], 0
    for number, (m, n) in enumerate(itertools.pairwise(widths), start=1):
        weights.append(_block(rows[at : at + n], n, m, path, f"weights of layer {number}"))
        biases.append(_block(rows[at + n : at + 2 * n], n, 1, path, f"biases of layer {number}")[:, 0])
        at += 2 * n
    stacked = tuple(torch.from_numpy(np.ascontiguousarray(w.T)).unsqueeze(0) for w in weights)
    return Network(stacked, tuple(torch.from_numpy(b.copy()).unsqueeze(0) for b in biases), "relu")


def _numbers(line: str) -> list[float]:
    return [float(part) for part in line.split(",") if part.strip()]


def _block(rows: list[list[float]], n: int, m: int, path: Path, what: str) -> np.ndarray:
    if len(rows) != n or any(len(row) != m for row in rows):
        raise TutelageError(f"{path} ends early or has rows of other lengths in the {what}: {n} rows of {m} are needed")
    block = np.array(rows)
    if not np.isfinite(block).all():
        raise TutelageError(f"{path} has numbers that are not finite in the {what}")
    return block
