"""The live page inside a notebook: a server in the background and a frame that shows it."""

import html
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tutelage.studio.scenes.scene import find
from tutelage.studio.security import Guard
from tutelage.studio.server import free_socket, make_server

ANCESTORS = "http://localhost:* http://127.0.0.1:* vscode-webview:"
"""Pages that may show the live page in a frame: notebooks of this machine."""


class NotebookFrame:
    """The live page in a frame of a notebook, with a server of its own until it is closed; :func:`show` makes one."""

    def __init__(self, fragment: str, height: int, results: Path | None) -> None:
        listening = free_socket("127.0.0.1", 0)
        port = listening.getsockname()[1]
        guard = Guard.of("127.0.0.1", port)
        self.address, self.height = f"http://127.0.0.1:{port}/?token={guard.token}#{fragment}", height
        self._server = make_server(guard, results, ANCESTORS)
        arguments = {"sockets": [listening]}
        self._thread = threading.Thread(target=self._server.run, kwargs=arguments, name="studio-notebook", daemon=True)
        self._thread.start()

    def _repr_html_(self) -> str:
        source = html.escape(self.address)
        return f'<iframe src="{source}" title="tutelage studio" width="100%" height="{self.height}"></iframe>'

    def close(self) -> None:
        """Stop the server; the frame then shows its last picture."""
        self._server.should_exit = True
        self._thread.join(20)


def show(
    scene: str = "specialisation",
    settings: dict[str, Any] | None = None,
    *,
    tick: int = 0,
    height: int = 720,
    results: str | Path | None = None,
) -> NotebookFrame:
    """Show the live page in a notebook on this machine.

    Parameters
    ----------
    scene
        Name of the scene.
    settings
        Settings that differ from the defaults.
    tick
        Place on the timeline.
    height
        Height of the frame in pixels.
    results
        Folder of results to browse.

    Returns
    -------
    NotebookFrame
        What a notebook shows as the page; its ``close()`` stops the server.

    Examples
    --------
    >>> frame = show("folds", {"units": 4})
    >>> frame._repr_html_()[:30]
    '<iframe src="http://127.0.0.1:'
    >>> frame.close()
    """
    find(scene).settings(**(settings or {}))  # what is wrong is said here, not on the page
    state = {"scene": scene, "settings": json.dumps(settings or {}), "tick": int(tick)}
    return NotebookFrame(urlencode(state), height, None if results is None else Path(results))
