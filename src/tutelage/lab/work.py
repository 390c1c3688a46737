"""Loads at work: each is trained in one stack and measured as it goes; on a GPU a few loads share the device."""

import ctypes
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from tutelage.lab.build import build, build_later
from tutelage.lab.context import Context
from tutelage.lab.loads import STREAMS, Piece, loads, second_teacher, work
from tutelage.lab.tables import SECOND
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.lab.trained_students import Trained
from tutelage.measures import Report
from tutelage.measures.report import Recorder, applicable
from tutelage.networks import BlackBox, Network, concatenate
from tutelage.training import Task
from tutelage.training.inputs import Inputs
from tutelage.training.make_task import make_task
from tutelage.training.train import TrainingEnd, follow

log = logging.getLogger(__name__)

OnProgress = Callable[[float], None]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt
_LARGE = 1 << 30


@dataclass(frozen=True, eq=False)
class TrainedPiece:
    """A finished piece of an experiment: its report, the networks it keeps, and how it was computed.

    threads: of one operation on a CPU; stack: members that were trained side by side, those of other experiments
    included. Both may decide the last bits of the stacked engine, see :class:`tutelage.training.stacked.Stacked`.
    """

    piece: Piece
    report: Report
    kept: dict[str, Network]
    diverged_at: Tensor
    stopped_at: Tensor
    engine: str
    seconds: float
    training_seconds: float
    threads: int
    stack: int
    why: str


Load = Sequence[Piece]


def trained(experiments: Sequence[TeacherStudent], context: Context) -> Iterator[tuple[TeacherStudent, Trained]]:
    """Trained students of all experiments, each as soon as all its pieces are finished."""
    if context.device.type == "cpu":
        keep_freed_memory()
    finished: dict[str, list[TrainedPiece]] = {experiment.hash: [] for experiment in experiments}
    total = sum(work(experiment) for experiment in experiments) or 1.0
    share = sum(experiment.cost for experiment in experiments) / total

    def tell(done: float) -> None:
        context.advance(done * share)

    for part in train_loads(loads(experiments, context.device), context.device, context.engine, tell):
        whole = part.piece.whole
        finished[whole.hash].append(part)
        if sum(len(p.piece.experiment.seeds) for p in finished[whole.hash]) == len(whole.seeds):
            yield whole, _whole(whole, finished.pop(whole.hash))


def _whole(experiment: TeacherStudent, parts: Sequence[TrainedPiece]) -> Trained:
    """The pieces of an experiment put together again, in the order of its seeds."""
    parts = sorted(parts, key=lambda part: experiment.seeds.index(part.piece.experiment.seeds[0]))
    report = Report.join([part.report for part in parts])
    kept = {name: concatenate([part.kept[name] for part in parts]) for name in parts[0].kept}
    diverged, stopped = (torch.cat([getattr(p, name) for p in parts]) for name in ("diverged_at", "stopped_at"))
    seconds = sum(part.seconds for part in parts)
    training = sum(part.training_seconds for part in parts)
    how = parts[0].engine, seconds, training, parts[0].threads, [part.stack for part in parts]
    return Trained(report, kept, diverged, stopped, *how, parts[0].why)


def train_loads(stacks: Sequence[Load], device: torch.device, engine: str, tell: OnProgress) -> Iterator[TrainedPiece]:
    """The parts of all loads as they are finished: one load after another on a CPU, a few at a time on a GPU.

    On a GPU one load's recordings then overlap another's training, and blocks of one fill the gaps of the other.
    """
    if device.type != "cuda":
        for load in stacks:
            yield from _train(load, device, engine, tell)
        return
    stop = threading.Event()

    def tell_or_stop(done: float) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        tell(done)

    def on_a_stream(load: Load) -> list[TrainedPiece]:
        with torch.cuda.stream(torch.cuda.Stream(device)):
            return _train(load, device, engine, tell_or_stop)

    with ThreadPoolExecutor(max_workers=STREAMS) as workers:
        heaviest_first = sorted(stacks, key=lambda load: -sum(work(piece.experiment) for piece in load))
        futures = [workers.submit(on_a_stream, load) for load in heaviest_first]
        try:
            for future in as_completed(futures):
                yield from future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _joined(teachers: Sequence[Network | BlackBox]) -> Network | BlackBox:
    networks = [teacher for teacher in teachers if isinstance(teacher, Network)]
    return concatenate(networks) if networks else teachers[0].expand(sum(t.members for t in teachers))


def _labels(inputs: Sequence[Inputs]) -> tuple[Tensor | None, Tensor | None]:
    """Labels of data sets for training and evaluation points, where there are any."""
    if inputs[0].train_labels is None:
        return None, None
    train = torch.cat([x.train_labels for x in inputs if x.train_labels is not None])
    return train, torch.cat([x.evaluate_labels for x in inputs if x.evaluate_labels is not None])


class _Group:
    """Pieces of a load whose teachers have one shape: built side by side, and measured together."""

    def __init__(self, pieces: Sequence[Piece], begin: int, device: torch.device) -> None:
        self.pieces = pieces
        built = [build(piece.experiment, device) for piece in pieces]
        self.teacher = _joined([teacher for teacher, _, _ in built])
        self.students = concatenate([students for _, students, _ in built])
        self.task = Task.join(
            [make_task(s, t, x, p.experiment.training) for (t, s, x), p in zip(built, pieces, strict=True)]
        )
        evaluate = built[0][2].evaluate if len(built) == 1 else torch.cat([x.evaluate for _, _, x in built])
        points = Inputs(
            self.task.points, evaluate, self.task.seeds, built[0][2].distribution, *_labels([x for _, _, x in built])
        )
        measures = applicable(pieces[0].experiment.record.measures, self.teacher)
        self.recorder = Recorder(self.teacher, points, measures)
        self.later = self._later(built, device)
        self.later_recorder = Recorder(self.later[1], points, measures) if self.later else None
        self.place = slice(begin, begin + self.students.members)
        self.kept: dict[int, Network] = {}

    def _later(self, built: Sequence[tuple], device: torch.device) -> tuple[int, Network | BlackBox, Task] | None:
        """The step at which second teachers take over, they, and their task; None where there are none."""
        first = self.pieces[0].experiment.later
        if first is None:
            return None
        teachers = [build_later(piece.experiment, device) for piece in self.pieces]
        each = zip(built, teachers, self.pieces, strict=True)
        tasks = [make_task(s, t, x, p.experiment.training) for (_, s, x), t, p in each if t is not None]
        return first.step, _joined([t for t in teachers if t is not None]), Task.join(tasks)

    def record(self, step: int, students: Network, diverged_at: Tensor) -> None:
        mine, experiment = students[self.place], self.pieces[0].experiment
        for recorder in (self.recorder, self.later_recorder):
            if recorder is not None:
                recorder.record(step, mine, diverged_at[self.place])
        if experiment.record.weights == "all" or (experiment.record.weights == "last" and step == experiment.steps):
            self.kept[step] = mine.to("cpu")

    def parts(self, ended: TrainingEnd, seconds: float, training: float, threads: int) -> Iterator[TrainedPiece]:
        """The group taken apart again; times are shared out by the work of each piece."""
        report, begin = self.recorder.report(), 0
        if self.later_recorder is not None:
            again = {f"{name}{SECOND}": value for name, value in self.later_recorder.report().values.items()}
            report = Report(report.steps, report.values | again)
        taught = {"teacher": self.teacher} | ({f"teacher{SECOND}": self.later[1]} if self.later else {})
        teachers = {name: known.to("cpu") for name, known in taught.items() if isinstance(known, Network)}
        for piece in self.pieces:
            end = begin + len(piece.experiment.seeds)
            part = Report(report.steps, {name: value[:, begin:end] for name, value in report.values.items()})
            kept = {name: teacher[begin:end] for name, teacher in teachers.items()}
            kept |= {f"students-{step}": network[begin:end] for step, network in self.kept.items()}
            lost, stopped = (a[self.place][begin:end] for a in (ended.diverged_at, ended.stopped_at))
            share = work(piece.experiment)
            times = seconds * share, training * share
            how = ended.engine, *times, threads, len(ended.diverged_at), ended.why
            yield TrainedPiece(piece, part, kept, lost, stopped, *how)
            begin = end


def _train(load: Load, device: torch.device, engine: str, tell: OnProgress) -> list[TrainedPiece]:
    """Train and measure the pieces of a load, side by side in one stack."""
    start, recording = time.perf_counter(), 0.0
    groups: list[_Group] = []
    for _, alike in groupby(sorted(load, key=_measured_alike), key=_measured_alike):
        groups.append(_Group(list(alike), groups[-1].place.stop if groups else 0, device))
    students, task = concatenate([g.students for g in groups]), Task.join([g.task for g in groups])
    total = sum(work(piece.experiment) for piece in load)

    def record(step: int, students: Network, diverged_at: Tensor) -> None:
        nonlocal recording
        begin = time.perf_counter()
        for group in groups:
            group.record(step, students, diverged_at)
        recording += time.perf_counter() - begin

    steps, per_step = load[0].experiment.record.steps(load[0].experiment.steps), total / load[0].experiment.steps
    begin = time.perf_counter()
    changes = [group.later for group in groups if group.later]
    later = [(changes[0][0], Task.join([other for _, _, other in changes]))] if changes else []
    ended = follow(students, task, steps, record, engine, lambda done: tell(done * per_step), None, later)
    end = time.perf_counter()
    log.info(
        "%d experiments or pieces, %d students, on %s in %.1f s: building %.1f, training %.1f, recording %.1f",
        *(len(load), students.members, ended.engine, end - start, begin - start, end - begin - recording, recording),
    )
    times = (end - start) / total, (end - begin - recording) / total
    threads = torch.get_num_threads()
    return [part for group in groups for part in group.parts(ended, *times, threads)]


def _measured_alike(piece: Piece) -> tuple:
    """Pieces that agree in this have teachers of one architecture and can be measured together."""
    experiment = piece.experiment
    activation = getattr(experiment.teacher, "activation", ""), getattr(experiment.teacher, "slope", 0.0)
    teacher = experiment.teacher.kind, experiment.teacher.widths(), activation
    return (
        teacher,
        second_teacher(experiment),
        experiment.inputs.evaluate,
        experiment.record.measures,
        experiment.record.weights,
    )


def keep_freed_memory() -> bool:
    """Ask the C library to keep freed blocks of up to a gigabyte instead of returning each to the system.

    Measures allocate the same few megabytes over and over; without this every one of them is mapped and cleared page
    by page anew, which costs a third of the time of recording. Whether it could be asked for: glibc alone knows it.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        return all(library.mallopt(name, _LARGE) == 1 for name in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))
    return False
