"""Domains and the reasons of a verdict in words."""

from tutelage.functions.comparing.normal import WORDS, Redundancy
from tutelage.functions.comparing.relation import kind
from tutelage.functions.pieces.domain import Domain
from tutelage.networks import Network


def in_words(domain: Domain | None) -> str:
    """What a domain is.

    >>> from tutelage.functions.pieces.domain import box
    >>> in_words(box(-1, 1, dimension=3))
    'the box from -1 to 1 in 3 dimensions'
    """
    if domain is None:
        return "all inputs"
    if not domain.is_box:
        return f"a polytope of {domain.facets} constraints in {domain.dimension} dimensions"
    ends = [
        f"{end.unique().item():g}" if len(end.unique()) == 1 else "several ends" for end in (domain.low, domain.high)
    ]
    return f"the box from {ends[0]} to {ends[1]} in {domain.dimension} dimensions"


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
