"""Domains and the reasons of a verdict in words."""

from tutelage.functions.bounds.normal import WORDS, Redundancy
from tutelage.functions.comparing.relation import kind
from tutelage.networks import Network

_NAMED = 4  # units of a kind that are named one by one in a sentence


def explained(
    first: Network, second: Network, in_first: tuple[Redundancy, ...], in_second: tuple[Redundancy, ...]
) -> str:
    """Why two networks can be the same function without being related, in a sentence."""
    parts = []
    if kind(first) != kind(second):
        parts.append(f"{kind(first)} and {kind(second)} units are both made of linear maps and relu units")
    for name, network, redundant in (("first", first, in_first), ("second", second, in_second)):
        for what, layer in dict.fromkeys((r.kind, r.layer) for r in redundant):
            units = [str(r.unit) for r in redundant if (r.kind, r.layer) == (what, layer)]
            named = ", ".join(units[:_NAMED]) + (f" and {len(units) - _NAMED} more" if len(units) > _NAMED else "")
            parts.append(f"{WORDS[what]}: unit{'s' * (len(units) > 1)} {named} of layer {layer} of the {name} network")
            if what == "linear" and len(units) == network.widths[layer]:
                parts[-1] += ", which is all of them, so that any invertible mixture of them serves as well"
    return "; ".join(parts) or "no redundant unit was found that would explain it"
