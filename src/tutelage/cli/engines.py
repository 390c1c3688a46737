"""`tutelage engines`: which engines there are, what each supports, and how fast they are here."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.options import Device, Json

if TYPE_CHECKING:
    import torch

    from tutelage.training.speed import Speed

HIDDEN = (52, 100)
MEMBERS = {"cpu": 32, "cuda": 2304}
STEPS = {"cpu": 500, "cuda": 2000}


def engines(
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure the speed of every engine; takes some seconds.")
    ] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """List the training engines, fastest first, with what they support and whether they are available."""
    from tutelage.devices import pick_device
    from tutelage.training import ENGINES

    where = pick_device(device)
    rows = [
        {"engine": e.name, "available": e.missing() is None, "missing": e.missing(), "supports": e.supports}
        for e in sorted(ENGINES.values(), key=lambda e: -e.speed)
    ]
    speeds, gemm = _measured(where) if measure else ([], {})
    if as_json:
        print(json.dumps({"engines": rows, "gemm_gflops": gemm, "speeds": [asdict(s) for s in speeds]}, indent=1))
        return
    console = Console()
    console.print(_engine_table(rows))
    if measure:
        console.print(_speed_table(speeds, gemm))


def _measured(device: torch.device) -> tuple[list[Speed], dict[str, float]]:
    """Every usable engine at every size in both precisions, beside a large matrix product, in one go."""
    import torch

    from tutelage.training import ENGINES
    from tutelage.training.speed import engine_speed, gemm_gflops

    speeds, gemm = [], {}
    for dtype in (torch.float32, torch.float64):
        gemm[str(dtype).removeprefix("torch.")] = gemm_gflops(dtype, device)
        for hidden in HIDDEN:
            for name in ENGINES:
                speed = engine_speed(name, hidden, MEMBERS[device.type], dtype, device, STEPS[device.type])
                speeds += [speed] if speed else []
    return speeds, gemm


def _engine_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Engines, fastest first", title_justify="left")
    for column in ("engine", "here", "supports"):
        table.add_column(column, no_wrap=column == "engine")
    for row in rows:
        table.add_row(row["engine"], row["missing"] or "available", row["supports"])
    return table


def _speed_table(speeds: list[Speed], gemm: dict[str, float]) -> Table:
    products = ", ".join(f"{precision} {rate:.0f}" for precision, rate in gemm.items())
    table = Table(title=f"Speed here; GFLOP/s of a large matrix product: {products}", title_justify="left")
    for column in (
        "engine",
        "precision",
        "hidden",
        "students",
        "us per step and student",
        "GFLOP/s",
        "share of the product",
    ):
        table.add_column(column, justify="left" if column in ("engine", "precision") else "right")
    for s in speeds:
        table.add_row(
            s.engine,
            s.precision,
            str(s.hidden),
            str(s.members),
            f"{s.microseconds:.3g}",
            f"{s.gflops:.0f}",
            f"{100 * s.gflops / gemm[s.precision]:.0f} %",
        )
    return table
