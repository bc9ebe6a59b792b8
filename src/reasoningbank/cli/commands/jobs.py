"""`jobs list|retry|discard|next|answer`: what waits to be distilled, for people and for agents."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import handed_json, job_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_limit
from reasoningbank.cli.commands.storing import text_or_stdin
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.learn.queue import Queued

_DEFAULT_LIMIT = 20
_STATES = ("waiting", "running", "done", "dead", "discarded")


def _list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--state", choices=_STATES, help="only these; dead ones were given up after five attempts")
    add_limit(parser, _DEFAULT_LIMIT)


def _list(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        items = handle.bank.jobs.list(state=args.state, namespace=args.namespace, limit=args.limit)
        tally = handle.bank.jobs.tally(namespace=args.namespace)
    if terminal.as_json:
        terminal.json({"jobs": [job_json(item) for item in items], "tally": tally})
        return 0
    if not items:
        terminal.tell("No such jobs. Ending a session makes one.")
        return 0
    now = time.time()
    columns = [
        Column(name="ID"),
        Column(name="STATE"),
        Column(name="TRIES", right=True),
        Column(name="MADE", right=True),
        Column(name="WHAT CAME OF IT", elastic=True),
    ]
    show(terminal, columns, [_row(item, now) for item in items])
    terminal.tell(", ".join(f"{number:,} {state}" for state, number in tally.items()))
    return 0


def _row(item: Queued, now: float) -> list[str]:
    job = item.job
    attempts = job.attempts if item.lease is None else item.lease.attempts
    error = plain.one_line(job.error if item.lease is None else item.lease.error)
    came = figures.counted(len(job.results), "memory", "memories") if item.standing == "done" else error
    return [job.id, item.standing, str(attempts), figures.ago(job.created_at, now), came]


def _add_job(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="ID", help="as `jobs list` prints it")


def _retry_options(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="ID", nargs="?", help="as `jobs list` prints it")
    parser.add_argument("--dead", action="store_true", help="all that were given up")


def _retry(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        jobs = handle.bank.jobs
        job_ids = [args.job] if args.job else []
        ids = job_ids + ([item.job.id for item in jobs.list(state="dead", limit=1 << 30)] if args.dead else [])
        items = [jobs.retry(job_id) for job_id in ids]
    if terminal.as_json:
        terminal.json({"jobs": [job_json(item) for item in items]})
        return 0
    for item in items:
        terminal.result(item.job.id, f"waiting; `{PROGRAM} distill` works it off")
    if not items:
        terminal.tell("Nothing to retry: name a job, or say --dead.")
    return 0


def _discard(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        item = handle.bank.jobs.discard(args.job)
    if terminal.as_json:
        terminal.json(job_json(item))
    else:
        terminal.result(item.job.id, "discarded; `jobs retry` brings it back")
    return 0


def _next_options(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="ID", nargs="?", help="this one, instead of the one that waited longest")


def _next(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        assignment = handle.bank.jobs.next(args.job)
    if terminal.as_json:
        terminal.json({"job": None if assignment is None else handed_json(assignment)})
        return 0
    if assignment is None:
        terminal.tell("No session waits to be distilled.")
        return 0
    terminal.say(f"{assignment.job.id}")
    terminal.say()
    terminal.verbatim(f"{assignment.prompt}\n\n{assignment.record}\n")
    terminal.tell(f"Answer with: {PROGRAM} jobs answer {assignment.job.id} -   (the answer on standard input)")
    return 0


def _answer_options(parser: ArgumentParser) -> None:
    _add_job(parser)
    parser.add_argument(
        "answer", metavar="TEXT", help='in the form that `jobs next` asked for; "-" reads standard input'
    )


def _answer(args: Namespace, terminal: Terminal) -> int:
    text = text_or_stdin(args.answer, terminal)
    with open_bank(args) as handle:
        memories = handle.bank.jobs.answer(args.job, text)
        titles = [handle.bank.get(memory).title for memory in memories]
    if terminal.as_json:
        terminal.json({"job": args.job, "memories": list(memories)})
        return 0
    for memory, title in zip(memories, titles, strict=True):
        terminal.say(f"{memory}  {plain.one_line(title)}")
    terminal.tell(f"{figures.counted(len(memories), 'memory', 'memories')} learned or confirmed.")
    return 0


COMMANDS = {
    "jobs list": Command(run=_list, options=_list_options),
    "jobs retry": Command(run=_retry, options=_retry_options),
    "jobs discard": Command(run=_discard, options=_add_job),
    "jobs next": Command(run=_next, options=_next_options, about="The job is yours for 15 minutes."),
    "jobs answer": Command(run=_answer, options=_answer_options, about="A bad answer says what is wrong with it."),
}
