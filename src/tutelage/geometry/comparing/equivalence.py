"""Whether two networks are the same function: cheap proofs first, then a search for a witness, then exact means."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tutelage.errors import Refusal
from tutelage.geometry.checks import in_double, same_function_space
from tutelage.geometry.comparing.normal import WORDS, Redundancy, forms_apart, normal_form
from tutelage.geometry.comparing.relation import Relation, kind, match_parameters
from tutelage.geometry.comparing.supremum import Supremum, supremum, upper_bound
from tutelage.geometry.comparing.tolerance import rounding_at, rounding_tolerance
from tutelage.geometry.comparing.witness import Witness, difference_at, sampled, searched
from tutelage.geometry.pieces.domain import Domain, Ends, box
from tutelage.geometry.pieces.regions import BUDGET
from tutelage.geometry.pruning.bounds import bounds
from tutelage.geometry.pruning.deviation import reach, rounding
from tutelage.geometry.pruning.intervals import Box, box_for, gamma
from tutelage.networks import Network

Verdict = Literal["same and related", "same, not related", "different", "not decided"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What became of the question whether two networks are the same function.

    verdict: "same and related" (by permutation and positive scaling, over all inputs), "same, not related",
    "different" (at the witness) or "not decided"; reason: in a sentence or two; domain: in words.
    Same means that no output differs by more than the tolerance anywhere on the domain; over all inputs differences
    are divided by max(1, |x|), the largest coordinate. difference: the largest one known, the supremum over the domain
    where ``exact``; at_most: what no difference exceeds, or None; witness: an input [d] where they differ by more than
    rounding explains there (the tolerance given with it).
    redundancies: units of each network that do nothing, as far as they were looked for.
    """

    verdict: Verdict
    reason: str
    domain: str
    bounded: bool
    tolerance: float
    difference: float
    at_most: float | None
    exact: bool
    witness: Tensor | None
    relation: Relation | None
    redundancies: tuple[tuple[Redundancy, ...], tuple[Redundancy, ...]] = ((), ())

    @property
    def same(self) -> bool:
        return self.verdict.startswith("same")


def same_function(
    first: Network,
    second: Network,
    domain: Domain | Ends | None = None,
    *,
    tolerance: float | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> Comparison:
    """Decide whether two networks, of any widths, depths and activations, are the same function (004, section 2).

    domain: a box or polytope, or the ends of a box; all inputs without. tolerance: the largest difference that counts
    as none; unless told, what rounding of the weights in the precision they are stored in can do to the outputs, and
    never less than that in float64.
    budget: the most regions and vertices of an exact comparison.

    >>> a = Network((torch.tensor([[[3.0, 0.0], [0.0, 0.5]]]), torch.tensor([[[1.0], [4.0]]])))
    >>> b = Network((torch.tensor([[[0.0, 6.0], [1.0, 0.0]]]), torch.tensor([[[2.0], [0.5]]])))
    >>> same_function(a, b).verdict
    'same and related'
    """
    question = _Question(first, second, domain, tolerance, budget, seed)
    found = question.related() or question.seen() or question.normal() or question.found() or question.bounded_by()
    return found or question.exact()


class _Question:
    """Two networks and a domain; every method answers with a comparison, or None when it cannot tell."""

    def __init__(
        self,
        first: Network,
        second: Network,
        domain: Domain | Ends | None,
        tolerance: float | None,
        budget: int,
        seed: int,
    ) -> None:
        _check(first, second)
        if domain is not None and not isinstance(domain, Domain):
            domain = box(*domain, dimension=first.inputs)
        if domain is not None and domain.dimension != first.inputs:
            raise Refusal(f"the networks have {first.inputs} inputs and the domain {domain.dimension} dimensions")
        if tolerance is not None and not 0 <= tolerance < torch.inf:
            raise Refusal(f"a tolerance is a number from 0 on, not {tolerance}")
        self.pair = first, second
        self.eps = [torch.finfo(n.dtype).eps for n in self.pair]
        self.first, self.second = in_double(first, "first network"), in_double(second, "second network")
        self.domain, self.budget, self.seed = domain, budget, seed
        self.around = box_for(first, None) if domain is None else Box(domain.low[None], domain.high[None])
        self.told = tolerance
        self.tolerance = max(tolerance or 0.0, sum(rounding_tolerance(n, self.around) for n in self.rounded))
        self.relation: Relation | None = None
        self.redundancies: tuple[tuple[Redundancy, ...], tuple[Redundancy, ...]] = ((), ())
        self.witness: Witness | None = None
        self.at_most: float | None = None
        self.supremum: Supremum | None = None

    @property
    def rounded(self) -> tuple[Network, Network]:
        """The networks whose rounding counts: as they are stored or, where a tolerance is told, in the arithmetic."""
        return self.pair if self.told is None else (self.first, self.second)

    def related(self) -> Comparison | None:
        """Same by permutation and scaling: a proof over all inputs, whatever the domain."""
        if self.first.widths != self.second.widths or kind(self.first) != kind(self.second):
            return None
        self.relation = match_parameters(*self.pair)
        if not self.relation.holds.all():
            return None
        aligned = self.relation.aligned
        sizes = reach(aligned, self.around, bounds(aligned, self.around) if self.around.bounded else ())
        scaling = rounding(aligned, aligned.map(lambda a: a * (1 + gamma(0))), sizes)
        apart = (rounding(self.first, aligned, sizes) + scaling).max().item()
        if apart > self.tolerance:
            return None
        residual = self.relation.residual.max().item()
        words = f"one is the other with hidden units permuted and scaled (a residual of {residual:.1g} is rounding)"
        return self._same("same and related", apart, words)

    def seen(self) -> Comparison | None:
        """Different on random points."""
        return self._different(sampled(self.first, self.second, self.domain, self.seed))

    def normal(self) -> Comparison | None:
        """Same once units that do nothing are gone and others turned round."""
        (a, in_a), (b, in_b) = (
            normal_form(n, self.around, eps) for n, eps in zip((self.first, self.second), self.eps, strict=True)
        )
        self.redundancies = in_a, in_b
        compared = forms_apart(a, b)
        if compared is None or compared[0] > self.tolerance:
            return None
        self.redundancies = in_a, in_b + compared[1]
        return self._same("same, not related", compared[0], explained(*self.pair, *self.redundancies))

    def found(self) -> Comparison | None:
        """Different at a point that a search finds."""
        return self._different(searched(self.first, self.second, self.domain, self.seed))

    def bounded_by(self) -> Comparison | None:
        """Same because intervals say so."""
        self.at_most = upper_bound(self.first, self.second, self.domain)
        if self.at_most > self.tolerance:
            return None
        return self._same("same, not related", self.at_most, "bounds on both outputs leave no room for a difference")

    def exact(self) -> Comparison:
        """Same or different from all regions of the difference; not decided where these are too many."""
        try:
            found = supremum(self.first, self.second, self.domain, self.budget, self.tolerance)
        except Refusal as refusal:
            return self._undecided(str(refusal))
        self.supremum = found
        different = self._different(Witness(found.value, found.at))
        if different:
            return different
        if found.value + found.room > self.tolerance:
            return self._undecided(
                f"all {found.regions:,} regions were looked at, and no difference above {found.value:.2g} is left "
                f"but {found.room:.2g} that rounding may hide"
            )
        why = explained(*self.pair, *self.redundancies)
        return self._same(
            "same, not related",
            found.value + found.room,
            f"no difference in any of the {found.regions:,} regions of both together; {why}",
            found.value,
        )

    def _same(self, verdict: Verdict, at_most: float, reason: str, value: float = 0.0) -> Comparison:
        largest = max(value, self.witness.value if self.witness else 0.0)
        relation = self.relation if verdict == "same and related" else None
        return self._record(verdict, reason, largest, at_most, False, None, relation)

    def _shown(self, witness: Witness) -> bool:
        """Whether the difference at a witness is more than the tolerance or, unless one was told, than rounding."""
        return witness.value > self._explained_at(witness.at)

    def _explained_at(self, at: Tensor) -> float:
        rounded = sum(rounding_at(n, at) for n in self.rounded)
        size = 1.0 if self.domain is not None else max(1.0, at.abs().max().item())
        return max(self.told or 0.0, rounded / size)

    def _different(self, witness: Witness) -> Comparison | None:
        """Different if the witness shows it; then with the supremum on a bounded domain where that can be had."""
        there = difference_at(self.first, self.second, witness.at[None], self.domain is not None).item()
        if self.witness is None or there > self.witness.value:
            self.witness = Witness(there, witness.at)
        if not self._shown(Witness(there, witness.at)):
            return None
        value, at, reason = self._largest(Witness(there, witness.at))
        at_most = value if reason is None else self.at_most
        if at_most is None:
            at_most = upper_bound(self.first, self.second, self.domain)
        self.tolerance = self._explained_at(at)
        words = f"they differ at the witness; {reason or 'no input of the domain has a larger difference'}"
        return self._record("different", words, value, at_most, reason is None, at)

    def _largest(self, witness: Witness) -> tuple[float, Tensor, str | None]:
        """The largest difference and where; a sentence where it is only the largest found."""
        more = searched(self.first, self.second, self.domain, self.seed, boundaries=False)
        best = more if more.value > witness.value and self._shown(more) else witness
        if self.domain is None:
            return best.value, best.at, "over all inputs the largest difference found is given"
        try:
            found = self.supremum or supremum(self.first, self.second, self.domain, self.budget)
        except Refusal as refusal:
            return best.value, best.at, f"the largest difference found is given, since {refusal}"
        return found.value, found.at, None

    def _undecided(self, why: str) -> Comparison:
        value = self.witness.value if self.witness else 0.0
        reason = (
            f"the largest difference found, {value:.2g}, is within the tolerance, but equality was not proved: {why}; "
            "possible are a smaller domain, a slice of few dimensions, a larger budget or tolerance"
        )
        return self._record("not decided", reason, value, self.at_most, False, None)

    def _record(
        self,
        verdict: Verdict,
        reason: str,
        difference: float,
        at_most: float | None,
        exact: bool,
        witness: Tensor | None,
        relation: Relation | None = None,
    ) -> Comparison:
        return Comparison(
            verdict, reason, in_words(self.domain), self.domain is not None, self.tolerance, difference,
            at_most, exact, witness, relation, self.redundancies,
        )  # fmt: skip


def _check(first: Network, second: Network) -> None:
    for name, network in (("first", first), ("second", second)):
        if network.members != 1:
            raise Refusal(f"the {name} is a stack of {network.members} networks: choose one of them, network[s]")
    same_function_space(first, second)


def in_words(domain: Domain | None) -> str:
    """What a domain is.

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
    for name, network, found in (("first", first, in_first), ("second", second, in_second)):
        for what, layer in dict.fromkeys((r.kind, r.layer) for r in found):
            units = [str(r.unit) for r in found if (r.kind, r.layer) == (what, layer)]
            named = ", ".join(units[:_NAMED]) + (f" and {len(units) - _NAMED} more" if len(units) > _NAMED else "")
            parts.append(f"{WORDS[what]}: unit{'s' * (len(units) > 1)} {named} of layer {layer} of the {name} network")
            if what == "linear" and len(units) == network.widths[layer]:
                parts[-1] += ", which is all of them, so that any invertible mixture of them serves as well"
    return "; ".join(parts) or "no redundant unit was found that would explain it"
