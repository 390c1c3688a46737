"""`tutelage pack` and `tutelage unpack`: a reproduced study as one file, verified and run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli.options import Json, With, load_plugins

if TYPE_CHECKING:
    from tutelage.studies.packing import Rerun

DIFFERS = 1


def pack(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study that was reproduced.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.zip", help="Archive to write; default: STUDY.zip.")
    ] = None,
    scale: Annotated[str, typer.Option(help="Scale at which it was reproduced.")] = "quick",
    out: Annotated[Path, typer.Option(help="Folder that 'reproduce' wrote.")] = Path("reproduced"),
    as_json: Json = False,
) -> None:
    """Write a reproduced study as one file: settings, values, figure, claims, environment and command."""
    from tutelage.studies.packing import pack as write

    file = file or Path(f"{study}.zip")
    names = write(out / scale / study, file)
    size = file.stat().st_size
    print(json.dumps({"file": str(file), "files": names, "bytes": size}) if as_json else f"{file}: {size:,} bytes")


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Archive that 'pack' wrote.")],
    out: Annotated[Path, typer.Option(help="Folder to write to; the study gets OUT/SCALE/STUDY.")] = Path("unpacked"),
    again: Annotated[
        bool,
        typer.Option("--rerun", help="Compute the study again, in OUT/rerun, and compare; exit code 1 if it differs."),
    ] = False,
    plugins: With = None,
    as_json: Json = False,
) -> None:
    """Verify every file of a packed study and write them; nothing is written if one is not as it was packed."""
    from tutelage.studies.packing import rerun
    from tutelage.studies.packing import unpack as read

    load_plugins(plugins)
    packed = read(file, out)
    compared = rerun(packed, out / "rerun") if again else None
    if as_json:
        found = {"study": packed.study, "scale": packed.scale, "folder": str(packed.folder), "command": packed.command}
        print(json.dumps(found | {"rerun": compared and vars(compared)}))
    else:
        print(f"verified: {packed.folder}\nto compute it again: {packed.command}")
        for line in _lines(compared) if compared else ():
            print(line)
    if compared and not compared.agrees:
        raise typer.Exit(DIFFERS)


def _lines(compared: Rerun) -> list[str]:
    settings = "the same settings" if compared.settings else "other settings: the study has changed since"
    verdicts = "the same verdicts" if not compared.verdicts else f"{len(compared.verdicts)} other verdicts"
    values = f"{compared.equal:,} of {compared.values:,} values are equal"
    if compared.equal < compared.values:
        values += f", the largest difference is {compared.largest:.1g} of the largest value of its claim"
    return [f"computed again: {settings}, {verdicts}; {values}", *compared.verdicts]
