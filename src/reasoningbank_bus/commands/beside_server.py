"""`serve --bus HOST:PORT`: a node of the bus beside a server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from reasoningbank.cli.seams import ServicePlugin
from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import Location
from reasoningbank.wiring import ReasoningBank


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--bus", metavar="HOST:PORT", help="exchange with other banks too, reachable there (UDP)")
    parser.add_argument("--bus-public", metavar="HOST[:PORT]", help="where other banks are told that it is")


@contextmanager
def _run(bank: ReasoningBank, _: Location, args: Namespace, __: float) -> Iterator[str]:
    if args.bus is None:
        if args.bus_public is not None:
            raise InvalidInput("--bus-public says where a node of the bus is found: --bus HOST:PORT starts one.")
        yield ""
        return
    from reasoningbank_bus import Bus

    with Bus.open(bank) as bus:
        from reasoningbank_bus.service import running_node

        with running_node(bus, args.bus, args.bus_public) as node:
            yield f"{'bus':11} listening at {node.listen} (UDP)"


SERVICE = ServicePlugin(options=_options, run=_run)
