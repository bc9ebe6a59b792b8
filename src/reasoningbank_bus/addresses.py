"""Addresses of the bus: `host:port`, `[::1]:8711`, or a host alone, which means the usual port."""

from __future__ import annotations

from ipaddress import ip_address

from reasoningbank.core.errors import InvalidInput

DEFAULT_PORT = 8711
_LAST_PORT = 65_535
_LONGEST = 255


def parse_address(text: str, *, listening: bool = False) -> tuple[str, int]:
    """Host and port. To listen, port 0 takes a free one and a missing host means this machine alone."""
    address = text.strip()
    host, _, port = address.rpartition(":") if _has_port(address) else (address, "", str(DEFAULT_PORT))
    host = host.removeprefix("[").removesuffix("]")
    if listening and not host:
        host = "127.0.0.1"
    lowest = 0 if listening else 1
    if not host or len(host) > _LONGEST or any(not c.isprintable() or c.isspace() for c in host):
        raise InvalidInput(f"{text!r} is no address: say HOST:PORT, such as 192.168.1.20:{DEFAULT_PORT}.")
    if not (port.isascii() and port.isdigit() and lowest <= int(port) <= _LAST_PORT):
        raise InvalidInput(f"{port!r} is no port: {text!r} should be HOST:PORT, with a port up to {_LAST_PORT}.")
    return host, int(port)


def public_address(listen: tuple[str, int] | None, public: str | None) -> str:
    """Where peers tell others that this node is: what its user says, else where it listens; "" if that is no place to
    be found at. A public name without a port means the port that is listened at.
    """
    if public is None:
        is_place = listen is not None and listen[1] and not _is_everywhere(listen[0])
        return address_text(*listen) if listen is not None and is_place else ""
    if listen is None:
        raise InvalidInput("A public address is for a node that listens: say where, as in `bus up 0.0.0.0:8711`.")
    host, port = parse_address(public)
    if _is_everywhere(host):
        raise InvalidInput(f"{public!r} is no address of one machine: others could not find it.")
    if _has_port(public.strip()):
        return address_text(host, port)
    if not listen[1]:
        raise InvalidInput(f"{public!r} says no port, and any free one is listened at: say HOST:PORT.")
    return address_text(host, listen[1])


def _is_everywhere(host: str) -> bool:
    """True if the host stands for every address of a machine, as 0.0.0.0 does."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _has_port(address: str) -> bool:
    """True if the last colon stands before a port: an IPv6 address has more of them, unless in brackets."""
    return "]:" in address if address.startswith("[") else address.count(":") == 1


def address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
