"""A server answers the hooks of coding agents too: it runs anyway, and nobody is quicker."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from reasoningbank.cli.seams import ServicePlugin
from reasoningbank.location import Location
from reasoningbank.wiring import ReasoningBank


def _no_options(_: ArgumentParser) -> None:
    return


@contextmanager
def _run(bank: ReasoningBank, location: Location, _: Namespace, after_s: float) -> Iterator[str]:
    from reasoningbank_coding_agents.hook_listener import serve_hooks

    with serve_hooks(bank, location, after_s=after_s):
        yield ""


SERVICE = ServicePlugin(options=_no_options, run=_run)
