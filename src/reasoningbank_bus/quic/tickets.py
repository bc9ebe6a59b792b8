"""Resumption secrets (session tickets): those a server gave, bound to a client's key, used once; those a client keeps.

A server keeps them in memory: what it restarted from knows none, and a ticket that was used is gone, so early data
that somebody recorded is never taken a second time. A client keeps the last one of each server where it keeps its
other state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec
from qh3.tls import CipherSuite, SessionTicket

_MAX_TICKETS = 4096


class GivenTickets:
    """Tickets of a server. One counts from when the client has proved its key until it is used."""

    def __init__(self) -> None:
        self._tickets: OrderedDict[bytes, tuple[SessionTicket, bytes, bytes]] = OrderedDict()

    def give(self, ticket: SessionTicket, client: bytes, hello: bytes) -> None:
        self._tickets[ticket.ticket] = (ticket, client, hello)
        if len(self._tickets) > _MAX_TICKETS:
            self._tickets.popitem(last=False)

    def take(self, name: bytes) -> tuple[SessionTicket, bytes, bytes] | None:
        """The ticket of this name, the key that it is bound to and the Hello that proved it; once."""
        return self._tickets.pop(name, None)


class TicketState(Protocol):
    """The part of the log in which a client keeps tickets."""

    def state(self, name: str) -> bytes | None: ...

    def keep_state(self, values: Mapping[str, bytes | None]) -> None: ...


class _KeptTicket(msgspec.Struct, array_like=True, frozen=True):
    age_add: int
    cipher_suite: int
    not_valid_after: datetime
    not_valid_before: datetime
    resumption_secret: bytes
    ticket: bytes
    max_early_data_size: int | None
    other_extensions: list[tuple[int, bytes]]


class KeptTickets:
    """The last ticket of each server that was asked. A ticket is taken to be used, and gone then."""

    def __init__(self, state: TicketState) -> None:
        self._state = state

    def keep(self, server: bytes, ticket: SessionTicket) -> None:
        record = _KeptTicket(
            ticket.age_add,
            int(ticket.cipher_suite),
            ticket.not_valid_after,
            ticket.not_valid_before,
            ticket.resumption_secret,
            ticket.ticket,
            ticket.max_early_data_size,
            [(int(kind), contents) for kind, contents in ticket.other_extensions],
        )
        self._state.keep_state({_name_of(server): msgspec.msgpack.encode(record)})

    def take(self, server: bytes) -> SessionTicket | None:
        raw = self._state.state(_name_of(server))
        if raw is None:
            return None
        self._state.keep_state({_name_of(server): None})
        try:
            record = msgspec.msgpack.decode(raw, type=_KeptTicket)
            suite = CipherSuite(record.cipher_suite)
        except (msgspec.MsgspecError, ValueError):
            return None
        return SessionTicket(
            age_add=record.age_add,
            cipher_suite=suite,
            not_valid_after=record.not_valid_after,
            not_valid_before=record.not_valid_before,
            resumption_secret=record.resumption_secret,
            server_name=None,  # type: ignore[arg-type]  # qh3 compares it with the server name, and we have none
            ticket=record.ticket,
            max_early_data_size=record.max_early_data_size,
            other_extensions=record.other_extensions,
        )


def _name_of(server: bytes) -> str:
    return f"ticket:{server.hex()}"
