"""The project that a client over HTTP works in: as its address names it, else from its roots, else not known.

A server that many reach stands in some folder of its own, which says nothing of theirs. A client names its project in
the address (`/mcp?namespace=…`) or tells its roots; a root is a folder of this machine, and its repository is the
project. Of several projects none is chosen.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from reasoningbank.config import repository_namespace
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput

Context = ServerRequestContext[Any, Any]
NOT_KNOWN = (
    "This server does not know which project you work in. Give `namespace` with the call (the repository's remote, "
    "such as github.com/acme/app), or name it in the server's address: /mcp?namespace=NAME."
)
ANSWER_WITHIN_S = 5.0
HOLDS_S = 60.0
MOST_KNOWN = 10_000


class Projects:
    """Projects of the sessions that are open, each asked for once a minute."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str | None]] = {}

    async def project_of(self, ctx: Context) -> str | None:
        """The project of a request; None when nobody says. Raises InvalidInput for a name that no project can have."""
        assert ctx.request is not None
        names = parse_qs(ctx.request.scope.get("query_string", b"").decode("latin-1")).get("namespace")
        if names:
            return clean_namespace(names[-1])
        session = ctx.request.headers.get("mcp-session-id")
        if session is None:
            return None
        at, project = self._known.get(session, (float("-inf"), None))
        if time.monotonic() - at > HOLDS_S:
            project = await _project_in_roots(ctx)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[session] = (time.monotonic(), project)
        return project


async def _project_in_roots(ctx: Context) -> str | None:
    if not ctx.session.check_client_capability(types.ClientCapabilities(roots=types.RootsCapability())):
        return None
    try:
        answer = await ctx.session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=ANSWER_WITHIN_S,
            # On the stream of the very call: there is no other that the client listens to.
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError, TimeoutError):
        return None
    projects = {repository_namespace(folder) for folder in _folders(str(root.uri) for root in answer.roots)}
    return projects.pop() if len(projects) == 1 else None


def _folders(addresses: Iterable[str]) -> Iterable[Path]:
    for address in addresses:
        parts = urlsplit(address)
        folder = Path(unquote(parts.path))
        try:
            if parts.scheme == "file" and parts.netloc in ("", "localhost") and folder.is_dir():
                yield folder
        except (OSError, ValueError):
            continue


def refuse_to_guess(properties: Iterable[str], arguments: Iterable[str]) -> None:
    """Raises InvalidInput for a call that needs a project and names none."""
    arguments = set(arguments)
    if "namespace" in properties and not arguments & {"namespace", "session_id"}:
        raise InvalidInput(NOT_KNOWN)
