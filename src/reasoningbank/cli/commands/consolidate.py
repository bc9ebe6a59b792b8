"""`consolidate`: the upkeep of a bank, rehearsed, done and undone, and what has faded."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from reasoningbank.bank.json_view import consolidated_json, faded_json, undone_json, upkeep_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.indexing import index_before
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.speaker import speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.learn.consolidate.plan import Act, Consolidated, Link, Plan, Undone
from reasoningbank.learn.consolidate.run import PARTS
from reasoningbank.wiring import ReasoningBank

_MOST_SHOWN = 20
_NEED_NO_VECTORS = frozenset({"prune", "promote"})
A = TypeVar("A", bound=Act)


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--all-namespaces", action="store_true", help="in every project")
    parser.add_argument("--undo", metavar="RUN", help="put back what a run has changed instead")
    parser.add_argument("--history", action="store_true", help="list the runs so far instead")
    parser.add_argument("--faded", action="store_true", help="list what has lost confidence to age instead")
    parser.add_argument("--only", metavar="PARTS", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--rewrite", action="store_true", help="let the model write the text of what is merged")
    parser.add_argument("--if-due", action="store_true", help="only a day after the last time, or later")


def _consolidate(args: Namespace, terminal: Terminal) -> int:
    if args.history:
        return _history(args, terminal)
    if args.faded:
        return _faded(args, terminal)
    only = tuple(part.strip() for part in (args.only or "").split(",") if part.strip())
    if args.only is not None and not only:
        raise InvalidInput(f"--only takes some of {', '.join(PARTS)}.")
    with open_bank(args) as handle:
        if args.undo is not None:
            return _undo(handle.bank, args, terminal)
        if not args.if_due and (not only or not _NEED_NO_VECTORS.issuperset(only)):
            index_before(handle.bank, terminal)
        with Bar(terminal, "consolidating") as bar:
            consolidation = handle.bank.consolidate(
                only=only,
                dry_run=args.dry_run,
                namespace=EVERY_NAMESPACE if args.all_namespaces else None,
                if_due=args.if_due,
                rewrite=args.rewrite,
                source=speaker(),
                progress=bar,
            )
    if terminal.as_json:
        terminal.json(consolidated_json(consolidation, dry_run=args.dry_run))
    else:
        _tell(consolidation, terminal, dry_run=args.dry_run)
    return 0


def _tell(consolidation: Consolidated, terminal: Terminal, *, dry_run: bool) -> None:
    if not consolidation.due:
        terminal.tell("Not due yet: nothing has changed since the last time, or it was less than a day ago.")
        return
    lines = list(_lines(consolidation.plan))
    for line in lines:
        terminal.say(line)
    for sentence in consolidation.left[:_MOST_SHOWN]:
        terminal.tell(f"left: {sentence}")
    memories = figures.counted(consolidation.plan.considered, "memory", "memories")
    if not consolidation.plan.acts:
        terminal.tell(f"Nothing to do in {memories}.")
    elif dry_run:
        terminal.tell(f"Would {_summary(consolidation.plan, 0)} in {memories}; nothing was done.")
    elif consolidation.run is not None:
        terminal.tell(
            f"{_summary(consolidation.plan, 1).capitalize()} in {memories}. "
            f"To undo: {PROGRAM} consolidate --undo {consolidation.run}"
        )
    else:
        terminal.tell(f"Nothing was done in {memories}: others have changed meanwhile what was to be.")


def _summary(plan: Plan, form: int) -> str:
    """The counts of a plan by the first or the second form of each verb: would merge 3, merged 3."""
    counts = (
        (("merge", "merged"), sum(len(merge.merged) for merge in plan.merges), ""),
        (("link", "linked"), len(plan.conflicts), " contradicting pair"),
        (("add", "added"), len(plan.links), " link"),
        (("weigh", "weighed"), len(plan.reweighed), " link"),
        (("remove", "removed"), len(plan.unlinked), " link"),
        (("archive", "archived"), len(plan.archivals), ""),
        (("promote", "promoted"), len(plan.promotions), ""),
    )
    return ", ".join(
        f"{verbs[form]} {number:,}{noun}{'s' if noun and number > 1 else ''}"
        for verbs, number, noun in counts
        if number
    )


def _lines(plan: Plan) -> Iterator[str]:
    yield from _first(
        plan.merges,
        lambda merge: (
            f"merge     {merge.kept}  {plain.one_line(merge.title)}"
            f"\n          takes in {_names(merge.merged)} ({merge.why})"
        ),
    )
    yield from _first(plan.conflicts, lambda link: _link_line("conflict", link))
    yield from _first(plan.links, lambda link: _link_line("link", link))
    yield from _first(plan.reweighed, lambda act: _link_line("weigh", act.link))
    yield from _first(plan.unlinked, lambda act: _link_line("unlink", act.link))
    yield from _first(
        plan.archivals,
        lambda act: (
            f"archive   {act.id}  {plain.one_line(act.title)}\n          confidence {act.confidence:.2f}: {act.why}"
        ),
    )
    yield from _first(
        plan.promotions,
        lambda act: (
            f"promote   {act.id}  {plain.one_line(act.title)}\n          {act.before} to {act.after}: {act.why}"
        ),
    )


def _first(acts: Sequence[A], line: Callable[[A], str]) -> Iterator[str]:
    yield from (line(act) for act in acts[:_MOST_SHOWN])
    if len(acts) > _MOST_SHOWN:
        yield f"          and {len(acts) - _MOST_SHOWN:,} more; --json lists all"


def _names(ids: Sequence[str]) -> str:
    few = ", ".join(ids[:3])
    return few if len(ids) <= 3 else f"{few} and {len(ids) - 3:,} more"


def _link_line(what: str, link: Link) -> str:
    titles = f"{plain.one_line(link.titles[0])} → {plain.one_line(link.titles[1])}"
    return (
        f"{what:<10}{link.source} {link.kind} {link.target}  {titles}"
        f"\n          {link.text} ({plain.one_line(link.evidence)})"
    )


# ---------------------------------------------------------------- undoing and looking back


def _undo(bank: ReasoningBank, args: Namespace, terminal: Terminal) -> int:
    if args.dry_run:
        raise InvalidInput("--undo and --dry-run do not go together: `consolidate --history` shows what a run did.")
    undone = bank.upkeep.undo(args.undo, source=speaker())
    if terminal.as_json:
        terminal.json(undone_json(undone))
    else:
        _tell_undone(undone, terminal)
    return 0


def _tell_undone(undone: Undone, terminal: Terminal) -> None:
    put_back = figures.counted(len(undone.memories), "memory", "memories")
    if undone.links:
        put_back += f" and {figures.counted(undone.links, 'link')}"
    for sentence in undone.left:
        terminal.say(sentence)
    rest = f"; {figures.counted(len(undone.left), 'thing')} could not be put back" if undone.left else ""
    terminal.tell(f"{undone.run}: {put_back} put back, {figures.counted(undone.edges, 'edge')} removed{rest}.")


def _history(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        runs = handle.bank.upkeep.runs()
    if terminal.as_json:
        terminal.json({"runs": [upkeep_json(run) for run in runs]})
        return 0
    if not runs:
        terminal.tell("Nothing was consolidated yet.")
        return 0
    now = time.time()
    columns = [
        Column(name="RUN"),
        Column(name="WHEN", right=True),
        Column(name="WHAT"),
        Column(name="NAMESPACE", elastic=True),
        Column(name="DID", elastic=True),
        Column(name="UNDONE"),
    ]
    rows = [
        [
            run.id,
            figures.ago(run.at, now),
            run.kind.value,
            run.namespace,
            ", ".join(f"{number:,} {what}" for what, number in run.counts.items() if number),
            "yes" if run.undone else "",
        ]
        for run in runs
    ]
    show(terminal, columns, rows)
    return 0


_AGEING = {
    "bayes": "evidence loses half its weight in 180 days, and what nobody has tried keeps what it started with",
    "signals": "0.05 a month since it was stored, tried or not",
    "ratchet": "no ageing at all",
    "factors": "a fifth of the confidence is how lately it was used",
}


def _faded(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        items = handle.bank.upkeep.faded(namespace=EVERY_NAMESPACE if args.all_namespaces else None)
        policy = handle.bank.context.policy.name
    if terminal.as_json:
        terminal.json({"policy": policy, "faded": [faded_json(item) for item in items]})
        return 0
    if items:
        columns = [
            Column(name="WAS", right=True),
            Column(name="NOW", right=True),
            Column(name="IDLE", right=True),
            Column(name="ID"),
            Column(name="TITLE", elastic=True),
        ]
        rows = [[f"{f.before:.2f}", f"{f.now:.2f}", f"{f.idle_days:.0f} d", f.memory.id, f.memory.title] for f in items]
        show(terminal, columns, rows)
    terminal.tell(
        f"{figures.counted(len(items), 'memory has', 'memories have')} faded. Age is reckoned whenever a confidence is "
        f"read ({policy}: {_AGEING[policy]}), so there is nothing to apply and no schedule to keep; "
        f"`{PROGRAM} consolidate --only prune` archives what has lost too much."
    )
    return 0


COMMANDS = {
    "consolidate": Command(
        run=_consolidate,
        options=_options,
        about="Nothing is deleted: merged memories stay readable, archived ones can be restored, and a run can be "
        "undone as a whole. `prune` archives what lies below a confidence of 0.3 with evidence against it; never what "
        "nobody has tried, what is tagged `pinned`, or a person's own words without evidence. `promote` offers to the "
        "team after 3 tasks that went well, to the organisation after 8 in two projects; it is shown to more people "
        "and trusted no more than before.",
    ),
}
