"""Options and companions that every kind of server shares: workers, and the services that plugins run beside one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from reasoningbank.cli.banks import OpenedBank
from reasoningbank.cli.command import add_policy
from reasoningbank.core.errors import InvalidInput
from reasoningbank.plugins import plugins

DEFAULT_WORKERS = 2
MOST_WORKERS = 64


def add_serving(parser: ArgumentParser) -> None:
    add_policy(parser)
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help=f"how many distil finished sessions meanwhile; 0 is nobody ({DEFAULT_WORKERS}, or as configured)",
    )
    parser.add_argument(
        "--no-consolidate", action="store_true", help="leave memories as they are; else once a day, when at rest"
    )
    for plugin in plugins("services").values():
        plugin.load().options(parser)


def check_workers(args: Namespace) -> None:
    if args.workers is not None and not 0 <= args.workers <= MOST_WORKERS:
        raise InvalidInput(f"--workers must be from 0 to {MOST_WORKERS}, not {args.workers}.")


def workers_of(args: Namespace, opening: OpenedBank) -> int:
    return opening.bank.settings.distillation.workers if args.workers is None else int(args.workers)


@contextmanager
def services_beside(opening: OpenedBank, args: Namespace, *, after_s: float = 0.0) -> Iterator[list[str]]:
    """Runs the services of plugins. Gives the lines that they have for whoever started the server."""
    with ExitStack() as stack:
        lines = [
            stack.enter_context(plugin.load().run(opening.bank, opening.location, args, after_s))
            for plugin in plugins("services").values()
        ]
        yield list(filter(None, lines))
