"""`tutelage studio`: the live page, in the browser."""

import os
import signal
import socket
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tutelage.errors import TutelageError, how_to_install


def studio(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; the next free one is taken if it is in use.")
    ] = 8717,
    host: Annotated[
        str, typer.Option(help="Address to listen at; other machines reach the page only if this is not 127.0.0.1.")
    ] = "127.0.0.1",
    results: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of results to browse.")] = None,
    link: Annotated[str, typer.Option(metavar="STATE", help="State to open: the part of a link after '#'.")] = "",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    offline: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write the page with an engine of its own as one file, and end."),
    ] = None,
) -> None:
    """Set up a teacher and students on a live page and watch them learn."""
    if offline is not None:
        _write(offline)
        return
    missing = [name for name in ("starlette", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        raise TutelageError(f"the live page needs {', '.join(missing)}: {how_to_install('studio')}")
    # Threads of torch that wait busily for one another take the cores that the students and the browser need.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from tutelage.studio.security import for_all_addresses
    from tutelage.studio.server import serve

    console = Console(highlight=False, soft_wrap=True)

    def ready(address: str, wanted: int) -> None:
        taken = int(address.split("/?")[0].rsplit(":", 1)[1])
        if wanted not in (0, taken):
            console.print(f"Port {wanted} is in use, so this server listens at port {taken}.", markup=False)
        console.print(f"Open {address}", markup=False)
        if for_all_addresses(host):
            there = address.replace("127.0.0.1", socket.gethostname(), 1)
            console.print(f"From other machines: {there} (or the address of this machine)", markup=False)
        console.print("Press Ctrl-C to stop.", markup=False)

    for number in (signal.SIGINT, signal.SIGTERM):  # the usual ways to stop a server, which is no interrupted command
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        serve(host, port, results, browser=browser, fragment=link, on_ready=ready)


def _write(path: Path) -> None:
    """Write the playground; it needs neither a server nor its packages."""
    from tutelage.studio.offline import write_playground

    size = write_playground(path)
    Console(highlight=False, soft_wrap=True).print(
        f"Wrote {path} ({size / 1000:.0f} kB): open it in a browser, on any machine, without a network.", markup=False
    )
