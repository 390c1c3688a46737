"""The two experiments of the test bed: students with what is in them, and the scores of a method on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from pydantic import PositiveFloat, field_validator
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions import same_function
from tutelage.lab.context import Context
from tutelage.lab.experiment import Arrays, Experiment
from tutelage.measures import second_moments, similarity
from tutelage.networks import Network, forward, outputs
from tutelage.planted.answer import candidates
from tutelage.planted.cases import CASES, SAME, TRAINED, UNCHANGED, UNTRAINED, applies, in_case
from tutelage.planted.difficulty import Difficulty
from tutelage.planted.guard import guarded
from tutelage.planted.registry import METHODS, PlantedMethod, find
from tutelage.planted.scores import SCORES, score
from tutelage.planted.truth import Truth, truth
from tutelage.planted.view import StudentsView
from tutelage.settings import Seeds

TWINS = 1_000_003
"""Added to a seed for another start of a student of the same teacher."""
_PROOF = 5.0  # seconds for the proof of one student
INDICES = ("cka", "svcca", "cca")
"""Similarity indices of whole layers, student against teacher."""


class PlantedStudents(Experiment, kind="planted-students", numerics=1):
    """Students of planted teachers with their twins, and what is in them, case by case.

    Arrays: ``trained_0``, ``start_0``, ``twins_0``, ... are the parameters of the networks (weights, then biases);
    ``state_CASE`` and ``certified_CASE`` [S, L, m] the codes of the truth; ``proved_CASE`` [S] whether the students are
    proved to be the same function as those trained; ``cka``, ``svcca`` and ``cca`` [S, L] the similarity of each layer
    with the teacher's.
    """

    difficulty: Difficulty
    """How hard the teachers are to find."""
    seeds: Seeds
    """Seeds of the members."""
    cases: tuple[str, ...] = (TRAINED, UNTRAINED)
    """The cases whose truth is stored."""

    @property
    def cost(self) -> float:
        d = self.difficulty
        return 2e-6 * self.members * d.steps * d.depth * d.width_factor + 0.1 * self.members

    def run(self, context: Context) -> Arrays:
        from tutelage.studies.training import train_in  # the studies know this package

        d = self.difficulty
        distribution = d.distribution()
        teacher = d.teacher().make(self.seeds, distribution, torch.float64)
        inputs = distribution.draw(teacher, self.seeds)
        networks = {}
        for name, shift, share in (("trained", 0, 0.4), ("twins", TWINS, 0.4)):
            start = d.student().build(teacher, [seed + shift for seed in self.seeds])
            networks[name] = train_in(context, teacher, start, inputs, d.training(), share)
            networks.setdefault("start", start)
        arrays = {
            f"{name}_{place}": parameter.numpy()
            for name, network in networks.items()
            for place, parameter in enumerate(network.parameters)
        }
        scene = PlantedScene(
            self, teacher, networks["trained"], networks["start"], networks["twins"], *_points(self, inputs)
        )
        for case in (case for case in scene.cases if case in self.cases):
            if case in SAME:
                arrays[f"proved_{case}"] = proved(scene.trained, scene.students(case))
            truths = [scene.truth(case, layer) for layer in scene.layers]
            arrays[f"state_{case}"] = torch.stack([t.state for t in truths], 1).numpy()
            arrays[f"certified_{case}"] = torch.stack([t.certified for t in truths], 1).numpy()
        return arrays | scene.similarities()


def _points(experiment: PlantedStudents, inputs: Any) -> tuple[Tensor, Tensor]:
    """Points that methods see, and points on which answers are scored."""
    return inputs.train[:, : experiment.difficulty.samples], inputs.evaluate


def proved(trained: Network, rewritten: Network) -> np.ndarray:
    """Whether each student is proved to be the same function as before, on all inputs: bool [S]."""
    pairs = ((trained[member], rewritten[member]) for member in range(trained.members))
    return np.array([same_function(*pair, seconds=_PROOF).same is True for pair in pairs])


@dataclass(frozen=True, eq=False)
class PlantedScene:
    """Teachers, students, and the points of an experiment.

    Attributes
    ----------
    experiment
        The settings.
    teacher, trained, start, twins
        Networks of S members: the teachers; the students after and before training; other students.
    seen, scoring
        Points that methods see, and points that answers are scored on, [S, N, d].
    """

    experiment: PlantedStudents
    teacher: Network
    trained: Network
    start: Network
    twins: Network
    seen: Tensor
    scoring: Tensor

    @classmethod
    def of(cls, result: Any) -> "PlantedScene":
        """The scene of a stored result."""
        return _scene(result.experiment, lambda: result)

    @property
    def layers(self) -> range:
        return range(1, self.teacher.depth)

    @property
    def cases(self) -> list[str]:
        """The cases that students of this activation can be given in."""
        return [case for case in CASES if applies(case, self.teacher.activation)]

    def students(self, case: str) -> Network:
        """The students in a case."""
        return in_case(case, self.trained, self.start, self.experiment.seeds)

    def truth(self, case: str, layer: int) -> Truth:
        """What is in a layer of the students in a case."""
        distribution = self.experiment.difficulty.distribution()
        return truth(self.teacher, self.students(case), self.scoring, layer, distribution, self.start)

    def view(self, case: str, layer: int, method: PlantedMethod, known: Truth | None = None) -> StudentsView:
        """What a method sees."""
        labels = outputs(self.teacher, self.seen)
        twins = self.twins if method.sees == "twins" else None
        teacher = self.teacher if method.sees in ("teacher", "truth") else None
        hidden = known if method.sees == "truth" else None
        return StudentsView(self.students(case), layer, labels, self.experiment.seeds, twins, teacher, hidden)

    def similarities(self) -> dict[str, np.ndarray]:
        """Similarity of every layer of the trained students with the teacher's, by index: [S, L]."""
        taught, learnt = forward(self.teacher, self.scoring).features, forward(self.trained, self.scoring).features
        moments = [second_moments([(taught[layer], learnt[layer])]) for layer in self.layers]
        return {by: torch.stack([similarity(m, by=by) for m in moments], 1).numpy() for by in INDICES}


_known: dict[str, PlantedScene] = {}
_truths: dict[tuple[str, str, int], Truth] = {}


def _scene(experiment: PlantedStudents, result: Any) -> PlantedScene:
    """The scene of an experiment; that of the last one is kept, since many methods are scored on it in turn."""
    if experiment.hash not in _known:
        _known.clear()
        _truths.clear()
        arrays = result().arrays
        d, distribution = experiment.difficulty, experiment.difficulty.distribution()
        teacher = d.teacher().make(experiment.seeds, distribution, torch.float64)
        inputs = distribution.draw(teacher, experiment.seeds)
        like = d.student().build(teacher, experiment.seeds)
        trained, start, twins = (_filled(like, arrays, name) for name in ("trained", "start", "twins"))
        _known[experiment.hash] = PlantedScene(experiment, teacher, trained, start, twins, *_points(experiment, inputs))
    return _known[experiment.hash]


def _filled(like: Network, arrays: Any, name: str) -> Network:
    """A network of that shape with stored parameters."""
    stored = iter([torch.from_numpy(arrays[f"{name}_{place}"]) for place in range(len(like.parameters))])
    return like.map(lambda parameter: next(stored).to(parameter.dtype))


class PlantedScores(Experiment, kind="planted-scores", numerics=1):
    """The scores of one method on planted students.

    Arrays [S, C, L], with C cases and L hidden layers: the ``SCORES`` of the method; ``found`` and ``inside``
    [S, C, L, m]; ``curve`` [S, C, L, 11]; ``invariance`` [S, L], the overlap of the units found before and after the
    students were rewritten.
    """

    students: PlantedStudents
    """The students."""
    method: str
    """Name of the method."""
    cases: tuple[str, ...] = (TRAINED,)
    """In which cases students are given; those that their activation does not allow are NaN."""
    seconds: PositiveFloat = 60.0
    """Time limit for one call of a method of a user."""

    @field_validator("method")
    @classmethod
    def _known_method(cls, name: str) -> str:
        find(name)
        return name

    def uses(self) -> tuple[Any, ...]:
        """The method, whose plugin enters the hash."""
        return (METHODS[self.method],)

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.students.seeds

    @property
    def cost(self) -> float:
        return 0.03 * self.members * len(self.cases) * self.students.difficulty.depth

    def run(self, context: Context) -> Arrays:
        scene, chosen = _scene(self.students, lambda: context.result(self.students)), find(self.method)
        if not chosen.built_in:
            check_repeats(chosen, scene, self.seconds)
        parts = {}
        every = list(product(self.cases, scene.layers))
        for done, (case, layer) in enumerate(every):
            work = partial(self._scored, scene, chosen, case, layer)
            parts[case, layer] = context.part(f"{case} {layer}", work)
            context.progress((done + 1) / len(every))
        names = (*SCORES, "found", "inside", "curve")
        arrays = {
            name: np.stack([np.stack([parts[c, layer][name] for layer in scene.layers], 1) for c in self.cases], 1)
            for name in names
        }
        return arrays | {"invariance": _invariance(arrays["found"], self.cases)}

    def _scored(self, scene: PlantedScene, chosen: PlantedMethod, case: str, layer: int) -> dict[str, np.ndarray]:
        """Scores in one case and layer; NaN where the method or the case is not for them."""
        if case not in scene.cases or (chosen.first_layer and layer > 1):
            return _undefined(scene.teacher.members, scene.teacher.widths[layer])
        name = self.students.hash, case, layer
        known = _truths[name] if name in _truths else _truths.setdefault(name, scene.truth(case, layer))
        view = scene.view(case, layer, chosen, known)
        checked = candidates(answer_of(chosen, view, scene.seen, self.seconds), view, chosen.name)
        return score(checked, known, scene.scoring, self.seeds)


def answer_of(chosen: PlantedMethod, view: StudentsView, points: Tensor, seconds: float) -> Any:
    """The answer of a method; one of a user is called in a process of its own."""
    work = lambda: chosen.function(view, points.clone())  # noqa: E731
    return work() if chosen.built_in else guarded(chosen.name, work, seconds)


def check_repeats(chosen: PlantedMethod, scene: PlantedScene, seconds: float) -> None:
    """Raise an error where a method gives two answers to one question."""
    view = scene.view(TRAINED, 1, chosen, scene.truth(TRAINED, 1))
    first, second = (candidates(answer_of(chosen, view, scene.seen, seconds), view, chosen.name) for _ in range(2))
    same = first.scores.shape == second.scores.shape and bool((first.scores == second.scores).all())
    if not same or not torch.equal(*(c.activity(scene.scoring[:, :50]) for c in (first, second))):
        raise TutelageError(
            f"the method '{chosen.name}' gives another answer when it is asked again: fix its seed, e.g. random_state=0"
        )


def _undefined(members: int, units: int) -> dict[str, np.ndarray]:
    nothing = np.full(members, np.nan)
    none = np.zeros((members, units), bool)
    return dict.fromkeys(SCORES, nothing) | {"found": none, "inside": none, "curve": np.full((members, 11), np.nan)}


def _invariance(found: np.ndarray, cases: Sequence[str]) -> np.ndarray:
    """Units found in both over units found in either, mean over the rewritten cases: [S, L]; NaN where none is found in
    either.

    found [S, C, L, m]: of the trained students and of the same functions with other weights.
    """
    rewritten = [place for place, case in enumerate(cases) if case in UNCHANGED]
    if TRAINED not in cases or not rewritten:
        return np.full((found.shape[0], found.shape[2]), np.nan)
    base = found[:, cases.index(TRAINED)][:, None]
    other = found[:, rewritten]
    both, either = (base & other).sum(3), (base | other).sum(3)
    overlap = np.where(either > 0, both / np.maximum(either, 1), np.nan)
    count = np.isfinite(overlap).sum(1)
    return np.where(count > 0, np.nansum(overlap, axis=1) / np.maximum(count, 1), np.nan)


def evaluate(
    name: str,
    difficulty: Difficulty | None = None,
    seeds: int | Sequence[int] = 8,
    cases: Sequence[str] = (TRAINED,),
    seconds: float = 60.0,
) -> Arrays:
    """Score a method on planted students that are trained for it, without storing anything.

    Parameters
    ----------
    name
        Name of a registered method.
    difficulty
        How hard the teachers are to find; default: the defaults of the dials.
    seeds
        A number of members, or their seeds.
    cases
        In which of the ``CASES`` students are given.
    seconds
        Time limit for one call of the method.

    Returns
    -------
    dict
        The arrays of :class:`PlantedScores`.

    Examples
    --------
    >>> scores = evaluate("max-correlation", Difficulty(units=3, inputs=5, steps=500), seeds=2)
    >>> scores["recall"].shape  # members, cases, layers
    (2, 1, 1)
    """
    listed = range(seeds) if isinstance(seeds, int) else seeds
    students = PlantedStudents(difficulty=difficulty or Difficulty(), seeds=tuple(listed), cases=(TRAINED,))
    scores = PlantedScores(students=students, method=name, cases=tuple(cases), seconds=seconds)
    return scores.run(Context(result=lambda needed: _InMemory(needed, needed.run(Context()))))


@dataclass(frozen=True, eq=False)
class _InMemory:
    """A result that is not stored: the experiment and its arrays."""

    experiment: Experiment
    arrays: Arrays
