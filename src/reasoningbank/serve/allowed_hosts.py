"""Which Host and Origin headers a server answers to: the defence against DNS rebinding and foreign pages.

A page of another site can make a browser send requests here, also by pointing a name of its own at 127.0.0.1. Such a
request carries that name as Host, or the site as Origin. So both are compared, whole and exactly, with a short list;
nothing is matched by its beginning or its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PORT = re.compile(rb":([0-9]{1,5})\Z")
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHosts:
    """The names under which a server answers, whole and in small letters."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes] = frozenset()
    any_port: bool = False
    """True if a name without a port stands for that name under every port, by http and https."""

    def has_host(self, host: bytes) -> bool:
        name = host.lower()
        if name in self.hosts:
            return True
        port = _PORT.search(name) if self.any_port else None
        return port is not None and 1 <= int(port[1]) <= _LAST_PORT and name[: port.start()] in self.hosts

    def has_origin(self, origin: bytes) -> bool:
        value = origin.lower()
        scheme, _, host = value.partition(b"://")
        return value in self.origins or (self.any_port and scheme in (b"http", b"https") and self.has_host(host))


def hosts_of_server(host: str, port: int, public_url: str | None = None, *, tls: bool = False) -> AllowedHosts:
    """The hosts and origins of a server bound to `host` and `port`, and reached by clients under `public_url` if
    there is one.
    """
    scheme = "https" if tls else "http"
    names = [*LOOPBACK, *([bracket(host)] if _is_address(host) and not _is_any(host) else [])]
    hosts = {f"{name}:{port}" for name in names}
    if port == _DEFAULT_PORTS[scheme]:
        hosts.update(names)
    origins = {f"{scheme}://{name}" for name in hosts}
    if public_url is not None:
        parts = public_parts(public_url)
        hosts.add(parts.netloc)
        origins.add(f"{parts.scheme}://{parts.netloc}")
    return AllowedHosts(hosts=_encode(hosts), origins=_encode(origins))


def hosts_named(names: Iterable[str]) -> AllowedHosts:
    """The hosts of a server that does not know its port: names (any port) or name:port (that one only)."""
    return AllowedHosts(hosts=_encode(names), any_port=True)


def _encode(names: Iterable[str]) -> frozenset[bytes]:
    return frozenset(name.lower().encode() for name in names)


def public_parts(public_url: str) -> SplitResult:
    parts = urlsplit(public_url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None or parts.query:
        raise InvalidInput(f"{public_url!r} is no address of a server: say for example https://bank.example.org.")
    return parts


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _is_any(host: str) -> bool:
    return ip_address(host.strip("[]")).is_unspecified


def is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host.strip("[]")).is_loopback)


def bracket(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
