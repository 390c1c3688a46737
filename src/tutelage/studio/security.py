"""Who may speak to the server: the page it served itself, with the token of this server, and nobody else.

A page of another site can make a browser send requests to 127.0.0.1. Three things keep it out: the random token in the
address, the Origin, which a browser always sends with a WebSocket, and the Host, which still names the other site where
its name was made to point here (DNS rebinding).
"""

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field

from starlette.datastructures import Headers, QueryParams

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {}"
)


def headers(ancestors: str = "'none'") -> dict[str, str]:
    """Headers of every answer; ancestors: pages that may show the page in a frame."""
    return {
        "Content-Security-Policy": _POLICY.format(ancestors),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


@dataclass(frozen=True)
class Guard:
    """Hosts under which the server may be called, and its token.

    Parameters
    ----------
    hosts
        ``name:port`` as browsers send it.
    port
        Port under which any numeric address is accepted, or None: a server for all addresses does not know its own,
        and no other site's name is made of numbers.
    token
        Secret of this server.
    """

    hosts: frozenset[str]
    port: int | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @classmethod
    def of(cls, host: str, port: int) -> "Guard":
        """The guard of a server at an address.

        A server for all addresses answers under any numeric one, and under the name of the machine.
        """
        names = {"127.0.0.1", "localhost", "[::1]", host.lower() if ":" not in host else f"[{host}]"}
        everywhere = for_all_addresses(host)
        if everywhere:
            names.add(socket.gethostname().lower())
        return cls(frozenset(f"{name}:{port}" for name in names), port if everywhere else None)

    def known(self, host: str) -> bool:
        """Whether this is a ``name:port`` of this server."""
        return host.lower() in self.hosts or (self.port is not None and _numeric(host, self.port))

    def fault(self, headers: Headers, query: QueryParams, *, token: bool, origin: bool = False) -> str:
        """Why a request is rejected, "" where it is not.

        token: whether the token is needed; origin: whether an Origin is, as for a WebSocket.
        """
        if not self.known(headers.get("host", "")):
            return "this server is not reached under that host name"
        sent = headers.get("origin")
        if sent is None and origin:
            return "a connection must name its origin"
        if sent is not None and not (sent.startswith("http://") and self.known(sent.removeprefix("http://"))):
            return "another page may not use this server"
        given = headers.get("x-token") or query.get("token", "")
        if token and not hmac.compare_digest(given.encode(), self.token.encode()):
            return "the token is wrong: open the address that the server printed"
        return ""


def for_all_addresses(host: str) -> bool:
    """Whether a server that listens at this host is reached under every address of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def _numeric(host: str, port: int) -> bool:
    """Whether this is ``address:port`` with a numeric address."""
    name, _, given = host.rpartition(":")
    try:
        ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return given == str(port)
