"""One table of what was measured on students of several architectures."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tutelage.errors import TutelageError
from tutelage.measures.registry import find
from tutelage.measures.report import measure
from tutelage.networks import Network
from tutelage.training import Trajectory
from tutelage.training.several import Trajectories


def table(
    runs: Trajectory | Trajectories, names: str | Sequence[str] = "evaluate_loss", *, teacher: Network | None = None
) -> pa.Table:
    """Measures of every member at every recorded step, one row each, students of all architectures below one another.

    Parameters
    ----------
    runs
        Result of :func:`tutelage.train`.
    names
        Measures with one value per member, or the name of one.
    teacher
        As in :func:`measure`.

    Returns
    -------
    pyarrow.Table
        Columns ``student`` (place in the list that was trained), ``widths`` (such as "10-6-2"), ``seed``, ``step``,
        and one per measure; null where a member has diverged.

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Levels(inputs=5, hidden=3, outputs=2).build([0, 1])
    >>> inputs = tt.inputs.Gaussian(train=50, evaluate=50).draw(teacher, [0, 1])
    >>> stacks = [tt.students.FanInNormal(hidden=h).build(teacher, [0, 1]) for h in (3, 6, (4, 4))]
    >>> table(tt.train(teacher, stacks, inputs, steps=10))["widths"].unique().to_pylist()
    ['5-3-2', '5-6-2', '5-4-4-2']
    """
    chosen = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen:
        if find(name).axis != "member":
            raise TutelageError(
                f"the measure '{name}' has more than one value per member, and their number depends on the widths: "
                "use measure(run) of each architecture"
            )
    parts = []
    for place, run in enumerate(runs.runs if isinstance(runs, Trajectories) else (runs,)):
        report = measure(run, chosen, teacher=teacher)
        steps, members = len(report.steps), run.students.members
        columns = {
            "student": np.full(steps * members, place),
            "widths": ["-".join(map(str, run.students.widths))] * (steps * members),
            "seed": np.tile(np.asarray(run.inputs.seeds, np.uint64), steps),
            "step": np.repeat(report.steps, members),
        }
        parts.append(pa.table(columns | {name: pa.array(report[name].ravel(), from_pandas=True) for name in chosen}))
    return pa.concat_tables(parts)
