"""The ways to decide whether two networks are the same function, each of which may leave it open.

In the order in which :mod:`.equivalence` tries them: a few points, which nothing may keep from being looked at; a
permutation with scales, which proves it for all inputs; normal forms and bounds on the domain; a search for a witness;
bounds on parts of the domain; and the exact pieces, for few inputs. A proof is a bound on every output that stays
within the tolerance of :mod:`.tolerance`; a witness is held against the rounding of its own evaluation, in fractions
where floats do not suffice. Whatever is proved is kept and met with what is proved later, and a proof that a witness
contradicts is an internal error.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import torch
from torch import Tensor

from tutelage.deadline import Deadline, OutOfTime, rows_at_a_time
from tutelage.errors import TutelageError
from tutelage.functions.answers import SAME, Answer, Question, Verdict, held_against
from tutelage.functions.bounds.choose import decide
from tutelage.functions.bounds.normal import Redundancy, normal_apart
from tutelage.functions.bounds.pieces import Supremum, supremum, upper_bound
from tutelage.functions.bounds.ranges import bounds, reach, rounding, underflow
from tutelage.functions.checks import as_bound, as_network, in_double, single_pair
from tutelage.functions.comparing.relation import Relation, explained, kind, match_parameters
from tutelage.functions.comparing.tolerance import tolerance_for, without_biases
from tutelage.functions.domain import Domain, Ends, box_for, domain_of, in_words
from tutelage.functions.interruptible import interruptible
from tutelage.functions.layers.sparse import reading_errors
from tutelage.functions.rounding import EXACT_WEIGHTS, TINY, difference_with_error, exact_difference, gamma, stored_eps
from tutelage.functions.search.anywhere import SAMPLES, Witness, difference_at, sampled, searched
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import Network
from tutelage.networks.graphs.sparse import stored_precision
from tutelage.whole import positive

_FINE_ENOUGH = 1e-9  # the relative error of a difference in float64 beyond which it is worked out exactly
_LARGEST = torch.finfo(torch.float64).max
_LARGE = 300_000  # weights
_FAR = 1e4  # size of the inputs that count as far from 0: the largest cube on which the variation is measured
_FEW = 64  # points that are looked at within any limit
_SEARCH = 0.3  # of the time left that a search may take
_DIVIDING, _BRIEFLY = 60.0, 1.0  # seconds of branch and bound with a tolerance, and for what rounding explains
_FOLLOW = 1.05  # times the largest difference found that a bound is brought down to
_LARGEST_DIFFERENCE = 2.0  # seconds for the largest difference of networks that are known to differ


class Deciding:
    """Two networks and a domain; every method answers with a comparison, or None when it cannot tell."""

    def __init__(
        self,
        first: object,
        second: object,
        domain: Domain | Ends | None,
        tolerance: float | None,
        budget: int,
        seed: int,
        deadline: Deadline,
    ) -> None:
        self.pair = as_network(first, "first network"), as_network(second, "second network")
        single_pair(*self.pair)
        inputs = self.pair[0].inputs
        domain = None if domain is None else domain_of(domain, inputs)
        budget = positive(budget, "budget")
        tolerance = None if tolerance is None else as_bound(tolerance, "tolerance")
        self.first, self.second = in_double(self.pair[0], "first network"), in_double(self.pair[1], "second network")
        self.domain, self.budget, self.seed, self.deadline = domain, budget, seed, deadline
        self.around = box_for(self.first, None) if domain is None else domain.stacked()
        self.tolerance = tolerance_for(*self.pair, tolerance)
        ends = (-torch.ones(inputs), torch.ones(inputs)) if domain is None else (domain.low, domain.high)
        self.room = sum(reading_errors(*self.pair, *ends), torch.zeros(self.pair[0].outputs, dtype=torch.float64))
        self.enough = self.tolerance.proof(0.0 if domain is None else _nearest(domain))
        self.relation: Relation | None = None
        self.redundancies: tuple[tuple[Redundancy, ...], tuple[Redundancy, ...]] = ((), ())
        self.witness: Witness | None = None
        self.at_most = torch.full_like(self.enough, torch.inf)
        self.supremum: Supremum | None = None
        self._tried = "nothing"
        self._untried: tuple[str, ...] = "corners", "boundaries of units", "an ascent"

    def _knows(self, each: Tensor) -> Tensor:
        """Keep a bound on the difference of every output [C] with those known before, reading them included."""
        self.at_most = torch.minimum(self.at_most, (each + self.room).nan_to_num(torch.inf, torch.inf))
        return self.at_most

    def first_look(self) -> Answer | None:
        """Different at one of a few points, which are looked at within any limit."""
        few = min(_FEW, max(4, rows_at_a_time(self.weights)))
        self._tried = f"{few} random points"
        return self._different(sampled(self.first, self.second, self.domain, self.seed, few))

    def related(self) -> Answer | None:
        """Same by permutation and scaling: a proof over all inputs, whatever the domain."""
        if self.first.widths != self.second.widths or kind(self.first) != kind(self.second):
            return None
        self.relation = match_parameters(*self.pair)
        if _identical(self.first, self.second) and (self._knows(torch.zeros_like(self.enough)) <= self.enough).all():
            return self._same("same and related", "both have the same weights in the same order")
        if not self.relation.holds.all():
            return None
        # A relation is a statement about all inputs. It is accepted for what rounding explains everywhere, or else for
        # what stays within the tolerance on the domain that was asked about.
        all_inputs = box_for(self.first, None)
        everywhere = self._aligned_apart(all_inputs)
        here = everywhere if self.domain is None else self._aligned_apart(self.around)
        at_most = self._knows(here)
        explained_near = (everywhere + self.room <= self.tolerance.related).all()
        # Near 0 large biases allow for differences of weights that are no rounding far away, where biases do not count.
        far = self._aligned_apart(all_inputs, biases=False)
        explained_far = (far + self.room <= self.tolerance.without_biases.related).all()
        if not ((explained_near and explained_far) or (at_most <= self.enough).all()):
            return None
        if different := self.different_on_samples():
            return different
        residual = self.relation.residual.max().item()
        words = f"one is the other with hidden units permuted and scaled (weights agree up to {residual:.1g})"
        allowed = torch.maximum(self.enough, self.tolerance.related * self._largest_size())
        return self._same("same and related", words, 0.0, allowed)

    def _largest_size(self) -> float:
        """max(1, |x|) at its largest on the domain; 1 over all inputs, where differences are divided by it."""
        return (
            1.0 if self.domain is None else max(1.0, *self.domain.low.abs().tolist(), *self.domain.high.abs().tolist())
        )

    def _aligned_apart(self, around: Domain, biases: bool = True) -> Tensor:
        """A bound on the difference from the weights of aligned units, or from them without their biases: [C]."""
        assert self.relation is not None
        first, aligned = self.first, self.relation.aligned
        if not biases:
            first, aligned = without_biases(first), without_biases(aligned)
        known = bounds(aligned, around) if around.bounded else ()
        sizes = reach(aligned, around, known)
        apart = rounding(first, aligned, sizes)[0]
        scales = (
            torch.cat([s.flatten() for s in self.relation.scales]) if self.relation.scales else aligned.weights[0][:0]
        )
        smallest = min(a[a != 0].abs().min().item() if a.any() else 1.0 for a in aligned.parameters)
        # Units that were scaled by other factors have rounded weights: as if every weight of the aligned network could
        # be off by a rounding more.
        if not (scales.frexp().mantissa.abs() == 0.5).all() or smallest < TINY:  # powers of two scale exactly
            apart = apart + rounding(aligned, aligned.map(lambda a: a * (1 + gamma(0))), sizes)[0]
        if not apart.any():
            return apart
        apart = apart * (1 + gamma(4 * sum(first.widths) + 16 * first.depth))
        return apart + underflow(first, around) + underflow(aligned, around)

    def different_on_samples(self) -> Answer | None:
        """Different on random points."""
        witness = sampled(*self._scaled, self.domain, self.seed)
        self._tried = f"{SAMPLES:,} random points"
        return self._different(witness)

    @cached_property
    def _scaled(self) -> tuple[Network, Network]:
        """Both networks with outputs in units of their tolerances, rounded to powers of two, for searches."""
        positive = self.enough[self.enough > 0]
        unit = torch.where(self.enough > 0, self.enough, positive.min() if len(positive) else 1)
        # A search for the largest difference over all outputs would look at the largest output alone: each counts in
        # units of its own tolerance. Powers of two, so that scaled networks have the same differences exactly.
        by = torch.ldexp(torch.ones_like(unit), (unit.max().frexp().exponent - unit.frexp().exponent).clamp_max(500))
        return tuple(_top_scaled(n, by) for n in (self.first, self.second))  # type: ignore[return-value]

    def normal(self) -> Answer | None:
        """Same once units that do nothing are removed and others turned round."""
        eps = stored_eps(stored_precision(self.pair[0])), stored_eps(stored_precision(self.pair[1]))
        apart, in_a, in_b = normal_apart((self.first, self.second), self.around, eps, self.deadline)
        equal = (self._knows(apart) <= self.enough).all()
        self.redundancies = in_a, in_b if equal else tuple(r for r in in_b if r.kind != "turned")
        if not equal:
            return None
        return self._same("same, not related", explained(*self.pair, *self.redundancies))

    def different_by_search(self) -> Answer | None:
        """Different at a point that a search finds."""
        untried: list[str] = []
        limit = self.deadline.share(_SEARCH)
        witness = searched(*self._scaled, self.domain, self.seed, deadline=limit, untried=untried)
        self._tried, self._untried = f"{SAMPLES:,} random points", tuple(untried)
        return self._different(witness)

    @property
    def cheap(self) -> tuple[Callable[[], Answer | None], ...]:
        """The normal form first, which explains; bounds first where the networks are large, since forms take long."""
        large = self.weights > _LARGE
        return (self.bounded_at_once, self.normal) if large else (self.normal, self.bounded_at_once)

    def bounded_at_once(self) -> Answer | None:
        """Same because bounds on the difference over the whole domain say so."""
        return self._divided(Deadline(0.0), self.deadline)

    def divided(self) -> Answer | None:
        """Same because bounds on parts of the domain say so; different where one of them has a witness inside."""
        return self._divided(self.deadline.within(_DIVIDING if self.tolerance.told else _BRIEFLY))

    def _divided(self, deadline: Deadline, limit: Deadline | None = None) -> Answer | None:
        if self.domain is None:
            return None
        hunt = Hunt(self.first, self.second, self.domain, Question(self.enough - self.room))
        at_most, _, parts, _ = decide((self.first, self.second), hunt, deadline, forms=False, limit=limit)
        if hunt.refuted:
            return self._different(Witness(hunt.largest.max().item(), hunt.at))
        if (self._knows(at_most) > self.enough).any():
            return None
        where = "the whole domain" if parts == 1 else f"each of {parts:,} parts of the domain"
        return self._same("same, not related", f"bounds on the difference over {where} stay within the tolerance")

    def bounded_by(self) -> Answer | None:
        """Same because intervals say so."""
        if (self._knows(upper_bound(self.first, self.second, self.domain)) > self.enough).any():
            return None
        return self._same("same, not related", "bounds on both outputs leave no room for a difference")

    def exact(self) -> Answer:
        """Same or different from all regions of the difference; not decided where these are too many."""
        try:
            largest = supremum(
                self.first, self.second, self.domain, self.budget, self.enough.max().item(), self.deadline
            )
        except TutelageError as error:
            return self._undecided(str(error))
        self.supremum = largest
        different = self._different(Witness(largest.value, largest.at))
        if different:
            return different
        if not largest.complete or (self._knows(largest.each) > self.enough).any():
            return self._undecided(
                f"in all {largest.regions:,} regions no difference above {largest.value:.2g} was found, but rounding "
                f"may hide one of {largest.room:.2g}"
            )
        why = explained(*self.pair, *self.redundancies)
        return self._same(
            "same, not related",
            f"no difference in any of the {largest.regions:,} regions of both together; {why}",
            largest.value,
        )

    def _same(self, verdict: Verdict, reason: str, value: float = 0.0, allowed: Tensor | None = None) -> Answer:
        largest = max(value, self.witness.value if self.witness else 0.0)
        relation = self.relation if verdict == "same and related" else None
        tolerance = (self.enough if allowed is None else allowed).max().item()
        return self._record(verdict, reason, tolerance, largest, False, None, relation)

    def _shown(self, at: Tensor) -> Tensor | None:
        """The tolerance [C] at an input where some output provably differs by more than that; None elsewhere."""
        allowed = self.tolerance.at(at, self.domain is not None)
        size = 1.0 if self.domain is not None else max(1.0, at.abs().max().item())
        gap, error = (a[0, 0] for a in difference_with_error(self.first, self.second, at[None]))
        if (gap - error > (allowed + self.room) * size * (1 + gamma(0))).any():
            return allowed
        if not (gap + error > (allowed + self.room) * size).any() or self.weights > EXACT_WEIGHTS:
            return None
        pairs = zip(exact_difference(self.first, self.second, at), (allowed + self.room).tolist(), strict=True)
        return allowed if any(d > Fraction(t) * Fraction(size) for d, t in pairs) else None

    def _value(self, witness: Witness) -> float:
        """The largest difference at a witness, without rounding where float64 is too coarse for it."""
        gap, error = (a[0, 0] for a in difference_with_error(self.first, self.second, witness.at[None]))
        if error.max() <= _FINE_ENOUGH * gap.max() or self.weights > EXACT_WEIGHTS:
            return witness.value
        size = 1.0 if self.domain is not None else max(1.0, witness.at.abs().max().item())
        exact = max(exact_difference(self.first, self.second, witness.at)) / Fraction(size)
        return float(exact) if exact < Fraction(_LARGEST) else _LARGEST

    @property
    def weights(self) -> int:
        return sum(a.numel() for n in (self.first, self.second) for a in n.parameters)

    def _different(self, witness: Witness) -> Answer | None:
        """Different if the witness shows it; then with the supremum on a bounded domain where that can be had."""
        there = difference_at(self.first, self.second, witness.at[None], self.domain is not None).item()
        if self.witness is None or there > self.witness.value:
            self.witness = Witness(there, witness.at)
        if self._shown(witness.at) is None:
            # Biases widen the tolerance near 0: over all inputs the same direction is tried far away as well.
            far = witness.at * (_FAR / witness.at.abs().max().clamp_min(1.0))
            if self.domain is not None or self._shown(far) is None:
                return None
            there, witness = difference_at(self.first, self.second, far[None], False).item(), Witness(there, far)
        best, reason = self._largest(Witness(there, witness.at))
        allowed = self._shown(best.at)
        best, allowed = (
            (best, allowed) if allowed is not None else (Witness(there, witness.at), self._shown(witness.at))
        )
        assert allowed is not None
        with suppress(OutOfTime), interruptible(self.deadline, self.weights):
            self._knows(upper_bound(self.first, self.second, self.domain))
        best = self.witness = Witness(self._value(best), best.at)
        words = f"they differ at the witness; {reason or 'no input of the domain has a larger difference'}"
        gap = difference_with_error(self.first, self.second, best.at[None])[0][0, 0]
        output = int((gap / allowed.clamp_min(TINY)).argmax())
        return self._record("different", words, allowed[output].item(), best.value, reason is None, best.at)

    def _largest(self, witness: Witness) -> tuple[Witness, str | None]:
        """The largest difference and where; a sentence where it is only the largest found."""
        try:
            with interruptible(self.deadline, self.weights):
                more = searched(
                    self.first, self.second, self.domain, self.seed, boundaries=False, deadline=self.deadline
                )
        except OutOfTime:
            more = witness
        best = more if more.value > witness.value and self._shown(more.at) is not None else witness
        if self.domain is None:
            return best, "over all inputs the largest difference found is given"
        try:
            # A limit that was given is spent; without one nobody waits for a number beside the verdict.
            given = self.deadline.seconds is not None
            limit = self.deadline if given else Deadline(_LARGEST_DIFFERENCE)
            with interruptible(self.deadline, self.weights):
                largest = self.supremum or supremum(self.first, self.second, self.domain, self.budget, deadline=limit)
        except OutOfTime:
            return best, "the largest difference found is given, and not the largest there is: the time was over"
        except TutelageError as error:
            self._bounded_closer()
            return best, f"the largest difference found is given, and not the largest there is: {error}"
        self._knows(largest.each)
        if self._shown(largest.at) is None:
            return best, "the largest difference found is given, since rounding hides the exact one"
        return Witness(largest.value, largest.at), None

    def _bounded_closer(self) -> None:
        """Lower the bound on the difference towards the largest one found, with the time that is left of a limit."""
        if self.domain is None or self.deadline.seconds is None or self.deadline.passed:
            return
        hunt = Hunt(self.first, self.second, self.domain, Question(torch.zeros_like(self.enough), follow=_FOLLOW))
        hunt.look(self.domain.centre[None])
        self._knows(decide((self.first, self.second), hunt, self.deadline, forms=False)[0])

    def out_of_time(self) -> Answer:
        return self._undecided(f"the time limit of {self.deadline.seconds:g} seconds was reached")

    @property
    def _looked_at(self) -> str:
        """Where differences were looked for, and where a limit left no time to."""
        left = f", {_listed(self._untried)} not tried for want of time" if self._untried else ""
        return f"{self._tried}{left}"

    def _undecided(self, why: str) -> Answer:
        value = self.witness.value if self.witness else 0.0
        reason = (
            f"the largest difference found, {value:.2g}, is within the tolerance (looked at: {self._looked_at}), but "
            f"equality was not proved: {why}; "
            "possible are a smaller domain, a slice of few dimensions, a larger budget, time limit or tolerance"
        )
        return self._record("not decided", reason, self.enough.max().item(), value, False, None)

    def _record(
        self,
        verdict: Verdict,
        reason: str,
        tolerance: float,
        difference: float,
        exact: bool,
        witness: Tensor | None,
        relation: Relation | None = None,
    ) -> Answer:
        largest = self._per_output(difference)
        return Answer(
            verdict, SAME, reason, in_words(self.domain), self.at_most, largest, witness,
            bounded=self.domain is not None, exact=exact, tolerance=tolerance, relation=relation,
            redundancies=self.redundancies, untried=self._untried if verdict == "not decided" else (),
        )  # fmt: skip

    def _per_output(self, difference: float) -> Tensor:
        """The largest differences found [C], the largest of all as given; held against the bounds that are proved."""
        if self.witness is None:
            return torch.full_like(self.at_most, difference)
        at = self.witness.at
        gap, error = (a[0, 0] for a in difference_with_error(self.first, self.second, at[None]))
        size = 1.0 if self.domain is not None else max(1.0, at.abs().max().item())
        held_against(self.at_most * size * (1 + gamma(0)), gap, error)
        gap = gap / size
        gap[gap.argmax()] = difference
        return gap.clamp_max(difference)


def _listed(names: tuple[str, ...]) -> str:
    """Names as the subject of a sentence.

    >>> _listed(("corners",)), _listed(("corners", "boundaries", "an ascent"))
    ('corners', 'corners, boundaries and an ascent')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _identical(first: Network, second: Network) -> bool:
    """Whether two networks of one architecture have the same numbers in the same places."""
    if (first.biases is None) != (second.biases is None):
        return False
    return all(map(torch.equal, first.parameters, second.parameters))


def _top_scaled(network: Network, by: Tensor) -> Network:
    """The network with its outputs multiplied by powers of two [C]."""
    biases = None if network.biases is None else (*network.biases[:-1], network.biases[-1] * by)
    return replace(network, weights=(*network.weights[:-1], network.weights[-1] * by), biases=biases)


def _nearest(domain: Domain) -> float:
    """A number that |x| is not below on the domain."""
    inside = (domain.low <= 0) & (domain.high >= 0)
    return torch.where(inside, 0, torch.minimum(domain.low.abs(), domain.high.abs())).max().item()
