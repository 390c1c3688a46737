"""Files that the page sent: read once by the safe readers, kept in memory under the digest of their content."""

import hashlib
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError
from tutelage.networks import Network, read_network
from tutelage.networks.importing import tells_activation

KINDS = (".safetensors", ".onnx")


class Uploads:
    """Networks by the digest of their file; the oldest go when there are too many.

    Parameters
    ----------
    largest
        Bytes of a file.
    most
        Files.
    memory
        Bytes of the weights of all files together; the newest file is kept whatever its size.
    """

    def __init__(self, largest: int = 32 << 20, most: int = 64, memory: int = 512 << 20) -> None:
        self.largest, self.most, self.memory = largest, most, memory
        self._kept: OrderedDict[str, tuple[str, Network]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str, content: bytes) -> dict[str, Any]:
        """Read a file; an error says what is wrong with it.

        Parameters
        ----------
        name
            Its name, which only decides the reader.
        content
            Its bytes.

        Returns
        -------
        dict
            Key, name, widths, number of members, units, and whether these are assumed, since the file does not say.
        """
        suffix = Path(name).suffix.lower()
        shown = Path(name).name[:80]
        if suffix not in KINDS:
            raise TutelageError(
                f"{shown} is not a .safetensors or .onnx file: save the network in one of these formats"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"network{suffix}"
            path.write_bytes(content)
            try:
                assumed = not tells_activation(path)
                network = read_network(path, "relu" if assumed else None)
            except TutelageError as error:
                raise TutelageError(str(error).replace(str(path), shown)) from None
        key = hashlib.sha256(content).hexdigest()[:16]
        with self._lock:
            self._kept[key] = (shown, network)
            self._kept.move_to_end(key)
            while len(self._kept) > self.most or (len(self._kept) > 1 and self._bytes() > self.memory):
                self._kept.popitem(last=False)
        about = {"widths": list(network.widths), "members": network.members, "units": network.activation}
        return {"key": key, "name": shown, **about, "assumed": assumed and network.depth > 1}

    def _bytes(self) -> int:
        return sum(a.numel() * a.element_size() for _, network in self._kept.values() for a in network.parameters)

    def network(self, key: Any) -> tuple[str, Network]:
        """Name and network of a file that was sent."""
        with self._lock:
            if not isinstance(key, str) or key not in self._kept:
                raise TutelageError("this server does not have the file (any more): drop it on the page again")
            return self._kept[key]
