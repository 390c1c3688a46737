"""Networks as safetensors files with the architecture in the metadata; nothing is ever unpickled."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import Tensor

from tutelage.errors import Refusal
from tutelage.files import write_atomically
from tutelage.networks.network import Network

FORMAT = "tutelage-network-1"


def save(network: Network, path: str | Path) -> None:
    """Write a network; the file is complete or absent."""
    write_atomically(Path(path), to_bytes(network))


def to_bytes(network: Network) -> bytes:
    """A network as the bytes of a safetensors file."""
    arrays = {f"weights.{layer}": w.detach().clone() for layer, w in enumerate(network.weights, start=1)}
    arrays |= {f"biases.{layer}": b.detach().clone() for layer, b in enumerate(network.biases or (), start=1)}
    arrays = {name: array.contiguous() for name, array in arrays.items()}
    about = {"format": FORMAT, "activation": network.activation, "slope": network.slope, "depth": network.depth}
    return serialised(arrays, metadata={"tutelage": json.dumps(about)})


def load(path: str | Path) -> Network:
    """Read a network that :func:`save` wrote; anything else is refused with its path."""
    path = Path(path)
    arrays, about = _read(path)
    try:
        layers = range(1, int(about["depth"]) + 1)
        weights = tuple(arrays[f"weights.{layer}"] for layer in layers)
        biases = (
            tuple(arrays[f"biases.{layer}"] for layer in layers)
            if any(n.startswith("biases.") for n in arrays)
            else None
        )
        return Network(weights, biases, str(about["activation"]), float(about["slope"]))
    except KeyError as missing:
        raise Refusal(f"{path} lacks the entry {missing}: it is not a complete network file") from None
    except (TypeError, ValueError) as error:
        raise Refusal(f"{path} is not a complete network file ({error})") from None


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise Refusal(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(metadata.get("tutelage", "{}"))
    except (SafetensorError, OSError) as error:
        raise Refusal(f"{path} is not a safetensors file ({error})") from None
    except ValueError:
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise Refusal(
            f"{path} holds arrays but no tutelage network: convert a torch model with from_module and save it"
        )
    return arrays, about
