"""The server of the live page: static files, the scenes, a WebSocket, saving and uploads."""

import asyncio
import json
import logging
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from tutelage import __version__
from tutelage.errors import TutelageError
from tutelage.studio.security import Guard, for_all_addresses, headers

if TYPE_CHECKING:
    from tutelage.studio.uploads import Uploads

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
PORT = 8717
"""Default port."""
_TRIES = 50  # ports that are tried
_REQUEST = 1 << 20  # bytes of a request that is no upload
_CONNECTIONS = 64  # at once
_HEAVY = 4  # files and questions that are worked on at once: each may take a core and hundreds of megabytes
_ARRIVAL = 60  # seconds that the content of a request may take to arrive
_STORY = 2.0  # seconds that the first frame has before the first story is prepared
_LOADING = threading.Lock()


class _Headers:
    """Adds the headers of :mod:`.security` to every answer, and answers where the application failed."""

    def __init__(self, app: ASGIApp, ancestors: str) -> None:
        self.app = app
        self.extra = [(name.lower().encode(), value.encode()) for name, value in headers(ancestors).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def with_headers(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = message | {"headers": [*message["headers"], *self.extra]}
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            from tutelage.settings import one_line  # pydantic is not needed for the first picture

            log.exception("internal error")
            said = one_line(f"internal error: {type(error).__name__}: {error}")
            await JSONResponse({"error": said}, 500)(scope, receive, with_headers)


class _Site:
    """What the server answers, and to whom."""

    def __init__(self, guard: Guard, results: Path | None) -> None:
        self.guard, self.results = guard, results
        self.connections = threading.Semaphore(_CONNECTIONS)
        self.heavy = threading.Semaphore(_HEAVY)
        self.static = StaticFiles(directory=STATIC)

    @cached_property
    def uploads(self) -> "Uploads":
        from tutelage.studio.uploads import Uploads

        return Uploads()

    def guarded(self, work: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """The same for requests with the token; errors are sentences."""

        async def answer(request: Request) -> Response:
            if why := self.guard.fault(request.headers, request.query_params, token=True):
                return JSONResponse({"error": why}, 403)
            try:
                return await work(request)
            except TutelageError as error:
                return JSONResponse({"error": str(error)}, 400)

        return answer

    def limited(self, work: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """The same for work that takes much, of which only so many are done at once."""

        async def answer(request: Request) -> Response:
            if not self.heavy.acquire(blocking=False):
                return JSONResponse({"error": f"this server works on {_HEAVY} requests already: try again"}, 503)
            try:
                return await work(request)
            finally:
                self.heavy.release()

        return self.guarded(answer)

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def scenes(self, request: Request) -> Response:
        describe = await _loaded("describe")
        scenes = await run_in_threadpool(describe.described, self.results)
        return JSONResponse({"version": __version__, "scenes": scenes})

    async def save(self, request: Request) -> Response:
        saving = await _loaded("saving")
        content, name, kind = await run_in_threadpool(saving.saved, await _body(request))
        return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})

    async def upload(self, request: Request) -> Response:
        await _loaded("uploads")
        name, content = str(request.query_params.get("name", "")), await _bytes(request, self.uploads.largest)
        return JSONResponse(await run_in_threadpool(self.uploads.take, name, content))

    async def ask(self, request: Request) -> Response:
        answers = await _loaded("answers")
        answer = await run_in_threadpool(answers.answered, await _body(request), self.uploads, self.results)
        binary = isinstance(answer, bytes)
        return Response(answer, media_type="application/octet-stream") if binary else JSONResponse(answer)

    async def live(self, websocket: WebSocket) -> None:
        if self.guard.fault(websocket.headers, websocket.query_params, token=True, origin=True):
            await websocket.close(1008)
        elif not self.connections.acquire(blocking=False):
            await websocket.accept()
            await websocket.close(1013)
        else:
            try:
                await websocket.accept()
                await (await _loaded("session")).converse(websocket)
            finally:
                self.connections.release()

    async def files(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        why = self.guard.fault(request.headers, request.query_params, token=False)
        await (JSONResponse({"error": why}, 403) if why else self.static)(scope, receive, send)


def make_app(guard: Guard, results: Path | None = None, ancestors: str = "'none'") -> Starlette:
    """The application.

    Parameters
    ----------
    guard
        Hosts and token.
    results
        Folder whose results can be browsed.
    ancestors
        Pages that may show it in a frame, as in a Content-Security-Policy.

    Returns
    -------
    Starlette
    """
    site = _Site(guard, results)
    routes = [
        Route("/", site.guarded(site.page)),
        Route("/scenes", site.guarded(site.scenes)),
        Route("/save", site.limited(site.save), methods=["POST"]),
        Route("/upload", site.limited(site.upload), methods=["POST"]),
        Route("/ask", site.limited(site.ask), methods=["POST"]),
        WebSocketRoute("/live", site.live),
        Mount("/static", site.files),
    ]
    app = Starlette(routes=routes)
    app.add_middleware(_Headers, ancestors=ancestors)
    return app


async def _loaded(name: str) -> Any:
    """A module of this package; the first one waits for torch, while the server goes on."""
    return await run_in_threadpool(load, name)


def load(name: str) -> Any:
    """A module of this package, imported by one thread at a time."""
    with _LOADING:
        return import_module(f"tutelage.studio.{name}")


async def _bytes(request: Request, most: int) -> bytes:
    """The content of a request, an error as soon as it is too long."""
    content = bytearray()
    try:
        async with asyncio.timeout(_ARRIVAL):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    raise TutelageError(
                        f"the file is larger than {most >> 20} MiB, the most that is taken: use the command line"
                    )
    except TimeoutError:
        raise TutelageError(f"the request did not arrive within {_ARRIVAL} s: send it again") from None
    return bytes(content)


async def _body(request: Request) -> dict[str, Any]:
    try:
        asked = json.loads(await _bytes(request, _REQUEST))
    except (ValueError, RecursionError):
        raise TutelageError("a request must be JSON") from None
    if not isinstance(asked, dict):
        raise TutelageError("a request must be a table")
    return asked


def free_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at the port, or at the first free one after it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + _TRIES, 65536)):
        listener = socket.socket(family)
        try:
            listener.bind((host, candidate))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            if candidate == port and error.errno not in (98, 48, 10048, 13, 10013):
                raise TutelageError(f"the server cannot listen at {host}: {error.strerror}") from None
            if port == 0:
                break
    raise TutelageError(f"no port from {port} to {port + _TRIES - 1} is free at {host}: choose another with --port")


def serve(
    host: str = "127.0.0.1",
    port: int = PORT,
    results: str | Path | None = None,
    *,
    browser: bool = True,
    fragment: str = "",
    on_ready: Callable[[str, int], None] | None = None,
) -> None:
    """Serve the live page until it is interrupted.

    Parameters
    ----------
    host
        Address to listen at; the default is reached from this machine alone.
    port
        Port, or the first free one after it; 0: any.
    results
        Folder of results to browse.
    browser
        Whether to open the page in a browser.
    fragment
        State to open the page with: the part of a link after ``#``.
    on_ready
        Called with the address of the page on this machine and the port that was asked for, when the server listens.

    Examples
    --------
    >>> serve(results="results")  # doctest: +SKIP
    """
    folder = None if results is None else Path(results)
    if folder is not None and not folder.is_dir():
        raise TutelageError(f"there is no folder {folder}: give --results the folder of 'tutelage run'")
    listening = free_socket(host, port)
    guard = Guard.of(host, listening.getsockname()[1])
    shown = "127.0.0.1" if for_all_addresses(host) else f"[{host}]" if ":" in host else host
    fragment = f"#{fragment.removeprefix('#')}" if fragment else ""
    address = f"http://{shown}:{listening.getsockname()[1]}/?token={guard.token}{fragment}"
    logging.getLogger("tutelage.training").setLevel(logging.ERROR)  # the page says which students diverge
    threading.Thread(target=warm_up, name="studio-warm-up", daemon=True).start()
    if on_ready:
        on_ready(address, port)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    make_server(guard, folder).run(sockets=[listening])


def make_server(guard: Guard, results: Path | None = None, ancestors: str = "'none'") -> uvicorn.Server:
    """The application in its server, to be run with the socket of :func:`free_socket`.

    Parameters
    ----------
    guard
        Hosts and token.
    results
        Folder whose results can be browsed.
    ancestors
        Pages that may show it in a frame, as in a Content-Security-Policy.

    Returns
    -------
    uvicorn.Server
    """
    config = uvicorn.Config(
        make_app(guard, results, ancestors), log_level="warning", access_log=False, ws="websockets-sansio",
        ws_max_size=_REQUEST, ws_per_message_deflate=False, timeout_graceful_shutdown=1, lifespan="off",
    )  # fmt: skip
    return uvicorn.Server(config)


def warm_up() -> None:
    """Load what the first frame, the first step and the first story need while the browser starts."""
    try:
        course = load("course").Course("specialisation", {"members": 1, "train": 20, "steps": 20})
        course.frame()
        course.forward()
        time.sleep(_STORY)
        course.moment().answer({"about": "unit", "member": 0, "unit": 0})
    except Exception:  # the page will meet the same error and show it
        log.exception("warming up failed")
