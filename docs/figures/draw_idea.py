"""Draw `idea.png`, the first picture of the README: a teacher, a student at the start, and what the student became.

Every line is the boundary of a relu unit in the plane: the unit is active on one side of it. Run from the root:
``python docs/figures/draw_idea.py``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tutelage as tt

HERE = Path(__file__).parent
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # of the teacher's units
IDLE = "#b0b0b0"
WINDOW = 3.2
SEEDS, STEPS = range(64), 200_000
FOLLOWS = 0.95  # correlation from which a unit follows a teacher unit, as everywhere in tutelage


def lines(panel, network, unit_colour, unit_width, dashes=False):
    """The boundaries of all units of a network of two inputs."""
    weights, biases = network.weights[0][0].numpy(), network.biases[0][0].numpy()
    t = np.array([-9.0, 9.0])
    for k in range(weights.shape[1]):
        w, b = weights[:, k], biases[k]
        length = np.hypot(*w)
        foot, along = -b * w / length**2, np.array([-w[1], w[0]]) / length
        x, y = foot[:, None] + along[:, None] * t
        style = (3 * k, (7, 5)) if dashes and unit_colour(k) != IDLE else "-"
        panel.plot(x, y, color=unit_colour(k), linewidth=unit_width(k), linestyle=style, solid_capstyle="round")


def clearest(teacher, report) -> int:
    """The member to draw: every teacher unit recovered, some units idle, and teacher lines at large angles."""
    w = teacher.weights[0].numpy() / np.linalg.norm(teacher.weights[0].numpy(), axis=1, keepdims=True)
    cosine = np.abs(np.einsum("sik,sij->skj", w, w) - np.eye(3)).max((1, 2))
    close = report["specialisation"][-1] > FOLLOWS
    fan = report["fan_out"][-1] / report["fan_out"][-1].max(1, keepdims=True)
    left = np.where(close, 0, fan).max(1)
    good = (report["best_correlation"][-1].min(1) > 0.99) & ((~close).sum(1) >= 2) & (left < 0.1)
    print(f"{good.sum()} of {len(good)} members recover all units and leave at least two idle ones")
    return int(np.argmin(np.where(good, cosine, np.inf)))


def main() -> None:
    """Train students of nine units on teachers of three, and draw one pair."""
    levels = (-1.0, -0.5, 0.0, 0.5, 1.0)
    teacher = tt.teachers.Levels(inputs=2, hidden=3, outputs=4, levels=levels, bias=-0.5).build(SEEDS)
    inputs = tt.inputs.Gaussian(std=1.5, train=2_000, evaluate=2_000).draw(teacher, SEEDS)
    students = tt.students.SmallNormal(width_factor=3, scale=0.01).build(teacher, SEEDS)
    run = tt.train(teacher, students, inputs, steps=STEPS, batch=16, learning_rate=0.02)
    report = tt.measure(run)
    member = clearest(teacher, report)
    teacher, students, ended = (network[member] for network in (teacher, students, run.students))
    follows, close = report["best_teacher"][-1][member], report["specialisation"][-1][member]
    fan = report["fan_out"][-1][member] / report["fan_out"][-1][member].max()

    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.5), dpi=150, sharex=True, sharey=True)
    lines(panels[0], teacher, lambda k: COLOURS[k], lambda k: 3.5)
    lines(panels[1], students, lambda k: "#404040", lambda k: 1.6)
    for k in range(3):
        lines(panels[2], teacher, lambda j, k=k: COLOURS[j] if j == k else "none", lambda j: 8)
    for line in panels[2].lines:
        line.set_alpha(0.25)
    lines(
        panels[2],
        ended,
        lambda k: COLOURS[follows[k]] if close[k] > FOLLOWS else IDLE,
        lambda k: 2.2 if close[k] > FOLLOWS else 1.2,
        dashes=True,
    )
    found = len({int(follows[k]) for k in range(9) if close[k] > FOLLOWS})
    left_over = int((close <= FOLLOWS).sum())
    titles = (
        "A teacher with 3 units\nlabels points of the plane",
        "A student with 9 units\nlearns from the labels",
        f"What it became: {found} teacher units\nrecovered, {left_over} units nearly idle",
    )
    for panel, title in zip(panels, titles, strict=True):
        panel.set(xlim=(-WINDOW, WINDOW), ylim=(-WINDOW, WINDOW), xticks=[], yticks=[], aspect="equal")
        panel.set_title(title, fontsize=11)
        for side in panel.spines.values():
            side.set_color("#d0d7de")
    print("fan-out of the units that are left over:", np.round(fan[close <= FOLLOWS], 3))
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    figure.savefig(HERE / "idea.png", bbox_inches="tight")


if __name__ == "__main__":
    main()
