"""Whether a request means this server: its Host and Origin against the names that the server goes by.

The defence against DNS rebinding: a page of a foreign site may reach a local port under a foreign name, but it cannot
forge these two. Names are compared whole, so nothing that merely begins like an allowed one passes.
"""

from __future__ import annotations

import re
from collections.abc import Collection

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/?#@\[\]\\,]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?:http|https)://(?P<authority>[^/?#]+)")
_LAST_PORT = 65_535


def host_allowed(host: str | None, allowed: Collection[str]) -> bool:
    """`allowed` holds names (any port) or name:port (that one only)."""
    match = _AUTHORITY.fullmatch(host or "")
    if match is None or int(match["port"] or 1) not in range(1, _LAST_PORT + 1):
        return False
    known = {name.lower() for name in allowed}
    return match["host"].lower() in known or match[0].lower() in known


def origin_allowed(origin: str | None, allowed: Collection[str]) -> bool:
    """Absent is fine: only browsers send one, and they always do across sites."""
    if origin is None:
        return True
    match = _ORIGIN.fullmatch(origin)
    return match is not None and host_allowed(match["authority"], allowed)
