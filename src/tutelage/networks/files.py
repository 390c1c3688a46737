"""Networks as safetensors files with the architecture in the metadata; nothing is ever unpickled."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.networks.activations import slope_of
from tutelage.networks.boundary import reader
from tutelage.networks.network import Network
from tutelage.settings import one_line

FORMAT = "tutelage-network-1"
_DEEPEST = 100_000  # layers


def save(network: Network, path: str | Path) -> None:
    """Write networks to a safetensors file, which is complete or absent.

    Parameters
    ----------
    network
        S members.
    path
        File to write.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> network = Network((torch.ones(2, 3, 4), torch.ones(2, 4, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(network, Path(folder) / "a.safetensors")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.safetensors']
    """
    write_atomically(Path(path), to_bytes(network))


def to_bytes(network: Network) -> bytes:
    """A network as the bytes of a safetensors file."""
    arrays = {f"weights.{layer}": w.detach().clone() for layer, w in enumerate(network.weights, start=1)}
    arrays |= {f"biases.{layer}": b.detach().clone() for layer, b in enumerate(network.biases or (), start=1)}
    arrays = {name: array.contiguous() for name, array in arrays.items()}
    about = {"format": FORMAT, "activation": network.activation, "slope": network.slope, "depth": network.depth}
    return serialised(arrays, metadata={"tutelage": json.dumps(about)})


@reader
def load(path: str | Path) -> Network:
    """Read networks that :func:`save` wrote.

    Parameters
    ----------
    path
        A safetensors file.

    Returns
    -------
    Network
        All members.

    Raises
    ------
    TutelageError
        If the file was not written by :func:`save`; use :func:`read_network` for files of other programs.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> network = Network((torch.ones(2, 3, 4), torch.ones(2, 4, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(network, Path(folder) / "a.safetensors")
    ...     load(Path(folder) / "a.safetensors")
    Network(2 members, widths 3-4-1, relu, float32 on cpu)
    """
    path = Path(path)
    arrays, about = _read(path)
    depth = about.get("depth")
    if type(depth) is not int or not 0 < depth <= _DEEPEST:
        raise TutelageError(
            f"{path} holds {len(arrays)} arrays and says it has {one_line(str(depth))} layers: save it again"
        )
    weights = [f"weights.{layer}" for layer in range(1, depth + 1)]
    biases = [f"biases.{layer}" for layer in range(1, depth + 1)]
    wanted = {*weights, *biases} if any(name.startswith("biases.") for name in arrays) else set(weights)
    for name in sorted(wanted ^ set(arrays)):
        raise TutelageError(
            f"{path} {'lacks' if name in wanted else 'has'} the array '{one_line(name)}': save it again"
        )
    if not all(array.numel() for array in arrays.values()):
        raise TutelageError(f"{path} has a layer without units or holds no networks: save it again")
    try:
        several = tuple(arrays[name] for name in biases) if len(wanted) > depth else None
        chosen, slope = str(about["activation"]), float(about["slope"])
        slope = slope_of(chosen, slope) if 0 <= slope < 1 else slope  # older files have one beside any activation
        return Network(tuple(arrays[name] for name in weights), several, chosen, slope)
    except KeyError as missing:
        raise TutelageError(f"{path} lacks the entry {missing}: it is not a complete network file") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise TutelageError(f"{path} is not a complete network file ({one_line(str(error))})") from None


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(metadata.get("tutelage", "{}"))
    except (SafetensorError, OSError) as error:
        raise TutelageError(
            f"{path} is not a safetensors file ({error}): read files of other programs with read_network"
        ) from None
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise TutelageError(
            f"{path} holds arrays but no tutelage network: read a torch state dict with read_network, or convert the "
            "model with from_module and save it"
        )
    return arrays, about
