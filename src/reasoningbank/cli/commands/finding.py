"""`query` and `inject`: asking the bank for what fits a task."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from reasoningbank.cli import why
from reasoningbank.cli.banks import Opened, elsewhere, opened
from reasoningbank.cli.command import Command, add_limit
from reasoningbank.cli.commands.storing import text_or_stdin
from reasoningbank.cli.indexing import index_before
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.origins import Trust
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import EVERY_NAMESPACE, Outcome, Scope
from reasoningbank.recall.query import ANY, DEFAULT_LIMIT, DEFAULT_MIN_CONFIDENCE, Found, Query, checked
from reasoningbank.view import found_json

PROFILES = ("balanced", "four-factor", "semantic", "boosted")
"""Named here too, since the ranking imports numpy and help must not; a test holds them together."""
_DEFAULT_TOKENS = 500
_ASKED = (
    "limit",
    "scope",
    "outcome",
    "min_confidence",
    "agent",
    "task_type",
    "profile",
    "floor",
    "session",
    "trust",
    "rerank",
)


def _query_options(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="+", help='what you want to do or know; "-" reads standard input')
    _add_filters(parser)
    parser.add_argument("--max-tokens", type=int, metavar="N", help="show no more than fits into this budget")
    parser.add_argument("--explain", "--why", action="store_true", help="every part of every score, and what it means")


def _inject_options(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TASK", nargs="+", help='the task at hand; "-" reads standard input')
    _add_filters(parser)
    parser.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        default=_DEFAULT_TOKENS,
        help=f"the budget (default {_DEFAULT_TOKENS})",
    )


def _add_filters(parser: ArgumentParser) -> None:
    add_limit(parser, DEFAULT_LIMIT)
    parser.add_argument("--scope", choices=[*Scope, ANY], default=ANY, help="default all")
    parser.add_argument("--outcome", choices=[*Outcome, ANY], default=ANY, help="default all")
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=DEFAULT_MIN_CONFIDENCE,
        metavar="0..1",
        help=f"default {DEFAULT_MIN_CONFIDENCE}",
    )
    parser.add_argument("--tag", metavar="T", action="append", default=[], help="only with this tag; may be repeated")
    parser.add_argument("--agent", metavar="NAME")
    parser.add_argument("--task-type", metavar="NAME")
    parser.add_argument(
        "--trust", choices=[*map(str, reversed(Trust)), ANY], default=ANY, help="the least (default all)"
    )
    parser.add_argument("--profile", choices=PROFILES, default=PROFILES[0], help=f"how to rank (default {PROFILES[0]})")
    parser.add_argument(
        "--floor", type=float, metavar="0..1", help="the least relevance; 0 shows anything that matches"
    )
    parser.add_argument("--rerank", action="store_true", help="let the configured language model order the best hits")
    parser.add_argument("--all-namespaces", action="store_true", help="of every project")
    parser.add_argument("--session", metavar="ID", help="charge what is shown to this session")


def _asked(args: Namespace, terminal: Terminal, **more: Any) -> Query:
    options: dict[str, Any] = {name: getattr(args, name) for name in _ASKED}
    return checked(
        Query(
            text=text_or_stdin(" ".join(args.text), terminal),
            tags=tuple(args.tag),
            namespace=EVERY_NAMESPACE if args.all_namespaces else None,
            **options,
            **more,
        )
    )


def _found(opened_bank: Opened, query: Query, terminal: Terminal) -> Found:
    if not _ready(opened_bank, query, terminal):
        # Nothing is there to be found, so no model is loaded to find it.
        return Found(
            memories=(),
            total_found=0,
            filtered_out={},
            tokens_used=0,
            abstained=True,
            embedder=str(opened_bank.bank.status().embedder),
            profile=query.profile,
            not_yet_indexed=0,
        )
    return opened_bank.bank.search(query)


def _ready(opened_bank: Opened, query: Query, terminal: Terminal) -> bool:
    if opened_bank.missing:
        return False
    if query.session is not None:
        opened_bank.bank.trajectory(query.session)
    _without_a_pool_of_threads()
    index_before(opened_bank.bank, terminal)
    return True


def _without_a_pool_of_threads() -> None:
    """One search has no work for them, and numpy's linear algebra starts them on import: a third of its time."""
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _query(args: Namespace, terminal: Terminal) -> int:
    query = _asked(args, terminal, max_tokens=args.max_tokens)
    with opened(args) as bank:
        found = _found(bank, query, terminal)
        namespace = "any namespace" if args.all_namespaces else f"namespace {bank.bank.namespace}"
        others = "" if found.memories or args.all_namespaces or bank.missing else elsewhere(bank.bank)
    if terminal.as_json:
        terminal.json(found_json(found))
        return 0
    for number, hit in enumerate(found.memories, start=1):
        if number > 1:
            terminal.say()
        why.show_hit(terminal, number, hit)
    if args.explain and found.memories:
        terminal.say()
        why.show_parts(terminal, found)
    why.tell_rest(terminal, found, namespace, nothing_stored=bank.missing, others=others)
    return 0


def _inject(args: Namespace, terminal: Terminal) -> int:
    query = _asked(args, terminal)
    checked(Query(text=query.text, max_tokens=args.max_tokens))
    with opened(args) as bank:
        text = bank.bank.inject(query, max_tokens=args.max_tokens) if _ready(bank, query, terminal) else ""
    if terminal.as_json:
        terminal.json({"text": text, "tokens": count_tokens(text), "abstained": not text})
    elif text:
        terminal.verbatim(f"{text}\n")
    return 0


COMMANDS = {
    "query": Command(run=_query, options=_query_options, about="Finding nothing is an answer, not an error."),
    "inject": Command(run=_inject, options=_inject_options, about="Prints nothing when nothing fits."),
}
