"""Streams what is too large for one body: an export, an import, a backup.

A piece is made in the slow lane and sent from the loop, so a slow reader holds no thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from reasoningbank.core.frozen import dataclass
from reasoningbank.exchange.importer import OWN_LAYOUT
from reasoningbank.guard.speakers import require_user
from reasoningbank.location import DEFAULT_NAME
from reasoningbank_server import idempotency
from reasoningbank_server.answer import SAFE, Receive, Send, hung_up
from reasoningbank_server.endpoint import Call, Reply
from reasoningbank_server.identity import require
from reasoningbank_server.import_rewrite import adopt_lines
from reasoningbank_server.limits import Gone, Limits, too_large
from reasoningbank_server.problems import Problem
from reasoningbank_server.request import Request
from reasoningbank_server.staging import passing_bytes, passing_copy
from reasoningbank_server.thread_pools import Lane

PIECE_BYTES = 256 << 10
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Connection of a stream: the pool that makes the pieces, for whom, and both directions."""

    lane: Lane
    request: Request
    limits: Limits
    receive: Receive
    send: Send

    @property
    def tenant(self) -> str:
        return self.request.known().tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Options of an import of lines."""

    dry_run: bool
    restore: bool
    """They are an export of this very bank: believe what they claim."""


async def send_export(call: Call, way: Way, namespace: str | None, layout: str | None = None) -> None:
    await _send_lines(call.bank.export_lines(namespace=namespace, layout=layout), way, LINES, "bank.jsonl")


async def send_graph(call: Call, way: Way, form: str, conv_id: str | None) -> None:
    def begin() -> Generator[str, None, None]:
        return call.bank.graph.export(form, conv_id=conv_id)

    # Begun in the lane: a conversation is read at once.
    lines = await way.lane.submit(begin, tenant=way.tenant)
    await _send_lines(lines, way, "text/plain", f"graph.{form}")


async def _send_lines(lines: Generator[str, None, None], way: Way, media_type: str, name: str) -> None:
    try:
        await _send_pieces(_pieces(lines), way, media_type, name)
    finally:
        # Closed in the lane: it ends the read transaction that the lines come from.
        await way.lane.submit(lines.close)


def _pieces(lines: Iterator[str]) -> Iterator[bytes]:
    waiting, size = [], 0
    for line in lines:
        data = line.encode("utf-8", "replace") + b"\n"
        waiting.append(data)
        size += len(data)
        if size >= PIECE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


async def send_backup(call: Call, way: Way) -> None:
    with passing_copy(call.bank) as copy:
        await way.lane.submit(lambda: call.bank.backup(copy), tenant=way.tenant)
        with copy.open("rb") as file:
            if os.name == "posix":
                # Sending may take minutes, and a kill meanwhile must not leave the whole bank lying about.
                copy.unlink()
            pieces = iter(lambda: file.read(PIECE_BYTES), b"")
            await _send_pieces(pieces, way, "application/vnd.sqlite3", DEFAULT_NAME)


async def _send_pieces(pieces: Iterator[bytes], way: Way, media_type: str, name: str) -> None:
    headers = [
        *SAFE,
        (b"content-type", media_type.encode()),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
    ]

    def next_piece() -> bytes | None:
        way.request.confirm()
        return next(pieces, None)

    # The first piece before the status: what fails at once can still be told as a problem.
    piece = await way.lane.submit(next_piece, tenant=way.tenant)
    await way.send({"type": "http.response.start", "status": 200, "headers": headers})
    hangup = asyncio.create_task(hung_up(way.receive))
    try:
        while piece is not None and not hangup.done():
            try:
                async with asyncio.timeout(way.limits.send_wait_s):
                    await way.send({"type": "http.response.body", "body": piece, "more_body": True})
            except TimeoutError:
                raise Problem(408, "too_slow", "What was asked for was not read in time.") from None
            piece = await way.lane.submit(next_piece, tenant=way.tenant)
    finally:
        hangup.cancel()
    await way.send({"type": "http.response.body", "body": b""})


# ---------------------------------------------------------------- coming in


async def take_import(call: Call, way: Way, key: str | None, wish: ImportOptions) -> idempotency.Encoded:
    if wish.restore:
        _check_may_restore(call)
    with passing_bytes() as (file, path):
        digest = await _receive(file, way)
        # A rehearsal changes nothing, so there is nothing to do only once.
        kept_key = None if wish.dry_run else key

        def work() -> idempotency.Encoded:
            way.request.confirm()
            return _import(call, path, kept_key, digest, wish)

        response: idempotency.Encoded = await way.lane.submit(work, tenant=way.tenant)
        return response


async def _receive(file: BinaryIO, way: Way) -> bytes:
    digest, size = idempotency.Running(), 0
    while True:
        try:
            async with asyncio.timeout(way.limits.body_wait_s):
                message = await way.receive()
        except TimeoutError:
            raise Problem(408, "too_slow", "The lines did not arrive in time.") from None
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > way.limits.import_bytes:
            raise too_large(way.limits.import_bytes)
        digest.add(piece)
        await _write(way, file.write, piece)
        if not message.get("more_body", False):
            await way.lane.submit(file.flush, tenant=way.tenant)
            return digest.value()


async def _write(way: Way, write: Callable[[bytes], Any], piece: bytes) -> None:
    if len(piece) > PIECE_BYTES:
        await way.lane.submit(lambda: write(piece), tenant=way.tenant)
    else:
        # Small pieces go into the file's own buffer.
        write(piece)


def _check_may_restore(call: Call) -> None:
    """Only whoever owns the bank may say that a file is its own and believed as it stands."""
    require(call.principal, "operator")
    require_user(call.principal.origin, "restore an export, and so believe all that it claims")


def _import(call: Call, path: Path, key: str | None, digest: bytes, wish: ImportOptions) -> idempotency.Encoded:
    def act() -> Reply:
        with adopt_lines(call, path) as ours:
            tally = call.bank.import_from(ours, layout=OWN_LAYOUT, dry_run=wish.dry_run, restore=wish.restore)
        omissions = [{"what": item.what, "why": item.why.partition(" (")[0]} for item in tally.skipped]
        return Reply(
            body={
                "layout": tally.layout,
                "added": dict(tally.added),
                "revised": tally.revised,
                "unchanged": tally.unchanged,
                "untrusted": tally.untrusted,
                "quarantined": tally.quarantined,
                "origins": dict(tally.origins),
                "left_out": dict(tally.left_out),
                "skipped": omissions[:1_000],
            }
        )

    return idempotency.encode(act()) if key is None else idempotency.once_apart(call, key, digest, act)
