"""Experiments from Python with one call each: run them, vary their settings, and get tables of their results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, overload

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

from tutelage.errors import unknown
from tutelage.lab.claim_values import values_of
from tutelage.lab.experiment import Experiment, plain
from tutelage.lab.grid import LIMIT, experiments_of
from tutelage.lab.jobs import schedule
from tutelage.lab.loads import parts_of
from tutelage.lab.query import EXPERIMENTS, MEMORY, SECONDS, VIEWS
from tutelage.lab.query import query as query_folder
from tutelage.lab.store import Store
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.lab.trained_students import joined


@overload
def run(experiments: Experiment, results: str | Path = ..., **options: Any) -> Any: ...
@overload
def run(experiments: Sequence[Experiment], results: str | Path = ..., **options: Any) -> list[Any]: ...
def run(experiments, results="results", *, on="local", device="auto", engine="auto", progress=False):
    """Compute experiments, or read them where the folder has them already.

    Parameters
    ----------
    experiments
        One experiment or several.
    results
        Folder in which results are stored, each under the hash of its experiment; those of an experiment with very
        many seeds in the parts that :func:`~tutelage.lab.split` makes.
    on
        "local", "processes:N", "ray", "ray://HOST:PORT" or "slurm".
    device, engine
        Device and training engine.
    progress
        Whether to draw a progress bar on the terminal.

    Returns
    -------
    Result or list of Result
        As many as there are experiments; :class:`~tutelage.lab.TrainedStudents` for :class:`TeacherStudent`.

    Examples
    --------
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher=tt.teachers.Levels(inputs=10, hidden=3, outputs=2),
    ...     student=tt.students.SmallNormal(width_factor=2),
    ...     inputs=tt.inputs.Gaussian(train=100, evaluate=100),
    ...     training={"steps": 50},
    ...     seeds=4,
    ... )
    >>> result = tt.run(experiment, results=getfixture("tmp_path"))
    >>> result.report["evaluate_loss"].shape  # recorded steps, members
    (2, 4)
    """
    single = isinstance(experiments, Experiment)
    chosen, store = [experiments] if single else list(experiments), Store(results)
    parts = [parts_of(experiment, store) for experiment in chosen]
    with _bar(sum(e.cost for e in chosen), progress) as advance:
        computed = iter(schedule(list(chain(*parts)), store, on, device=device, engine=engine, on_progress=advance))
    out = []
    for experiment, several in zip(chosen, parts, strict=True):
        first, *rest = islice(computed, len(several))
        out.append(joined(experiment, [first, *rest]) if rest else first)
    return out[0] if single else out


def grid(
    base: TeacherStudent | Mapping[str, Any],
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    zip: Mapping[str, Sequence[Any]] | None = None,
    limit: int = LIMIT,
) -> list[TeacherStudent]:
    """Vary the settings of an experiment.

    Parameters
    ----------
    base
        The experiment whose settings are varied, or its settings as plain data.
    grid
        Lists of values by dotted name; every combination is one experiment, the first name varies slowest.
    zip
        Lists of one length that vary together, fastest.
    limit
        Largest number of experiments.

    Returns
    -------
    list of TeacherStudent
        For :func:`run`.

    Examples
    --------
    >>> import tutelage as tt
    >>> base = {
    ...     "teacher": {"kind": "levels", "inputs": 10, "hidden": 3, "outputs": 2},
    ...     "student": {"kind": "small-normal"},
    ...     "inputs": {"kind": "gaussian"},
    ...     "training": {"steps": 50},
    ...     "seeds": 4,
    ... }
    >>> several = tt.grid(base, {"student.width_factor": [1, 5], "teacher.polarity": [0, 1]})
    >>> [(e.student.width_factor, e.teacher.polarity) for e in several]
    [(1.0, 0.0), (1.0, 1.0), (5.0, 0.0), (5.0, 1.0)]
    """
    values = dict(plain(base) if isinstance(base, TeacherStudent) else base)
    tables = {"grid": grid, "zip": zip}
    values |= {word: {n: list(v) for n, v in table.items()} for word, table in tables.items() if table}
    return experiments_of(values, limit)


def results(
    folder: str | Path = "results",
    view: str = "members",
    *,
    scale: str | None = None,
    out: str | Path = "reproduced",
) -> pa.Table:
    """Table of all results in a folder, or, with a scale, of what the claims of a reproduced study measured.

    Parameters
    ----------
    folder
        Where :func:`run` stored results; with a scale the name of a study, as in ``results("l-shape", scale="paper")``.
    view
        "experiments", "members", "layers", "teachers", "units" or "pairs"; every setting that varies is a column.
    scale
        Scale at which the study was reproduced: "smoke", "quick" or "paper".
    out
        Folder that ``tutelage reproduce --out`` wrote; in the repository ``docs/results`` is one.

    Returns
    -------
    pyarrow.Table
        One row per recorded step and entry, or per claim, setting and member; ``.to_pandas()`` gives a data frame.

    Examples
    --------
    >>> import tempfile
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal"}, inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=2,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tt.run(experiment, results=folder)
    ...     results(folder).column_names
    ['experiment', 'step', 'member', 'seed', 'evaluate_loss']
    """
    if scale is not None:
        return values_of(str(folder), scale, out)
    known = [EXPERIMENTS, *VIEWS.values()]
    if view not in known:
        raise unknown("view", view, known)
    return query_folder(folder, f"SELECT * FROM {view}")


def query(sql: str, results: str | Path = "results", *, seconds: float = SECONDS, memory: float = MEMORY) -> pa.Table:
    """Answer one SELECT over all results in a folder; nothing can be written.

    Parameters
    ----------
    sql
        A query over the views of :func:`results`, and one view per other kind of experiment.
    results
        Folder of the results.
    seconds, memory
        Limits: time, and GiB of memory.

    Returns
    -------
    pyarrow.Table
        ``.to_pandas()`` gives a data frame.

    Examples
    --------
    >>> import tempfile
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal"}, inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=2,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tt.run(experiment, results=folder)
    ...     query("SELECT seed, inputs_train FROM members WHERE step = 100 ORDER BY seed", folder).to_pydict()
    {'seed': [0, 1], 'inputs_train': [50, 50]}
    """
    return query_folder(results, sql, seconds, memory)


@contextmanager
def _bar(total: float, progress: bool) -> Iterator[Callable[[float], None] | None]:
    """A function to call with work done, which draws a bar; None where none is wanted."""
    if not progress:
        yield None
        return
    with Progress(BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)
