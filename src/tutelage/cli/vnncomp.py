"""`tutelage compare --vnncomp`: answers in the words of the verification competition.

`sat` with a counterexample, `unsat`, `unknown` or `timeout`. A counterexample is printed only if the networks in
float32 give one; what is one in exact numbers alone is `unknown`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from tutelage.deadline import Deadline
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from tutelage.functions.comparing.counterexamples import AnyNetwork, Run
    from tutelage.functions.comparing.vnnlib import Property

SAT, UNSAT, NOT_DECIDED = 1, 0, 3
_SEARCH = 10.0  # seconds of a search before a proof, or a third of that where the limit is short


def answer(
    property_file: Path,
    paths: tuple[Path, Path],
    networks: tuple[AnyNetwork, AnyNetwork],
    limit: Deadline,
    device: str,
) -> NoReturn:
    """Answer the question of a VNN-LIB file, print it and end with the exit code of compare."""
    from tutelage.functions.comparing.vnnlib import read_property

    question = read_property(property_file)
    if len(question.formula.networks) != 2:
        raise TutelageError(f"{property_file} is about one network: --vnncomp answers questions about two")
    for number, (network, declared) in enumerate(zip(networks, question.formula.networks, strict=True)):
        for what, given, wanted in (
            ("inputs", network.inputs, declared.size(True)),
            ("outputs", network.outputs, declared.size(False)),
        ):
            if given != wanted:
                raise TutelageError(
                    f"{property_file} declares {wanted} {what} of {declared.name}, and {paths[number]} has {given}"
                )
    if question.empty:
        _end("unsat", UNSAT)
    runs = _in_single(paths[0], networks[0]), _in_single(paths[1], networks[1])
    if question.apart:
        _apart(question, networks, runs, limit)
    _together(question, networks, runs, limit, device)


def _apart(
    question: Property, networks: tuple[AnyNetwork, AnyNetwork], runs: tuple[Run, Run], limit: Deadline
) -> NoReturn:
    """Two networks at inputs of their own: a search, then a proof, then the search goes on."""
    from tutelage.functions.comparing.counterexamples import inputs_apart
    from tutelage.functions.comparing.ordered import proved_apart

    for inputs in inputs_apart(question, networks, deadline=limit.within(_SEARCH).share(0.3)):
        _print_if_real(question, inputs, runs)
    if proved_apart(question, networks, limit.share(0.7)):
        _end("unsat", UNSAT)
    for inputs in inputs_apart(question, networks, seed=1, deadline=limit):
        _print_if_real(question, inputs, runs)
    _end("timeout" if limit.passed else "unknown", NOT_DECIDED)


def _together(
    question: Property,
    networks: tuple[AnyNetwork, AnyNetwork],
    runs: tuple[Run, Run],
    limit: Deadline,
    device: str,
) -> NoReturn:
    """Two networks at the same input: bounds and a search for a witness."""
    import math

    import torch

    from tutelage.functions import box, difference_bound

    limits = [(question.epsilon or {}).get(k, math.inf) for k in range(networks[0].outputs)]
    epsilon = torch.tensor(limits, dtype=torch.float64)
    domain = box(question.low, question.high, flat=True)
    found = difference_bound(*networks, domain, epsilon, seconds=limit, device=device)
    if found.verdict == "holds":
        _end("unsat", UNSAT)
    if found.verdict == "violated" and found.witness is not None:
        _print_if_real(question, torch.stack([found.witness] * 2), runs)
    _end("timeout" if limit.passed else "unknown", NOT_DECIDED)


def _print_if_real(question: Property, inputs: Tensor, runs: tuple[Run, Run]) -> None:
    """Print a counterexample and end where float32 gives one as well."""
    from tutelage.functions.comparing.counterexamples import replayed, written

    numbers = replayed(question.formula, inputs, runs)
    if numbers is not None:
        _end(f"sat\n{written(question.formula, numbers)}", SAT)


def _end(words: str, code: int) -> NoReturn:
    print(words)
    raise typer.Exit(code)


def _in_single(path: Path, network: AnyNetwork) -> Run:
    """The network in float32: the file itself where it is an ONNX file, by the evaluator of the onnx package."""
    import torch

    if path.suffix == ".onnx":
        import onnx
        from onnx.reference import ReferenceEvaluator

        model = onnx.load(path)
        constants = {t.name for t in model.graph.initializer}
        (given,) = [i for i in model.graph.input if i.name not in constants]
        shape = [d.dim_value or 1 for d in given.type.tensor_type.shape.dim]
        session = ReferenceEvaluator(model)
        return lambda x: session.run(None, {given.name: x.reshape(shape)})[0]

    from tutelage.networks import Network, outputs

    def run(x: np.ndarray) -> np.ndarray:
        point = torch.from_numpy(x)[None]
        if isinstance(network, Network):
            return outputs(network.to(dtype=torch.float32), point)[0, 0].numpy()
        return network.at(point.double())[0].numpy()

    return run
