"""A peer in a process of its own: a real node with a durable log over QUIC, told by lines what to write.

    python -m bench.bus.namespace_peer NUMBER ADDRESS… FOLDER

Says, as lines of JSON with the time, when it is connected, what it wrote and what became durable here.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from reasoningbank_bus.addresses import parse_address
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.node.effects import Effect, Took
from reasoningbank_bus.node.node import BusNode
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.quic.endpoint import BusEndpoint
from reasoningbank_bus.wire.entry import Entry, RecordName, sign_entry
from reasoningbank_bus.wire.signing import SigningKey

BODY_BYTES = 300
SAY_SECONDS = 0.2


def key_of(number: int) -> SigningKey:
    return SigningKey(hashlib.blake2b(b"bench peer %d" % number, digest_size=32).digest())


class Peer:
    def __init__(self, number: int, addresses: list[str], folder: Path) -> None:
        self._number = number
        self._key = key_of(number)
        self._address = addresses[number]
        self._log = DurableLog(folder)
        self._written = 0
        loop = asyncio.get_running_loop()
        self._node = BusNode(
            key=self._key,
            rights=Rights(self._key.public, [key_of(other).public for other in range(len(addresses))]),
            log=self._log,
            # One address is all that it is told; the others it hears of.
            settings=NodeSettings(listen=self._address, peers=((addresses[0], None),) if number else ()),
            seed=number,
            now_ms=lambda now: int((time.time() + now - loop.time()) * 1000),
        )
        self._endpoint = BusEndpoint(on_effect=self._note)

    async def run(self) -> None:
        await self._endpoint.start(parse_address(self._address), self._node, self._key)
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        saying = asyncio.create_task(self._say_links())
        while line := await lines.readline():
            await self._write(int(line))
        saying.cancel()
        await self._endpoint.stop()
        self._log.close()

    async def _write(self, count: int) -> None:
        entries = [self._entry() for _ in range(count)]
        began = time.time()
        self._log.add(entries)
        _say(wrote=[entry.record.id for entry in entries], at=began)
        await asyncio.wrap_future(self._endpoint.submit(lambda now: self._node.publish(entries, now)))

    def _entry(self) -> Entry:
        self._written += 1
        return sign_entry(
            self._key,
            at=int(time.time() * 1000),
            kind="memory",
            namespace="team/bench",
            scope="team",
            record=RecordName(self._key.public, f"mem_{self._number}_{self._written}"),
            revision=1,
            intent=b"",
            body=os.urandom(BODY_BYTES),
        )

    def _note(self, effect: Effect) -> None:
        if isinstance(effect, Took):
            _say(took=[entry.record.id for entry in effect.entries], at=time.time())

    async def _say_links(self) -> None:
        said = -1
        while True:
            if len(self._endpoint.links) != said:
                said = len(self._endpoint.links)
                _say(links=said, failures=self._endpoint.failures)
            await asyncio.sleep(SAY_SECONDS)


def _say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


async def _main(number: str, *rest: str) -> None:
    *addresses, folder = rest
    await Peer(int(number), addresses, Path(folder)).run()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
