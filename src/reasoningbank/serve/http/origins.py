"""Which Host and Origin headers are ours.

A page of another site can make a browser send requests here, also by pointing a name of its own at 127.0.0.1. Such a
request carries that name as Host, or the site as Origin. So both are compared, whole and exactly, with a short list;
nothing is matched by its beginning or its end.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.serve.http.problems import Problem

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Doorplate:
    """The names under which this server answers."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]


def doorplate(host: str, port: int, public_url: str | None = None, *, tls: bool = False) -> Doorplate:
    """For a server bound to `host` and `port`, and reached by clients under `public_url` if there is one."""
    scheme = "https" if tls else "http"
    names = [*LOOPBACK, *([bracket(host)] if is_address(host) and not is_any(host) else [])]
    hosts = {f"{name}:{port}" for name in names}
    if port == _DEFAULT_PORTS[scheme]:
        hosts.update(names)
    origins = {f"{scheme}://{one}" for one in hosts}
    if public_url is not None:
        parts = public_parts(public_url)
        hosts.add(parts.netloc.lower())
        origins.add(f"{parts.scheme}://{parts.netloc.lower()}")
    return Doorplate(
        hosts=frozenset(one.lower().encode() for one in hosts),
        origins=frozenset(one.lower().encode() for one in origins),
    )


def public_parts(public_url: str) -> SplitResult:
    parts = urlsplit(public_url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None or parts.query:
        raise InvalidInput(f"{public_url!r} is no address of a server: say for example https://bank.example.org.")
    return parts


def is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def is_any(host: str) -> bool:
    return ip_address(host.strip("[]")).is_unspecified


def is_loopback(host: str) -> bool:
    return host == "localhost" or (is_address(host) and ip_address(host.strip("[]")).is_loopback)


def bracket(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def check(plate: Doorplate, hosts: list[bytes], origins: list[bytes], fetch: tuple[bytes | None, bytes | None]) -> None:
    """`fetch` is what a browser says of itself: Sec-Fetch-Site and Sec-Fetch-Mode."""
    if len(hosts) != 1:
        raise Problem(400, "invalid_input", "A request needs exactly one Host.")
    if hosts[0].lower() not in plate.hosts:
        raise Problem(421, "misdirected", "This server does not answer to that Host.")
    if origins and (len(origins) > 1 or origins[0].lower() not in plate.origins):
        raise Problem(403, "origin_refused", "Requests from other sites are refused.")
    site, mode = fetch
    if site in (b"cross-site", b"same-site") and mode != b"navigate":
        raise Problem(403, "origin_refused", "Requests from other sites are refused.")
