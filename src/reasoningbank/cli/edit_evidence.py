"""Options and report for what an edit does to the evidence about a memory."""

from __future__ import annotations

from argparse import ArgumentParser

from reasoningbank.cli import figures
from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.drafts import AUTO, KEEP, RESET
from reasoningbank.core.types import Remembered


def add_evidence_wish(parser: ArgumentParser) -> None:
    wish = parser.add_mutually_exclusive_group()
    wish.add_argument(
        "--keep-evidence",
        action="store_const",
        const=KEEP,
        dest="evidence",
        help="what the old text earned goes on counting (by default: while the advice is the same)",
    )
    wish.add_argument(
        "--reset-evidence", action="store_const", const=RESET, dest="evidence", help="the new text starts anew"
    )
    parser.set_defaults(evidence=AUTO)


def tell_evidence(before: Remembered, after: Remembered, terminal: Terminal) -> None:
    """Say which outcomes count no more, or count again, and how to have it otherwise."""
    if terminal.as_json:
        return
    is_other = after.memory.advice_id != before.memory.advice_id
    change = f"confidence {before.confidence.mean:.2f} → {after.confidence.mean:.2f}"
    difference = after.set_aside - before.set_aside
    if is_other and after.usage_count:
        outcomes = figures.counted(after.usage_count, "outcome counts", "outcomes count")
        terminal.tell(f"It has said so before, and what came of that counts again: {outcomes} ({change}).")
    elif difference > 0:
        outcomes = figures.counted(difference, "earlier outcome belonged", "earlier outcomes belonged")
        verb = "counts" if difference == 1 else "count"
        it = "it" if difference == 1 else "them"
        terminal.tell(
            f"{outcomes} to the old text and no longer {verb} ({change}). "
            f"To keep {it}: {PROGRAM} edit {after.id} --keep-evidence"
        )
    elif difference < 0:
        terminal.tell(
            f"{figures.counted(-difference, 'earlier outcome counts', 'earlier outcomes count')} for it ({change})."
        )
    elif after.usage_count and before.memory.content != after.memory.content:
        outcomes = figures.counted(after.usage_count, "outcome", "outcomes")
        terminal.tell(
            f"The advice is the same, so its {outcomes} still {'counts' if after.usage_count == 1 else 'count'}. "
            f"If it is not: {PROGRAM} edit {after.id} --reset-evidence"
        )
