"""Asking a running server to answer a hook, over a socket in the folder beside the bank.

Knows sockets and lines of JSON, and loads nothing else. A socket that nobody listens on any more is removed; a server
that does not answer in time is left alone.
"""

from __future__ import annotations


def asked_of_a_server(location: str, agent: str, named: str | None, raw: bytes, *, within_s: float) -> str | None:
    """What to print, or None when nobody can say."""
    del location, agent, named, raw, within_s
    return None
