"""Gradient flow of students of one teacher in the plane: the central case of Zhu et al. 2021 (Theorem 5.9)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.alignment.studies.local_minima_census import GLOBAL, KINDS, Census, FlowEnds, censuses
from tutelage.studies.claims import SHARE, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

STUDENTS = (3, 4, 6)
STARTS: dict[Scale, int] = {"smoke": 4, "quick": 48, "paper": 512}
TIME: dict[Scale, float] = {"smoke": 20.0, "quick": 1_000.0, "paper": 5_000.0}
_ON_ITS_WAY = KINDS.index("on its way")


@study(
    "one-teacher-flows",
    paper="zhu2021",
    figure="Thm 5.9",
    shows="No figure: with one teacher in the plane and three students or more the gradient is zero only where all "
    "students are aligned with the teacher.",
)
def one_teacher_flows(scale: Scale) -> Plan:
    """Where students of one teacher in the plane come to rest."""
    common = {"dimension": 2, "time": TIME[scale], "seeds": STARTS[scale]}
    experiments = [FlowEnds(teachers=1, students=m, **common) for m in STUDENTS]
    return Plan(experiments, draw, [rests_at_zero, come_to_rest, aligned], view=censuses)


def draw(ends: list[Census]) -> Figure:
    """The share of starts whose loss is below a value at the end, and how far students are on the teacher."""
    figure = Figure(figsize=(6.8, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, c in zip(PALETTE, ends, strict=False):
        loss = np.sort(np.maximum(c.loss, 1e-16))
        left.step(loss, np.arange(1, len(loss) + 1) / len(loss), where="post", color=colour, label=c.label)
    left.axvline(GLOBAL, color="#888888", linestyle=":", linewidth=0.8)
    left.set(xscale="log", xlabel="loss at the end, of that at the start", ylabel="share of starts", ylim=(0, 1.02))
    left.legend(fontsize=7)
    places = np.arange(len(ends))
    for shift, name, colour in ((-0.17, "aligned", PALETTE[0]), (0.17, "on_line", PALETTE[1])):
        values = [getattr(c, name).mean() for c in ends]
        right.bar(places + shift, values, 0.32, color=colour, label=_PLACES[name])
    right.set_xticks(places, [str(c.students) for c in ends])
    right.set(xlabel="students of one teacher", ylabel="share of students", ylim=(0, 1.3), yticks=[0, 0.5, 1])
    right.legend(fontsize=7, loc="upper center", ncols=2)
    return figure


_PLACES = {"aligned": "on the teacher", "on_line": "on its line"}


rests_at_zero = Claim(
    "a flow with three students or more rests nowhere but where the loss is zero",
    statistic="one where the loss is below a millionth of that at the start, else zero; of flows that rest",
    expected=">= 1",
    values=lambda ends: {c.label: Measured((c.kind == 0).astype(float), premise=c.kind != _ON_ITS_WAY) for c in ends},
    reason="the theorem allows no exception",
    about="every",
    possible=SHARE,
    kind="outcome",
    place="Thm 5.9",
)

come_to_rest = Claim(
    "most flows come to rest within the time",
    statistic="one where the loss has reached zero or hardly falls over the second half of the time, else zero",
    expected="> 0.5",
    values=lambda ends: {c.label: (c.kind != _ON_ITS_WAY).astype(float) for c in ends},
    reason="'most' is read as more than half",
    possible=SHARE,
    kind="outcome",
    standing="own",
    failure="not found",
)

aligned = Claim(
    "where the loss has reached zero the students are aligned with the teacher",
    statistic="share of the students (those longer than 0.001) within 0.05 rad of the teacher",
    expected="> 0.95",
    values=lambda ends: {c.label: Measured(c.aligned, premise=c.kind == 0) for c in ends},
    reason="one student in twenty may be short and still turning: a loss of a millionth leaves it that much",
    possible=SHARE,
    kind="share",
)
