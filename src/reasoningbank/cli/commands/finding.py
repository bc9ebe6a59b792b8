"""`query` and `inject`: asking the bank for what fits a task."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from typing import Any

from reasoningbank.bank.json_view import found_json
from reasoningbank.cli import why
from reasoningbank.cli.banks import OpenedBank, elsewhere, open_bank
from reasoningbank.cli.command import Command
from reasoningbank.cli.commands.storing import text_or_stdin
from reasoningbank.cli.indexing import index_before
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.confidence import LEAST_SHOWN
from reasoningbank.core.origins import Trust
from reasoningbank.core.settings import LINKS, NAMED
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import EVERY_NAMESPACE, Outcome, Scope
from reasoningbank.recall.query import ANY, DEFAULT_LIMIT, Query, SearchResult, validate

PROFILES = ("balanced", "four-factor", "semantic", "boosted")
"""Named here too, since the ranking imports numpy and help must not; a test holds them together."""
_DEFAULT_TOKENS = 500
_AS_CLAUDE_FLOW: dict[str, Any] = {"profile": "four-factor", "limit": 10, "floor": 0.0, "min_confidence": 0.0}
"""Defaults of `--reasoningbank` where nothing else was typed: the memory of that name in claude-flow ranks all of a
namespace by four factors, shows ten and leaves nothing out.
"""
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
    "links",
)


def _query_options(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="+", help='what you want to do or know; "-" reads standard input')
    _add_filters(parser)
    parser.add_argument("--max-tokens", type=int, metavar="N", help="show no more than fits into this budget")
    parser.add_argument(
        "--explain", "--why", action="store_true", help="every part of every score, and of the question"
    )


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
    parser.add_argument(
        "--limit", type=int, metavar="N", help=f"at most this many (default {DEFAULT_LIMIT}, or as configured)"
    )
    parser.add_argument("--scope", choices=[*Scope, ANY], default=ANY, help="default all")
    parser.add_argument("--outcome", choices=[*Outcome, ANY], default=ANY, help="default all")
    parser.add_argument(
        "--min-confidence",
        type=float,
        metavar="0..1",
        help=f"default {LEAST_SHOWN}, or as configured",
    )
    parser.add_argument("--tag", metavar="T", action="append", default=[], help="only with this tag; may be repeated")
    parser.add_argument("--agent", metavar="NAME")
    parser.add_argument("--task-type", metavar="NAME")
    parser.add_argument(
        "--trust", choices=[*map(str, reversed(Trust)), ANY], default=ANY, help="the least (default all)"
    )
    parser.add_argument("--profile", choices=PROFILES, help=f"how to rank (default {PROFILES[0]}, or as configured)")
    parser.add_argument(
        "--floor", type=float, metavar="0..1", help="the least relevance; 0 shows anything that matches"
    )
    parser.add_argument(
        "--links",
        choices=LINKS,
        help=f"what to make of a hit's links: pull in what it requires, or what they lead to (default {NAMED})",
    )
    parser.add_argument("--rerank", action="store_true", help="let the configured language model order the best hits")
    parser.add_argument("--all-namespaces", action="store_true", help="of every project")
    parser.add_argument("--session", metavar="ID", help="charge what is shown to this session")


def _read_question(args: Namespace, terminal: Terminal, **more: Any) -> tuple[str, dict[str, Any]]:
    """The question, and the options that were typed; what was not typed is for the bank's settings to say."""
    options: dict[str, Any] = {name: getattr(args, name) for name in _ASKED if getattr(args, name) is not None}
    if args.reasoningbank:
        options = _AS_CLAUDE_FLOW | options
    options |= more | {"tags": tuple(args.tag), "namespace": EVERY_NAMESPACE if args.all_namespaces else None}
    text = text_or_stdin(" ".join(args.text), terminal)
    # Before a bank is opened: what makes no sense makes none anywhere.
    return validate(Query(text=text, **options)).text, options


def _run_search(opened_bank: OpenedBank, text: str, options: dict[str, Any], terminal: Terminal) -> SearchResult:
    options = _ready(opened_bank, options, terminal)
    if opened_bank.missing:
        # Nothing is there to be found, so no model is loaded to find it.
        return SearchResult(
            memories=(),
            total_found=0,
            filtered_out={},
            tokens_used=0,
            abstained=True,
            embedder=str(opened_bank.bank.status().embedder),
            profile=options.get("profile") or opened_bank.bank.settings.search.profile,
            not_yet_indexed=0,
        )
    return opened_bank.bank.search(text, **options)


def _ready(opened_bank: OpenedBank, options: dict[str, Any], terminal: Terminal) -> dict[str, Any]:
    """Options with the session by its whole id, so that what is shown is charged to it. Brings the index up to date."""
    _without_a_pool_of_threads()
    if opened_bank.missing:
        return options
    session = options.get("session")
    if session is not None:
        options = options | {"session": opened_bank.bank.trajectory(session)[0].id}
    index_before(opened_bank.bank, terminal)
    return options


def _without_a_pool_of_threads() -> None:
    """Set numpy to one thread: one search has no work for more, and starting them on import takes a third of its
    time.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _query(args: Namespace, terminal: Terminal) -> int:
    text, options = _read_question(args, terminal, max_tokens=args.max_tokens)
    with open_bank(args, only_reads=True) as bank:
        start = time.perf_counter()
        result = _run_search(bank, text, options, terminal)
        took_s = time.perf_counter() - start
        namespace = "any namespace" if args.all_namespaces else f"namespace {bank.bank.namespace}"
        hint = "" if result.memories or args.all_namespaces or bank.missing else elsewhere(bank.bank)
    if terminal.as_json:
        fields = found_json(result)
        if args.explain:
            from dataclasses import asdict

            from reasoningbank.recall.features import features_of

            fields["question"] = asdict(features_of(text))
        terminal.json(fields)
        return 0
    for number, hit in enumerate(result.memories, start=1):
        if number > 1:
            terminal.say()
        why.show_hit(terminal, number, hit)
    if args.explain:
        _explain(terminal, text, result, namespace)
        terminal.tell(f"Took {took_s * 1000:,.0f} ms, with what had to be loaded and indexed first.")
    why.tell_rest(terminal, result, namespace, nothing_stored=bank.missing, hint=hint)
    return 0


def _explain(terminal: Terminal, question: str, result: SearchResult, namespace: str) -> None:
    from reasoningbank.recall.features import features_of

    if result.memories:
        terminal.say()
        why.show_parts(terminal, result)
        terminal.say()
    why.show_question(terminal, features_of(question), namespace)


def _inject(args: Namespace, terminal: Terminal) -> int:
    task, options = _read_question(args, terminal)
    validate(Query(text=task, max_tokens=args.max_tokens))
    with open_bank(args, only_reads=True) as bank:
        options = _ready(bank, options, terminal)
        text, reason, hint = "", f"There are no memories yet in namespace {bank.bank.namespace}.", ""
        if not bank.missing:
            injection = bank.bank.injection(task, max_tokens=args.max_tokens, **options)
            text, reason = injection.text, injection.reason
            hint = "" if text or args.all_namespaces else elsewhere(bank.bank)
    if terminal.as_json:
        fields = {"text": text, "tokens": count_tokens(text), "abstained": not text}
        terminal.json({**fields, "reason": "" if text else reason})
    elif text:
        terminal.verbatim(f"{text}\n")
    else:
        terminal.tell(f"{reason}{hint}")
    return 0


COMMANDS = {
    "query": Command(
        run=_query,
        options=_query_options,
        about="Finding nothing is an answer, not an error. Typed as in claude-flow, `memory query TEXT "
        "--reasoningbank`, it ranks the whole namespace by four factors, shows ten and leaves nothing out.",
    ),
    "inject": Command(
        run=_inject,
        options=_inject_options,
        about="Prints nothing when nothing fits, and says on the error stream why.",
    ),
}
