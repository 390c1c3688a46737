"""Why SVCCA finds trained networks alike: what its two steps do to specialised and idle students (001, section 6)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure

from tutelage.figures import PALETTE, band, panel_grid
from tutelage.measures import RECOVERED, correlations, second_moments, similarity
from tutelage.measures.similarity import kept_directions
from tutelage.networks import Network, forward
from tutelage.runs import Pack, build
from tutelage.studies.claims import Claim
from tutelage.studies.packs import Packs, setting
from tutelage.studies.specialisation.two_layer import MEASURES, sweep
from tutelage.studies.study import Plan, Scale, study

INDICES = ("svcca", "cca", "pwcca", "cka")
MULTIPLES = (2, 5, 10)
POLARITIES = (0.0, 1.0)


@study(
    "svcca-explained",
    seed="001",
    figure="sec. 6",
    shows="No figure: the seed argues that SVCCA works because its SVD step removes the small activations of unaligned "
    "students, and its CCA step merges co-linear students and removes the order of the units.",
)
def svcca_explained(scale: Scale) -> Plan:
    """What SVCCA sees of an over-realised student."""
    specs = sweep(scale, hidden=10, multiples=MULTIPLES, polarities=POLARITIES)
    measured = {"measures": (*MEASURES, *INDICES)}
    return Plan(
        experiments=[s.model_copy(update={"record": s.record.model_copy(update=measured)}) for s in specs],
        evidence=look,
        figure=draw,
        claims=[svd_drops_the_unaligned, few_directions, cca_merges, more_than_unit_by_unit],
        numbers=table,
    )


@dataclass(frozen=True)
class Seen:
    """One pack at the end of training: a number a member under each name, [S]."""

    pack: Pack
    values: dict[str, np.ndarray]

    @property
    def label(self) -> str:
        return f"p = {setting(self.pack, 'polarity'):g}, {setting(self.pack, 'multiple'):g}x"


def look(packs: Packs, progress: Callable[[float], None]) -> list[Seen]:
    """Teacher and student layers on the evaluation points, and the student with its best unit a teacher unit alone."""
    found = []
    for done, pack in enumerate(packs, start=1):
        teacher, students, points = pack.teacher(), pack.weights(), build(pack.spec)[2].evaluate
        whole = [_one(teacher[s], students[s], points[s : s + 1]) for s in range(students.members)]
        found.append(Seen(pack, {name: np.array([values[name] for values in whole]) for name in whole[0]}))
        progress(done / len(packs))
    return found


def _one(teacher: Network, student: Network, points: torch.Tensor) -> dict[str, float]:
    """The numbers of one member."""
    f, g = (forward(network, points).features[1].double() for network in (teacher, student))
    rho = correlations(f, g)[0]
    best = rho.amax(0)
    variance = g.var(1, correction=0)[0]
    left_over = best <= RECOVERED
    moments = second_moments([(f, g)])
    chosen = rho.argmax(1).unique()
    kept = [int(count) for count in kept_directions(moments)]
    return {
        "svcca": similarity(moments, by="svcca").item(),
        "svcca_of_the_best_alone": similarity(f, g[..., chosen], by="svcca").item(),
        "unit_by_unit": best.mean().item(),
        "unaligned_units": float(left_over.sum()),
        "unaligned_variance": (variance[left_over].sum() / variance.sum()).item() if left_over.any() else np.nan,
        "teacher_directions": float(kept[0]),
        "student_directions": float(kept[1]),
    }


def table(found: list[Seen]) -> pa.Table:
    rows = [
        {
            "polarity": setting(seen.pack, "polarity"),
            "multiple": setting(seen.pack, "multiple"),
            "seed": seed,
            **{name: values[i] for name, values in seen.values.items()},
        }
        for seen in found
        for i, seed in enumerate(seen.pack.spec.seeds)
    ]
    return pa.Table.from_pylist(rows)


def draw(found: list[Seen]) -> Figure:
    """Likeness of teacher's and students' hidden layers over training, index by index."""
    settings = sorted({setting(seen.pack, "polarity") for seen in found})
    multiples = sorted({setting(seen.pack, "multiple") for seen in found})
    figure, axes = panel_grid(
        [f"p = {p:g}" for p in settings], [f"{k:g}x" for k in multiples], "step", "likeness to the teacher"
    )
    for seen in found:
        report = seen.pack.report
        place = settings.index(setting(seen.pack, "polarity")), multiples.index(setting(seen.pack, "multiple"))
        for name, colour, style in zip(INDICES, PALETTE, ("-", "--", ":", "-"), strict=False):
            band(axes[place], np.array(report.steps), report[name][:, :, 0], colour, name.upper(), style, spread=False)
        unit_by_unit = report["specialisation"].mean(2)
        band(axes[place], np.array(report.steps), unit_by_unit, "#777777", "unit by unit", "-.", spread=False)
    axes[0, 0].set_xscale("symlog", linthresh=100)
    axes[0, 0].set_ylim(0, 1.03)
    axes[0, 0].legend(loc="lower right")
    return figure


svd_drops_the_unaligned = Claim(
    "the SVD step removes unaligned students, since their activations are small",
    statistic="share of the layer's variance in units with best correlation at most 0.95, at the end (SVCCA drops 1 %)",
    expected="< 0.01",
    refuted_by="an interval over seeds above 0.01; members without such units do not count",
    values=lambda found: {seen.label: seen.values["unaligned_variance"] for seen in found},
)

few_directions = Claim(
    "so that SVCCA keeps about as many directions of a student as of its teacher, however many units it has",
    statistic="directions SVCCA keeps of the student's layer over those of the teacher's",
    expected="< 1.5",
    refuted_by="an interval over seeds above 1.5",
    values=lambda found: {
        seen.label: seen.values["student_directions"] / seen.values["teacher_directions"] for seen in found
    },
)

cca_merges = Claim(
    "the CCA step merges co-linear students",
    statistic="SVCCA of teacher and student minus SVCCA of the teacher and the best student unit of each teacher unit "
    "alone, in absolute value",
    expected="< 0.05",
    refuted_by="an interval over seeds above 0.05",
    values=lambda found: {
        seen.label: np.abs(seen.values["svcca"] - seen.values["svcca_of_the_best_alone"]) for seen in found
    },
)

more_than_unit_by_unit = Claim(
    "SVCCA finds networks alike that differ unit by unit",
    statistic="SVCCA minus the mean best correlation of the student's units",
    expected="> 0",
    refuted_by="an interval over seeds below 0",
    values=lambda found: {seen.label: seen.values["svcca"] - seen.values["unit_by_unit"] for seen in found},
)
