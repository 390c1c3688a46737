"""Which theorems there are, and how to check them. A theorem is one function in one file that edits no other.

A theorem belongs to a subject, which says what theorems of it are checked on: a teacher, its students and samples; a
flow; transfer sets; weights alone. :func:`certify` reaches them all.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tutelage.certificates.records import Certificate, Finding
from tutelage.discover import import_from_subjects
from tutelage.errors import TutelageError, unknown

Function = Callable[..., Sequence[Finding]]
ALL = "all"


@dataclass(frozen=True)
class Subject:
    """What a group of theorems is checked on.

    Parameters
    ----------
    name
        Name for ``tutelage certify --subject``.
    about
        The arguments of :func:`certify`, in words.
    accepts
        Whether arguments are of that sort.
    scenes
        From the arguments to what the theorems' functions take, with the number of the first member of each.
    unfit
        Why a theorem cannot be checked on a scene, "" where it can.
    chosen
        Whether "all" includes a theorem for a scene.
    example
        From settings, all with defaults, to example arguments; None where arguments come from files.
    """

    name: str
    about: str
    accepts: Callable[..., bool]
    scenes: Callable[..., Iterable[tuple[int, Any]]]
    unfit: Callable[["Theorem", Any], str] = lambda theorem, scene: ""
    chosen: Callable[["Theorem", Any], bool] = lambda theorem, scene: True
    example: Callable[..., tuple[Any, ...]] | None = None

    def certificate(self, name: str, *, source: str, needs: str = "") -> Callable[[Function], Function]:
        """Register a function (scene, *, options) -> one finding per member.

        The first line of its docstring is the statement; needs: what it looks at beyond what every scene of the subject
        has, in a word of that subject's own.
        """

        def register(function: Function) -> Function:
            known = THEOREMS.get(name)
            if known is not None and known.function.__module__ != function.__module__:
                raise TypeError(f"two theorems are called '{name}': in {known.function.__module__} and elsewhere")
            statement = (function.__doc__ or name).strip().splitlines()[0]
            THEOREMS[name] = Theorem(name, source, statement, self, function, needs)
            return function

        return register

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the example with their defaults."""
        return _keywords(self.example) if self.example else {}


@dataclass(frozen=True)
class Theorem:
    """A theorem as code.

    Attributes
    ----------
    name
        Name for :func:`certify`.
    source, statement
        Place in the paper, and what it says.
    subject
        What it is checked on.
    function
        Computes the findings.
    needs
        What it needs besides the subject's arguments, in words.
    """

    name: str
    source: str
    statement: str
    subject: Subject
    function: Function = field(repr=False)
    needs: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        return _keywords(self.function)


THEOREMS: dict[str, Theorem] = {}


def theorems() -> dict[str, Theorem]:
    """All theorems of the package and of plugins.

    Returns
    -------
    dict
        :class:`Theorem` by name.

    Examples
    --------
    >>> [name for name in theorems() if "margin" in name]
    ['smoothed-margin', 'max-margin-limit', 'margin-risk']
    """
    import_from_subjects("certificates")
    return THEOREMS


def subjects() -> dict[str, Subject]:
    """Subjects that have theorems.

    Returns
    -------
    dict
        :class:`Subject` by name.
    """
    return {theorem.subject.name: theorem.subject for theorem in theorems().values()}


def find(name: str) -> Theorem:
    """Theorem by name.

    Parameters
    ----------
    name
        As in :func:`theorems`.

    Returns
    -------
    Theorem
        A :class:`~tutelage.TutelageError` names the nearest theorem if there is none of that name.

    Examples
    --------
    >>> find("alignment").source
    'Tian 2020, Theorem 1; Tian 2019, Theorem 2'
    """
    if name not in theorems():
        raise unknown("theorem", name, THEOREMS)
    return THEOREMS[name]


def certify(name: str, *about: Any, **options: Any) -> list[Certificate]:
    """Check a theorem on every member: its conditions with values and witnesses, its conclusion, a verdict.

    Parameters
    ----------
    name : str
        Name of a theorem, see :func:`theorems`, or "all" for every theorem that can be checked on these arguments.
    *about
        What the theorem is about, see ``find(name).subject.about``: for most a teacher (one for all students, or one
        per student), the students, and the samples [N, d] or [S, N, d] or Inputs, whose training points are taken.
    **options
        Those of the theorem, see ``find(name).options``.

    Returns
    -------
    list of Certificate
        One per member; with "all", theorem by theorem.

    Examples
    --------
    >>> import torch
    >>> from tutelage.networks import Network
    >>> one = torch.ones(1, 1, 1, dtype=torch.float64)
    >>> teacher = Network((one, one), (-one[0] / 2, 0 * one[0]))
    >>> points = torch.linspace(-1, 2, 9, dtype=torch.float64)[:, None]
    >>> [certificate] = certify("alignment", teacher, teacher, points)
    >>> certificate.verdict, certificate.unmet
    ('not applicable', ('observed by a student unit',))
    """
    if name == ALL:
        return [certificate for certificates in certify_all(*about, **options).values() for certificate in certificates]
    theorem = find(name)
    for option, value in options.items():
        if option not in theorem.options:
            known = ", ".join(theorem.options) or "none"
            raise TutelageError(f"unknown option '{option}' of the theorem '{name}' (known: {known})")
        _check_option(option, value, theorem.options[option])
    if not theorem.subject.accepts(*about):
        raise TutelageError(f"the theorem '{name}' needs {theorem.subject.about}, got {_types(about)}")
    out: list[Certificate] = []
    for first, scene in theorem.subject.scenes(*about):
        if why := theorem.subject.unfit(theorem, scene):
            raise TutelageError(f"the theorem '{name}' {why}")
        out += signed(theorem, scene, options, first)
    return out


def certify_all(*about: Any, **options: Any) -> dict[str, list[Certificate]]:
    """Check every theorem that applies to the arguments.

    Parameters
    ----------
    *about
        As in :func:`certify`.
    **options
        Each option goes to the theorems that have it.

    Returns
    -------
    dict
        Certificates per member, by name of the theorem.

    Examples
    --------
    >>> import torch
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Levels(inputs=5, hidden=2, outputs=2).build([0])
    >>> x = torch.randn(1, 100, 5)
    >>> for name, [certificate] in certify_all(teacher, teacher, x).items():
    ...     print(f"{name}: {certificate.verdict}")
    alignment: holds
    noisy-recovery: holds
    free-boundary-point: not applicable
    norm-growth: holds
    teacher-pull: not applicable
    relu-independence: not applicable
    three-points: not applicable
    free-point: not applicable
    polynomial-samples: not applicable
    teacher-aware-samples: not applicable
    pruning: not applicable
    prunable-part: holds
    zero-gradient: holds
    lemma-1: holds
    """
    fitting = [subject for subject in subjects().values() if subject.accepts(*about)]
    if not fitting:
        known = "; ".join(subject.about for subject in subjects().values())
        raise TutelageError(f"no theorem can be checked on {_types(about)}: pass one of {known}")
    known_options = {o: v for t in THEOREMS.values() if t.subject in fitting for o, v in t.options.items()}
    for option, value in options.items():
        if option not in known_options:
            raise TutelageError(
                f"no theorem has an option '{option}': the options are {', '.join(sorted(known_options))}"
            )
        _check_option(option, value, known_options[option])
    out: dict[str, list[Certificate]] = {}
    for subject in fitting:
        for first, scene in subject.scenes(*about):  # what a scene has worked out serves all theorems
            for name, theorem in THEOREMS.items():
                if theorem.subject is not subject or subject.unfit(theorem, scene):
                    continue
                if subject.chosen(theorem, scene):
                    chosen = {option: value for option, value in options.items() if option in theorem.options}
                    out.setdefault(name, []).extend(signed(theorem, scene, chosen, first))
    return out


def signed(theorem: Theorem, scene: Any, options: Mapping[str, Any], first: int = 0) -> list[Certificate]:
    """The certificates of a theorem on one scene, whose first member has this number."""
    about = theorem.name, theorem.source, theorem.statement
    chosen = {**theorem.options, **options}
    return [
        Certificate(*about, member, tuple(f.conditions), tuple(f.parts), dict(f.settings) or chosen)
        for member, f in enumerate(theorem.function(scene, **options), start=first)
    ]


def _check_option(name: str, value: Any, default: Any) -> None:
    """Numbers are whole and at least 1 where the default is a whole number, else at least 0; others are of its type."""
    if type(default) is int:
        if type(value) is not int or not 1 <= value < 2**31:
            raise TutelageError(f"the option {name} must be a whole number of at least 1, got {value}")
    elif type(default) is float or default is None:
        if not ((value is None and default is None) or (isinstance(value, int | float) and float(value) >= 0)):
            raise TutelageError(f"the option {name} must be a number of at least 0, got {value}")
    elif type(value) is not type(default):
        raise TutelageError(f"the option {name} must be of the type of {default!r}, got {value!r}")


def _keywords(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def _types(values: Sequence[Any]) -> str:
    return ", ".join(type(value).__name__ for value in values) or "nothing"
