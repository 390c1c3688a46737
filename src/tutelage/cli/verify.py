"""`tutelage verify`, and `--proof` of the commands that answer: proofs of "holds" and "same" in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli.options import OUTPUT
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.deadline import Deadline
    from tutelage.functions import Answer, Domain

VERIFIED, NOT_VERIFIED = 0, 1

Proof = Annotated[
    Path | None,
    typer.Option(
        "--proof",
        metavar="FILE",
        help="Write a proof of the answer for `tutelage verify`: JSON, compressed where the name ends in .gz. Both "
        "networks must be ONNX files.",
        rich_help_panel=OUTPUT,
    ),
]


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Proof: written by compare or check with --proof.")],
    a: Annotated[Path, typer.Argument(metavar="A", help="First network of the proof: an ONNX file.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Second network of the proof: an ONNX file.")],
) -> None:
    """Check a proof about two networks, with a small program that shares nothing with what found it.

    Exit code 0: what is printed is proved; 1: it is not; 2: a file cannot be read.
    """
    from tutelage.verifying import verified

    for path in (file, a, b):
        if not path.is_file():
            raise TutelageError(f"there is no file {path}")
    proved, words = verified(file, a, b)
    print(f"{'verified' if proved else 'not verified'}: {words}")
    raise typer.Exit(VERIFIED if proved else NOT_VERIFIED)


def check_proof_option(proof: Path | None, *paths: Path) -> None:
    """An error where a proof is wanted about files that its checker does not read."""
    if proof is not None:
        for path in paths:
            if path.suffix != ".onnx":
                raise TutelageError(
                    f"--proof is about two ONNX files, got {path.name}: export it, or leave --proof out"
                )


def written(
    proof: Path | None, answer: Answer, files: tuple[Path, Path], domain: Domain | None, limit: Deadline, **asked: Any
) -> tuple[list[str], dict[str, Any]]:
    """Write the proof of an answer: a line about it, and the same as JSON; nothing where none is wanted."""
    from tutelage.functions import save_proof

    if proof is None:
        return [], {}
    try:
        parts = save_proof(proof, answer, *files, domain, seconds=limit, **asked)
    except TutelageError as error:
        return [f"no proof was written: {error}"], {"proof": None, "no_proof": str(error)}
    return [f"proof: {proof} ({parts:,} parts)" if parts else f"proof: {proof}"], {"proof": str(proof)}
