"""Conjecture 5.5 of Zhu et al. 2021: false as printed; proofs for relu, and searches for a counterexample there."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from tutelage.alignment.conjecture_search import climb, random_search
from tutelage.alignment.edge_proof import prove_edge
from tutelage.alignment.face_proof import prove_face
from tutelage.alignment.four_checker import check_four
from tutelage.alignment.four_proof import FourProof, prove_four
from tutelage.alignment.interval_proof import IntervalProof, prove
from tutelage.alignment.proof_checker import check
from tutelage.alignment.studies._other_kernels import KERNELS, KernelSearch, as_printed, draw_kernels
from tutelage.errors import TutelageError
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.studies.claims import Check
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

Region = Literal["interior", "face", "opposite edge", "neighbour edge", "four students"]
PROOFS: dict[Scale, dict[Region, tuple[int, int, int]]] = {
    "smoke": {"interior": (0, 3, 6), "face": (6, 5, 9), "opposite edge": (6, 4, 8), "four students": (0, 4, 5)},
    "quick": {
        "interior": (0, 5, 10),
        "face": (6, 5, 12),
        "opposite edge": (6, 4, 13),
        "neighbour edge": (6, 5, 13),
        "four students": (0, 4, 6),
    },
    "paper": {
        "interior": (0, 7, 14),
        "face": (7, 6, 14),
        "opposite edge": (6, 4, 13),
        "neighbour edge": (6, 5, 14),
        "four students": (0, 6, 8),
    },
}
"""Per region: slab, margin and finest level, as powers of two of the circle."""
SETS: dict[Scale, int] = {"smoke": 20_000, "quick": 1_000_000, "paper": 10_000_000}
CLIMBS: dict[Scale, tuple[int, int]] = {"smoke": (16, 50), "quick": (64, 400), "paper": (192, 1200)}
"""Starts, and steps of each."""
STUDENTS: dict[Scale, tuple[int, ...]] = {
    "smoke": (3, 6),
    "quick": (3, 4, 6, 9),
    "paper": (3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
}
DISTANCES = (0.1, 0.02)
KERNEL_SETS: dict[Scale, int] = {"smoke": 2_000, "quick": 20_000, "paper": 200_000}
"""Random sets of three students for each of several AD functions."""


@study(
    "conjecture-5-5",
    paper="zhu2021",
    figure="Conj. 5.5",
    shows="No figure: the paper conjectures that for three students or more some det M_i is not positive, and shows "
    "grids and random sets.",
)
def conjecture(scale: Scale) -> Plan:
    """Conjecture 5.5 is false for general functions; how much of it is proved for relu."""
    proofs: list[Experiment] = [
        BoxProof(region=region, slab=slab, margin=margin, finest=finest)
        for region, (slab, margin, finest) in PROOFS[scale].items()
    ]
    searches = [RandomSearch(students=m, sets=SETS[scale]) for m in STUDENTS[scale]]
    starts, steps = CLIMBS[scale]
    climbs = [
        Climb(students=m, distance=distance, starts=starts, steps=steps)
        for m in STUDENTS[scale]
        for distance in DISTANCES
    ]
    kernels = [KernelSearch(kernel=name, students=3, sets=KERNEL_SETS[scale]) for name in KERNELS]
    claims = [as_printed, confirmed, none_at_random, none_uphill]
    return Plan([*proofs, *searches, *climbs, *kernels], draw, claims, table, view=arranged)


class BoxProof(Experiment, kind="box-proof", numerics=1):
    """A proof on boxes of angles by branch and bound, confirmed box by box by a checker in exact whole numbers.

    region: all gaps between neighbours large ("interior"), one small ("face"), two small ("edge"), or four students;
    slab: small gaps are below 2 pi / 2^slab; margin: the other gaps are at least 2 pi / 2^margin; finest: boxes have
    sides of 2 pi / 2^finest or more.
    """

    region: Region
    slab: int
    margin: int
    finest: int

    @property
    def cost(self) -> float:
        return 1e-4 * 4.0**self.finest

    def prove(self) -> IntervalProof | FourProof:
        """The proof as a tree of boxes; nothing in it is trusted before the checker has seen it."""
        if self.region == "interior":
            return prove(self.margin, self.finest)
        if self.region == "face":
            return prove_face(self.slab, self.margin, self.finest)
        if self.region == "four students":
            return prove_four(self.margin, self.finest)
        kind: Literal["opposite", "neighbour"] = "opposite" if self.region == "opposite edge" else "neighbour"
        return prove_edge(kind, self.slab, self.margin, self.finest)

    def run(self, context: Context) -> Arrays:
        held = context.part("boxes", lambda: _held(self.prove()))
        proof = read_proof(self, held)
        context.progress(0.5)

        def tell(share: float) -> None:
            context.progress(0.5 + share / 2)

        found = check_four(proof, tell) if isinstance(proof, FourProof) else check(proof, tell)
        counts = {name: np.array([n]) for name, n in proof.counts().items()}
        if isinstance(proof, FourProof) or not proof.slab:
            covered = proof.share
        else:  # a proof for small gaps speaks of its region as a whole, once no box is open
            covered = proof.region if found.valid else 0.0
        judged = {"rejected": np.array([found.rejected]), "valid": np.array([found.valid])}
        return counts | judged | {"covered": np.array([covered])} | {k: Shared(v) for k, v in held.items()}


def _held(proof: IntervalProof | FourProof) -> dict[str, np.ndarray]:
    lengths = np.array([len(level) for level in proof.levels], np.int64)
    return {"codes": np.concatenate(proof.levels), "lengths": lengths}


def read_proof(experiment: BoxProof, held: dict[str, np.ndarray]) -> IntervalProof | FourProof:
    """The proof whose boxes were stored, for another check."""
    if int(held["lengths"].sum()) != len(held["codes"]):
        raise TutelageError("the boxes of the proof do not fit their levels: compute it again")
    levels = tuple(np.split(held["codes"], np.cumsum(held["lengths"])[:-1]))
    if experiment.region == "four students":
        return FourProof(experiment.margin, levels)
    edge = {"opposite edge": 1, "neighbour edge": 2}.get(experiment.region, 0)
    return IntervalProof(experiment.margin, levels, experiment.slab, edge)


class RandomSearch(Experiment, kind="random-search", numerics=1):
    """Angle sets uniform on the circle, each settled by proof: how many have all det M_i positive."""

    students: int
    sets: int
    seed: int = 0

    @property
    def cost(self) -> float:
        return 1e-6 * self.sets

    def run(self, context: Context) -> Arrays:
        found = random_search(self.students, self.sets, self.seed, context.threads, context.progress)
        counts = {"reopened": found.reopened, "unsettled": found.unsettled, "positive": len(found.positive)}
        return {name: np.array([count]) for name, count in counts.items()}


class Climb(Experiment, kind="determinant-climb", numerics=1):
    """The highest min_i det M_i / det M that climbing reaches among angles at least ``distance`` apart."""

    students: int
    distance: float
    starts: int
    steps: int
    seed: int = 0

    @property
    def cost(self) -> float:
        return 1e-4 * self.starts * self.steps * self.students

    def run(self, context: Context) -> Arrays:
        found = climb(self.students, self.starts, self.steps, self.distance, self.seed)
        return {
            "highest": np.array([found.value]),
            "error": np.array([found.error]),
            "proved_negative": np.array([found.proved_negative]),
            "best_angles": found.angles[None],
        }


@dataclass(frozen=True, eq=False)
class ConjectureResults:
    """Proofs by region, searches by number of students, climbs by number of students and distance, other kernels."""

    proofs: dict[str, dict[str, float]]
    searches: dict[int, dict[str, int]]
    climbs: dict[tuple[int, float], dict[str, float]]
    kernels: dict[str, dict[str, int]]


def arranged(results: Results) -> ConjectureResults:
    """What each experiment says, under its settings."""
    proofs = {
        r.setting("region"): {n: float(r[n][0]) for n in ("proved", "open", "rejected", "covered", "valid")}
        for r in results.of(BoxProof)
    }
    searches = {
        r.setting("students"): {"sets": r.setting("sets")} | {n: int(r[n][0]) for n in _SEARCHED}
        for r in results.of(RandomSearch)
    }
    climbs = {
        (r.setting("students"), r.setting("distance")): {n: float(r[n][0]) for n in ("highest", "error")}
        for r in results.of(Climb)
    }
    kernels = {
        r.setting("kernel"): {"sets": r.setting("sets")} | {n: int(r[n][0]) for n in ("positive", "negative")}
        for r in results.of(KernelSearch)
    }
    return ConjectureResults(proofs, searches, climbs, kernels)


_SEARCHED = ("reopened", "unsettled", "positive")


def table(e: ConjectureResults) -> pa.Table:
    rows: list[dict] = [{"what": "proof", "setting": name, **values} for name, values in e.proofs.items()]
    rows += [{"what": "search", "setting": f"m = {m}", **values} for m, values in e.searches.items()]
    rows += [{"what": "climb", "setting": f"m = {m}, {d:g}", **values} for (m, d), values in e.climbs.items()]
    rows += [{"what": "kernel", "setting": name, **values} for name, values in e.kernels.items()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


def draw(e: ConjectureResults) -> Figure:
    """Share of ordered angle sets covered per region; the highest least ratio by climbing; other AD functions."""
    figure = Figure(figsize=(12.4, 3.1), layout="constrained")
    left, right, others = figure.subplots(1, 3)
    draw_kernels(others, e.kernels)
    names = list(e.proofs)
    left.barh(names, [100 * e.proofs[name]["covered"] for name in names], color=PALETTE[0])
    for place, name in enumerate(names):
        share = 100 * e.proofs[name]["covered"]
        left.text(min(share + 1, 84), place, f"{share:.2f} %", va="center", fontsize=7)
    left.invert_yaxis()
    left.set(xlabel="share of ordered angle sets proved (%)", xlim=(0, 100), title="proved and checked, by region")
    for colour, distance in zip(PALETTE[2:], DISTANCES, strict=False):
        found = [(m, -values["highest"]) for (m, d), values in e.climbs.items() if d == distance]
        right.plot(*zip(*found, strict=True), "o-", color=colour, markersize=3, label=f"angles {distance:g} apart")
    students = sorted({m for m, _ in e.climbs})
    right.set(yscale="log", xlabel="students m", xticks=students, title="climbs: highest least det $M_i$ / det $M$")
    right.set_ylabel("minus the highest value found")
    right.legend()
    return figure


confirmed = Check(
    "where it is proved for relu that some det M_i is negative, a separate checker in whole numbers confirms every box",
    statistic="boxes of the proof that the checker does not confirm, one value per region",
    expected="<= 0",
    values=lambda e: {"all regions": np.array([values["rejected"] for values in e.proofs.values()])},
    reason="a proof has no exceptions",
)

none_at_random = Check(
    "for relu no random angle set has all det M_i positive",
    statistic="sets with all determinants proved positive or left unsettled, one value per number of students",
    expected="<= 0",
    values=lambda e: {"all m": np.array([v["positive"] + v["unsettled"] for v in e.searches.values()], float)},
    reason="a conjecture has no exceptions",
)

none_uphill = Check(
    "nor does one that was climbed to",
    statistic="highest least ratio det M_i / det M over its numerical error, one value per number of students",
    expected="< -1",
    values=lambda e: {
        f"angles {distance:g} apart": np.array(
            [values["highest"] / values["error"] for (_, d), values in e.climbs.items() if d == distance]
        )
        for distance in DISTANCES
    },
    reason="below zero by more than the numerical error",
)
