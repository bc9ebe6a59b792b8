"""`session start|step|end|show|list`: a task from its beginning to the credit for what was shown in it; `track`."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from reasoningbank.bank.json_view import signal_json, step_json, trajectory_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command, add_limit, add_reference
from reasoningbank.cli.commands.storing import tell_scrubbed, text_or_stdin
from reasoningbank.cli.speaker import speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.drafts import optional_name
from reasoningbank.core.task_kind import TASK_TYPE, kind_of, type_in
from reasoningbank.core.types import Trajectory
from reasoningbank.learn.sessions import OUTCOMES

_DEFAULT_LIMIT = 20
_MARKS = {False: " (failed)", True: " (worked)"}


def _start_options(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="what is to be done")
    parser.add_argument("--agent", metavar="NAME", help="who does it")
    parser.add_argument("--task-type", metavar="TYPE", help="what kind of task it is; outcomes are weighed by kind")


def _start(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args, create=True) as handle:
        kind = optional_name(args.task_type, "task_type")
        metadata = {TASK_TYPE: kind} if kind else {}
        trajectory = handle.bank.start_session(args.task, agent=args.agent, metadata=metadata, speaker=speaker())
        secrets = handle.bank.secrets.found_in([args.task, args.agent, kind])
    if terminal.as_json:
        terminal.json({**trajectory_json(trajectory), "scrubbed": secrets})
    else:
        terminal.result(trajectory.id, f"started in {trajectory.namespace}; give this id to `query --session`")
        tell_scrubbed(secrets, terminal)
    return 0


def _add_session(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="as `session start` printed it")


def _step_options(parser: ArgumentParser) -> None:
    _add_session(parser)
    parser.add_argument("action", metavar="ACTION", help="what was done")
    parser.add_argument(
        "result", metavar="RESULT", nargs="?", default="", help='what came of it; "-" reads standard input'
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--failed", action="store_false", dest="ok", default=None, help="it did not work")
    group.add_argument("--ok", action="store_true", dest="ok", default=None, help="it worked")


def _step(args: Namespace, terminal: Terminal) -> int:
    result = text_or_stdin(args.result, terminal)
    with open_bank(args) as handle:
        metadata = {} if args.ok is None else {"ok": args.ok}
        step = handle.bank.add_step(args.session, args.action, result, metadata)
        secrets = handle.bank.secrets.found_in([args.action, result])
    if terminal.as_json:
        terminal.json({**step_json(step), "scrubbed": secrets})
    else:
        terminal.result(step.id, f"step {step.number}{_MARKS.get(args.ok, '')}")
        tell_scrubbed(secrets, terminal)
    return 0


def _end_options(parser: ArgumentParser) -> None:
    _add_session(parser)
    parser.add_argument("outcome", choices=OUTCOMES, help="unknown credits nobody")
    parser.add_argument(
        "--used",
        metavar="MEM",
        action="append",
        default=[],
        help="a memory that was really used; may be repeated",
    )


def _end(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        ending = handle.bank.end_session(args.session, args.outcome, used=args.used)
    if terminal.as_json:
        fields = trajectory_json(ending.trajectory)
        signals = [signal_json(signal) for signal in ending.signals]
        terminal.json({**fields, "step_count": ending.steps, "signals": signals, "job_id": ending.job_id})
        return 0
    memories = figures.counted(len(ending.signals), "memory", "memories")
    steps = figures.counted(ending.steps, "step")
    terminal.result(ending.trajectory.id, f"{args.outcome} after {steps}; {memories} credited")
    return 0


def _show(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        trajectory, steps = handle.bank.trajectory(args.session)
    if terminal.as_json:
        terminal.json(trajectory_json(trajectory, steps))
        return 0
    now = time.time()
    terminal.paragraph(plain.one_line(trajectory.task))
    facts = [trajectory.id, _state(trajectory), f"namespace {trajectory.namespace}"]
    facts += [f"agent {trajectory.agent}"] if trajectory.agent else []
    facts += [f"type {task_type}"] if (task_type := type_in(kind_of(trajectory))) else []
    facts += [f"started {figures.ago(trajectory.started_at, now)}"]
    terminal.paragraph(plain.one_line(" · ".join(facts)), dim=True)
    for step in steps:
        mark = _MARKS.get(bool(ok), "") if (ok := step.metadata.get("ok")) is not None else ""
        terminal.paragraph(f"{step.number}. {plain.one_line(step.action)}{mark}")
        if step.result:
            terminal.paragraph(step.result, indent="   ")
    if not steps:
        terminal.tell("No steps yet.")
    return 0


def _list_options(parser: ArgumentParser) -> None:
    add_limit(parser, _DEFAULT_LIMIT)


def _list(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        items = handle.bank.sessions(limit=args.limit)
        namespace = handle.bank.namespace
    if terminal.as_json:
        terminal.json({"sessions": [trajectory_json(item) for item in items]})
        return 0
    if not items:
        terminal.tell(f"No sessions yet in namespace {namespace}: `{PROGRAM} session start TASK` begins one.")
        return 0
    now = time.time()
    columns = [
        Column(name="ID"),
        Column(name="OUTCOME"),
        Column(name="STARTED", right=True),
        Column(name="TASK", elastic=True),
    ]
    show(terminal, columns, [[i.id, _state(i), figures.ago(i.started_at, now), i.task] for i in items])
    return 0


def _state(trajectory: Trajectory) -> str:
    return trajectory.outcome or "running"


def _track_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("action", metavar="ACTION", help="what was done")
    parser.add_argument(
        "result", metavar="RESULT", nargs="?", default="", help='what came of it; "-" reads standard input'
    )


def _track(args: Namespace, terminal: Terminal) -> int:
    result = text_or_stdin(args.result, terminal)
    with open_bank(args) as handle:
        memory = handle.bank.get(args.reference)
        step = handle.bank.track(memory.id, args.action, result)
        secrets = handle.bank.secrets.found_in([args.action, result])
    if terminal.as_json:
        terminal.json({**step_json(step), "scrubbed": secrets})
    else:
        terminal.result(step.id, f"step {step.number} under {plain.one_line(memory.title)}")
        tell_scrubbed(secrets, terminal)
    return 0


COMMANDS = {
    "track": Command(
        run=_track,
        options=_track_options,
        about="For what is done over days, outside of a session: `get` and `history` show the steps of a memory.",
    ),
    "session start": Command(run=_start, options=_start_options),
    "session step": Command(run=_step, options=_step_options),
    "session end": Command(run=_end, options=_end_options),
    "session show": Command(run=_show, options=_add_session),
    "session list": Command(run=_list, options=_list_options),
}
