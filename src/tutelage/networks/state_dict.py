"""Networks from the arrays of a torch model of linear layers: names such as 0.weight, 0.bias, 2.weight."""

import re
from collections.abc import Mapping

from torch import Tensor

from tutelage.errors import Refusal
from tutelage.networks.network import Network


def from_state_dict(arrays: Mapping[str, Tensor], activation: str = "relu", slope: float = 0.01) -> Network:
    """One network from arrays NAME.weight [out, in] and NAME.bias [out], in the natural order of the names.

    The arrays do not tell what stands between the layers: it is taken to be the activation, and nothing at the end.

    >>> import torch
    >>> arrays = {"2.weight": torch.ones(1, 4), "0.weight": torch.ones(4, 3), "0.bias": torch.ones(4)}
    >>> from_state_dict(arrays).widths
    (3, 4, 1)
    """
    names = sorted((n.removesuffix(".weight") for n in arrays if n.endswith(".weight")), key=_natural)
    if not names:
        raise Refusal("there is no array called NAME.weight: these are not the arrays of a torch model")
    weights, biases = [], []
    for name in names:
        w = arrays[f"{name}.weight"]
        if w.ndim != 2:
            raise Refusal(_unlike(name, f"has shape {list(w.shape)}"))
        b = arrays.get(f"{name}.bias", w.new_zeros(len(w)))
        weights.append(w.T.contiguous().unsqueeze(0))
        biases.append(b.unsqueeze(0))
    used = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
    for other in sorted(set(arrays) - used):
        raise Refusal(_unlike(other, "is neither the weight nor the bias of a linear layer"))
    for below, above, w, v in zip(names, names[1:], weights, weights[1:], strict=False):
        if w.shape[2] != v.shape[1]:
            raise Refusal(
                f"{above}.weight takes {v.shape[1]} numbers and {below}.weight gives {w.shape[2]}: name the layers in "
                "their order, or convert the model with from_module and save it"
            )
    some = any(f"{name}.bias" in arrays for name in names)
    return Network(tuple(weights), tuple(biases) if some else None, activation, slope)


def _unlike(name: str, what: str) -> str:
    return (
        f"the array {name} {what}, and arrays alone tell linear layers only: convert the model with from_module, or "
        "export it to ONNX, which holds convolutions and normalisations completely"
    )


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Numbers in a name count as numbers: fc2 before fc10."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]
