r"""Sentences from a grammar without recursion: drawn, weighed and recognised exactly.

A rule lists alternatives, each with a weight and its parts; a part is a word, or the name of another rule in capitals.
Where no sentence can be made in two ways, the entropy of the sentences is that of the choices:

.. math:: H(A) = -\sum_i p_i \log p_i + \sum_i p_i \sum_{B \in i} H(B)
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tutelage import draws
from tutelage.errors import TutelageError

Rules = Mapping[str, Mapping[str, float]]
"""Rule -> {alternative: weight}; an alternative is words and rule names with spaces between, empty for nothing."""


class Grammar:
    """A distribution of sentences; the rule to begin with is SENTENCE.

    >>> small = Grammar({"SENTENCE": {"the NOUN works": 3, "i slept": 1}, "NOUN": {"plot": 1, "film": 1}})
    >>> sorted((round(p, 3), " ".join(words)) for words, p in small.sentences())
    [(0.25, 'i slept'), (0.375, 'the film works'), (0.375, 'the plot works')]
    >>> round(small.entropy, 4), small.accepts("the film works".split()), small.accepts(["the", "film"])
    (1.0822, True, False)
    """

    def __init__(self, rules: Rules) -> None:
        if "SENTENCE" not in rules:
            raise TutelageError("a grammar begins with the rule SENTENCE, and this one has none")
        self._rules: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
        for name, choices in rules.items():
            total = sum(choices.values())
            if not choices or min(choices.values()) <= 0 or not math.isfinite(total):
                raise TutelageError(f"the rule {name} needs alternatives with weights above 0")
            self._rules[name] = [(weight / total, tuple(text.split())) for text, weight in choices.items()]
        self._check()

    def _check(self) -> None:
        """Reject rules that are missing, or that lead back to themselves."""
        for name, choices in self._rules.items():
            for part in itertools.chain.from_iterable(parts for _, parts in choices):
                if part.isupper() and len(part) > 1 and part not in self._rules:
                    raise TutelageError(f"the rule {name} names {part}, which is no rule: add it or write it small")
        self._depths("SENTENCE", ())

    def _depths(self, name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise TutelageError(f"the rule {name} leads back to itself: sentences would have no longest one")
        for part in {part for _, parts in self._rules[name] for part in parts if part in self._rules}:
            self._depths(part, (*above, name))

    @cached_property
    def entropy(self) -> float:
        """Of the choices that make a sentence, in nats; that of the sentences where each is made in one way."""
        return self._entropy("SENTENCE")

    def _entropy(self, name: str) -> float:
        return sum(
            p * (sum(self._entropy(part) for part in parts if part in self._rules) - math.log(p))
            for p, parts in self._rules[name]
        )

    @cached_property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return self._longest("SENTENCE")

    def _longest(self, name: str) -> int:
        if name not in self._rules:
            return 1
        return max(sum(map(self._longest, parts)) for _, parts in self._rules[name])

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every word of the grammar, in alphabetical order."""
        parts = {part for choices in self._rules.values() for _, parts in choices for part in parts}
        return tuple(sorted(parts - self._rules.keys()))

    def sentences(self, name: str = "SENTENCE") -> Iterator[tuple[tuple[str, ...], float]]:
        """Every way to make a sentence, with its probability."""
        for p, parts in self._rules[name]:
            pieces = [list(self.sentences(part)) if part in self._rules else [((part,), 1.0)] for part in parts]
            for chosen in itertools.product(*pieces):
                words = itertools.chain.from_iterable(piece for piece, _ in chosen)
                yield tuple(words), p * math.prod(q for _, q in chosen)

    def accepts(self, words: Sequence[str]) -> bool:
        """Whether the grammar can make this sentence."""
        return self._pattern.fullmatch("".join(f"{word} " for word in words)) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._expression("SENTENCE"))

    def _expression(self, name: str) -> str:
        """The rule as a regular expression over words that end in a space."""
        choices = (
            "".join(self._expression(part) if part in self._rules else re.escape(f"{part} ") for part in parts)
            for _, parts in self._rules[name]
        )
        return f"(?:{'|'.join(choices)})"

    def draw(self, count: int, seed: int = 0) -> list[tuple[str, ...]]:
        """Sentences of the distribution, independent of each other; a longer list begins with the shorter one."""
        uniform = draws.uniforms(draws.keys([seed], "grammar"), count * _CHOICES)[0].view(count, _CHOICES)
        return [self._sentence(iter(row)) for row in uniform.tolist()]

    def _sentence(self, uniform: Iterator[float]) -> tuple[str, ...]:
        waiting, words = ["SENTENCE"], list[str]()
        while waiting:
            part = waiting.pop()
            if part not in self._rules:
                words.append(part)
                continue
            choices = self._rules[part]
            reached = itertools.accumulate(p for p, _ in choices[:-1])
            waiting.extend(reversed(choices[sum(map(next(uniform).__gt__, reached))][1]))
        return tuple(words)


_CHOICES = 32  # uniform draws set aside for a sentence


def _alike(words: str) -> dict[str, float]:
    """Alternatives of one word, the earlier ones likelier: weights fall as 1/(place + 4)."""
    return {word: 1 / (place + 4) for place, word in enumerate(words.split())}


FILM_TALK = Grammar(
    {
        "SENTENCE": {
            "WHOSE QUALITY PART RATHER MOVED WHOM WHEN": 3,
            "WHO RATHER FELT WHOSE QUALITY PART WHEN": 3,
            "WHOSE PART and OTHER MORE BE DEGREE QUALITY": 2,
        },
        "WHOSE": _alike("the his this her"),
        "QUALITY": _alike("good bad funny dull clever"),
        "PART": _alike("film story ending script music"),
        "OTHER": _alike("the his her"),
        "MORE": _alike("scenes jokes songs actors lines"),
        "RATHER": {"": 2, **_alike("really never always almost")},
        "MOVED": _alike("moved bored pleased scared fooled annoyed"),
        "WHOM": _alike("me us them everyone"),
        "WHEN": {"": 1, **_alike("again twice"), "at first": 0.2, "at last": 0.2},
        "WHO": _alike("i we they critics"),
        "FELT": _alike("liked loved hated missed forgot praised"),
        "BE": _alike("are were seem"),
        "DEGREE": _alike("very so rather quite"),
    }
)
"""Remarks on films in at most eight words."""
