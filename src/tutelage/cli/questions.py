"""The questions of `tutelage compare` about a bounded domain: epsilon, top class, and how far apart around a point."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console

from tutelage.cli.points import read_points
from tutelage.cli.progress import closing_shown
from tutelage.cli.verify import written
from tutelage.deadline import NEVER, Deadline
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.functions import Answer, Domain
    from tutelage.networks import Network, SparseNetwork

    AnyNetwork = Network | SparseNetwork

HOLDS, VIOLATED, NOT_DECIDED = 0, 1, 3
_SHOWN = 8  # numbers of a witness that are printed


@dataclass(frozen=True)
class Asked:
    """What the options of the command ask; epsilon: one number, or one per output, separated by commas."""

    epsilon: str | None = None
    output: int | None = None
    top_1: bool = False
    margin: float | None = None
    around: Path | None = None
    radius: str | None = None
    bound: bool = False
    limit: Deadline = NEVER
    device: str = "cpu"
    proof: Path | None = None
    files: tuple[Path, Path] | None = None

    @property
    def anything(self) -> bool:
        return self.epsilon is not None or self.top_1 or self.margin is not None or self.bound

    def check(self) -> None:
        if self.top_1 and self.epsilon is not None:
            raise TutelageError("--epsilon and --top-1 are two questions: ask one of them")
        if self.margin is not None and not self.top_1:
            raise TutelageError("--margin belongs to the question --top-1: give both")
        if self.output is not None and self.top_1:
            raise TutelageError("--output chooses one output, and --top-1 is about all of them: give one of both")
        if (self.around is None) != (self.radius is None):
            raise TutelageError("--around and --radius belong together: give both")
        if self.proof is not None and self.radius is not None and "," in self.radius:
            raise TutelageError("--proof is about one box, and --radius gives several: ask about one of them")
        if self.bound and (self.top_1 or self.epsilon is not None):
            other = "--top-1" if self.top_1 else "--epsilon"
            raise TutelageError(f"--bound and {other} are two questions: ask one of them")

    def check_unasked(self) -> None:
        """Refuse options that have an effect on questions alone, where none is asked."""
        options = {"--output": self.output, "--around": self.around, "--radius": self.radius}
        given = [option for option, value in options.items() if value is not None]
        given += ["--device cuda"] if self.device == "cuda" else []
        if given:
            raise TutelageError(
                f"{_listed(given)} without effect where no question is asked: add --epsilon, --top-1 or --bound, or "
                f"leave {'it' if len(given) == 1 else 'them'} out"
            )

    def refuse(self, options: list[str]) -> None:
        """Refuse options that have no effect on a question."""
        if options:
            question = "--top-1" if self.top_1 else "--bound" if self.bound else "an epsilon"
            raise TutelageError(
                f"{_listed(options)} without effect on the question {question}: leave "
                f"{'it' if len(options) == 1 else 'them'} out, or ask no question"
            )


def _listed(options: list[str]) -> str:
    """The options as the beginning of a sentence: "a is", or "a, b and c are"."""
    *others, last = options
    return f"{', '.join(others)} and {last} are" if others else f"{last} is"


def numbers(text: str, option: str) -> list[float]:
    """Numbers separated by commas.

    >>> numbers("0.1,2", "--radius")
    [0.1, 2.0]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise TutelageError(f"{option} must be numbers separated by commas, got {text!r}") from None


def domains(asked: Asked, inputs: int, domain: Domain | None) -> list[tuple[str, Domain]]:
    """The domains to ask about, with a label each: one, or one per radius."""
    from tutelage.functions import box

    if asked.around is None or asked.radius is None:
        if domain is None:
            raise TutelageError("this question needs a bounded domain: give --box, --on or --around")
        return [("", domain)]
    if domain is not None:
        raise TutelageError("--around gives a domain as --box and --on do: choose one of them")
    centre = read_points(asked.around).double().flatten()
    if len(centre) != inputs:
        raise TutelageError(f"--around must have {inputs} numbers, one per input, got {len(centre)} in {asked.around}")
    radii = numbers(asked.radius, "--radius")
    if not all(0 <= r < math.inf for r in radii):
        raise TutelageError(f"--radius must be finite and at least 0, got {asked.radius}")
    return [(f"radius {r:g}: ", box(centre - r, centre + r, flat=True)) for r in radii]


def from_property(
    path: Path, domain: Domain | None, epsilon: str | None, network: AnyNetwork
) -> tuple[Domain, str | None]:
    """The domain of a VNN-LIB file, and its epsilon as the option would give it."""
    from tutelage.functions import box
    from tutelage.functions.comparing.vnnlib import read_property

    if domain is not None:
        raise TutelageError("--on and --box each give a domain: choose one of them")
    prop = read_property(path)
    if prop.empty:
        raise TutelageError(
            f"the property of {path} is empty: its inequalities contradict one another, so that no networks violate "
            "it; join the two sides of a difference by or"
        )
    if prop.apart:
        raise TutelageError(
            f"{path} is about two networks at inputs of their own: only --vnncomp answers it, by a search"
        )
    if len(prop.low) != network.inputs:
        raise TutelageError(
            f"{path} must declare {network.inputs} inputs, as many as the networks have, got {len(prop.low)}"
        )
    where = box(prop.low, prop.high, flat=True)
    if prop.epsilon is None:
        return where, epsilon
    if epsilon is not None:
        raise TutelageError(f"{path} gives an epsilon as --epsilon does: leave one of them out")
    if max(prop.epsilon) >= network.outputs:
        raise TutelageError(
            f"{path} must limit outputs from 0 to {network.outputs - 1}, those of the networks, got {max(prop.epsilon)}"
        )
    return where, ",".join(repr(prop.epsilon.get(k, math.inf)) for k in range(network.outputs))


def ask(first: AnyNetwork, second: AnyNetwork, asked: Asked, domain: Domain | None, as_json: bool) -> NoReturn:
    """Answer on every domain, print it and end with the exit code of the worst answer."""
    asked.check()
    answers, console = [], Console()
    asked_of = domains(asked, first.inputs, domain)
    for number, (label, where) in enumerate(asked_of):
        with closing_shown(as_json) as tell:
            limit = asked.limit.share(1 / (len(asked_of) - number))  # what one domain leaves over, the next ones get
            closeness = _answered(first, second, asked, where, limit, tell)
        answers.append(closeness)
        lines, data = _proved(closeness, asked, where, limit)
        if as_json:
            print(json.dumps({"label": label.strip(" :"), **_data(closeness, asked.output), **data}))
        else:
            for line in _words(label, closeness, asked) + lines:
                console.print(line, soft_wrap=True, highlight=False, markup=False)
    verdicts = {a.verdict for a in answers}
    code = VIOLATED if "violated" in verdicts else NOT_DECIDED if "not decided" in verdicts else HOLDS
    raise typer.Exit(code)


def _answered(
    first: AnyNetwork, second: AnyNetwork, asked: Asked, domain: Domain, limit: Deadline, tell: Any
) -> Answer:
    import torch

    from tutelage.functions import difference_bound, top_class_agreement

    common: dict[str, Any] = {"seconds": limit, "on_progress": tell, "device": asked.device, "keep": bool(asked.proof)}
    if asked.top_1:
        return top_class_agreement(first, second, domain, asked.margin or 0.0, **common)
    if asked.epsilon is None:
        return difference_bound(first, second, domain, None, output=asked.output, **common)
    given = _epsilon(asked)
    epsilon = given[0] if len(given) == 1 else torch.tensor(given, dtype=torch.float64)
    return difference_bound(first, second, domain, epsilon, output=asked.output, **common)


def _epsilon(asked: Asked) -> list[float]:
    """The numbers of --epsilon; none without it."""
    return [] if asked.epsilon is None else numbers(asked.epsilon, "--epsilon")


def _proved(closeness: Answer, asked: Asked, domain: Domain, limit: Deadline) -> tuple[list[str], dict[str, Any]]:
    """Write the proof of an answer where one is wanted: lines about it, and the same as JSON."""
    if asked.files is None:
        return [], {}
    count, given = len(closeness.at_most), _epsilon(asked)
    limits = given * count if len(given) == 1 else given or closeness.at_most.tolist()
    epsilon = [limits[k] if asked.output in (None, k) else math.inf for k in range(count)]
    claim: dict[str, Any] = {"margin": asked.margin or 0.0} if asked.top_1 else {"epsilon": epsilon}
    return written(asked.proof, closeness, asked.files, domain, limit, **claim)


def _words(label: str, closeness: Answer, asked: Asked) -> list[str]:
    from tutelage.functions.checks import rounded_up

    lines = [f"{label}{_said(closeness, asked)}", f"why: {closeness.reason}"]
    if closeness.witness is not None:
        lines.append(f"witness: {_first(closeness.witness.tolist())}")
        lines += _at_witness(closeness, asked)
    if not asked.top_1 or closeness.at_most.isfinite().all():
        rows = zip(closeness.at_most.tolist(), closeness.largest.tolist(), strict=True)
        for k, (most, least) in enumerate(rows):
            if asked.output in (None, k):
                within = f"within {rounded_up(most, 4)}" if math.isfinite(most) else "no bound proved"
                lines.append(f"output {k}: {within}" + (f"; differs by at least {least:.4g}" if least else ""))
    return lines


def _said(closeness: Answer, asked: Asked) -> str:
    """Verdict, question and domain as one sentence."""
    from tutelage.functions.checks import rounded_up

    if not asked.bound:
        return f"{closeness.verdict}: {closeness.question} on {closeness.domain}"
    most, least = _of_asked(closeness.at_most, asked.output), _of_asked(closeness.largest, asked.output)
    between = f"between {least:.4g} and {rounded_up(most, 4)}" if math.isfinite(most) else f"at least {least:.4g}"
    return f"{closeness.verdict}: {closeness.question} lies {between} on {closeness.domain}".replace("lies at", "is at")


def _at_witness(closeness: Answer, asked: Asked) -> list[str]:
    """What both networks give at the witness: their outputs, or the classes that they choose."""
    if closeness.outputs is None or closeness.verdict != "violated":
        return []
    lines = [f"outputs of {n}: {_first(v.tolist())}" for n, v in zip("AB", closeness.outputs, strict=True)]
    if not asked.top_1:
        return lines
    first, second = (int(v.argmax()) for v in closeness.outputs)
    return [f"classes: A chooses {first}, B chooses {second}", *lines]


def _first(values: list[float]) -> str:
    return ", ".join(f"{v:.6g}" for v in values[:_SHOWN]) + (" ..." if len(values) > _SHOWN else "")


def _of_asked(values: Tensor, output: int | None) -> float:
    """The largest of all outputs, or that of the one that is asked about."""
    return float(values.max() if output is None else values[output])


def outputs_at_witness(answer: Answer) -> dict[str, list[float]] | None:
    return None if answer.outputs is None else {name: v.tolist() for name, v in zip("ab", answer.outputs, strict=True)}


def _data(closeness: Answer, output: int | None = None) -> dict[str, Any]:
    witness, most = closeness.witness, _of_asked(closeness.at_most, output)
    bounds = [m if math.isfinite(m) else None for m in closeness.at_most.tolist()]
    return {
        "verdict": closeness.verdict,
        "question": closeness.question,
        "domain": closeness.domain,
        "at_most": most if math.isfinite(most) else None,
        "at_most_per_output": bounds,
        "max_difference": _of_asked(closeness.largest, output),
        "max_difference_per_output": closeness.largest.tolist(),
        "witness": None if witness is None else witness.tolist(),
        "outputs_at_witness": outputs_at_witness(closeness),
        "boxes": closeness.parts,
        "seconds": round(closeness.seconds, 3),
        "reason": closeness.reason,
        "not_tried": list(closeness.untried),
    }
