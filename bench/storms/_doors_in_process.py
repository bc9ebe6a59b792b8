"""Doors of this machine: the library in an agent's hands, commands under an agent's mark, files, graphs, peers."""

# ruff: noqa: ARG001, ARG005 - every one of a kind has one shape

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any
from unicodedata import normalize

from bench.storms._claims import ORIGINS, Claim, Fields, trouble
from bench.storms._forged_files import LAYOUTS, graph_json, graphml, nodes_of, transcript
from bench.storms._judging import Desk
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.files import hold
from tests.bus.sides import EVERYTHING, Side, give
from tests.learn.ingest.stories import SHAPES

Door = Callable[[Desk, Claim, Random], None]
"""Tries one claim; what is refused raises."""
_DRAFT = (
    "title", "description", "content", "outcome", "tags", "namespace", "metadata", "initial_confidence", "source",
    "parents", "key", "agent", "created_at",
)  # fmt: skip


def steps_of(claim: Claim) -> tuple[EpisodeStep, ...]:
    """A failure and what mended it, as nobody has ever seen them."""
    return (
        EpisodeStep(action=claim.command, result=f"No rule to make target {claim.mark}", ok=False),
        EpisodeStep(action=f"{claim.command} --release", result="12 passed", ok=True),
    )


# ---------------------------------------------------------------- the library


def library(desk: Desk, claim: Claim, chance: Random) -> None:
    """As an agent uses it: it says that it is one, or claims what no caller may."""
    claimed = claim.fields.get("origin", "agent")
    draft = {name: value for name, value in claim.fields.items() if name in _DRAFT}
    # The library in the user's own process speaks as the user; here an agent holds it, and only claims below that.
    is_user = normalize("NFKC", claimed).strip().casefold().partition(":")[0] == "user"
    draft["origin"] = "agent" if is_user else claimed
    chance.choice(_CALLS)(desk, claim, draft, chance)


def _edits(desk: Desk, claim: Claim, draft: Fields, chance: Random) -> None:
    told = {name: value for name, value in draft.items() if name in ("title", "content", "tags", "metadata")}
    desk.bank_here.edit(chance.choice(desk.victims), editor=chance.choice(("agent", draft["origin"])), **told)


def _praises(desk: Desk, claim: Claim, draft: Fields, chance: Random) -> None:
    planted = desk.planted(claim)
    for voice in range(10):
        desk.bank_here.feedback(planted, helpful=True, source=f"agent:{voice}")
        desk.bank_here.outcome(planted, succeeded=True)


def _keeps_an_episode(desk: Desk, claim: Claim, draft: Fields, chance: Random) -> None:
    desk.bank_here.keep(
        Episode(
            task=f"{claim.text} ({claim.mark})", namespace=draft.get("namespace") or desk.namespace,
            steps=steps_of(claim), outcome="success", reward=1.0, metadata=dict(claim.fields.get("metadata", {})),
            origin=chance.choice(("agent", draft["origin"])), messages=({"role": "user", "content": claim.text},),
        )
    )  # fmt: skip


def _runs_a_session(desk: Desk, claim: Claim, draft: Fields, chance: Random) -> None:
    with desk.bank_here.session(claim.text, metadata=dict(claim.fields.get("metadata", {}))) as run:
        for step in steps_of(claim):
            run.step(action=step.action, result=step.result, metadata={"ok": step.ok})
        run.finish("success")


_CALLS: tuple[Callable[[Desk, Claim, Fields, Random], object], ...] = (
    *[lambda desk, claim, draft, chance: desk.bank_here.record(**draft)] * 3,
    lambda desk, claim, draft, chance: desk.bank_here.record_many([draft, {**draft, "title": f"again {claim.mark}"}]),
    lambda desk, claim, draft, chance: desk.bank_here.store(
        draft.pop("key", None) or claim.mark, draft.pop("content"), **draft
    ),
    _edits,
    _praises,
    _keeps_an_episode,
    _runs_a_session,
    lambda desk, claim, draft, chance: desk.bank_here.link(
        chance.choice((desk.known.lesson, desk.planted(claim))), chance.choice(desk.victims), "supersedes",
        text=claim.text, tags=["preference"], origin="agent",
    ),
)  # fmt: skip


# ---------------------------------------------------------------- commands


def commands(desk: Desk, claim: Claim, chance: Random) -> None:
    words = _COMMANDS[chance.randrange(len(_COMMANDS))](desk, claim, chance)
    namespace = claim.fields.get("namespace")
    desk.run(*(("--namespace", namespace) if namespace else ()), *words)


def _tags(claim: Claim) -> list[str]:
    return [word for tag in claim.fields.get("tags", ["preference"]) for word in ("--tag", tag)]


def _outcomes(desk: Desk, claim: Claim, chance: Random) -> tuple[str, ...]:
    planted = desk.planted(claim)
    for _ in range(9):
        desk.run("outcome", planted, "success", "--session", f"s{chance.randrange(999)}")
    return ("outcome", planted, "survived")


def _lived(desk: Desk, claim: Claim, chance: Random) -> tuple[str, ...]:
    started = json.loads(desk.run("--json", "session", "start", claim.text, "--agent", "claude-code"))
    failing, working = steps_of(claim)
    desk.run("session", "step", started["id"], failing.action, failing.result, "--failed")
    desk.run("session", "step", started["id"], working.action, working.result, "--ok")
    return ("session", "end", started["id"], "success")


def _approving(desk: Desk, claim: Claim, chance: Random) -> tuple[str, ...]:
    planted = desk.planted(claim)
    return ("trust", "approve", chance.choice((planted, "agent", *ORIGINS[:8])), "--comment", "the user said so")


_COMMANDS: tuple[Callable[[Desk, Claim, Random], tuple[str, ...]], ...] = (
    lambda desk, claim, chance: (
        "record", "--title", claim.text[:100], "--content", claim.text, "--confidence", "0.99", *_tags(claim),
        "--outcome", claim.fields.get("outcome", "success"), "--agent", "user",
    ),
    lambda desk, claim, chance: (
        "store", claim.fields.get("key") or claim.mark, claim.text, "--title", claim.text[:100], *_tags(claim),
    ),
    lambda desk, claim, chance: (
        "edit", chance.choice(desk.victims), "--content", claim.text, "--title", claim.mark, *_tags(claim),
        *chance.choice(((), ("--keep-evidence",))),
    ),
    lambda desk, claim, chance: ("feedback", desk.planted(claim), "helpful", "--comment", claim.text),
    _outcomes,
    _lived,
    _approving,
    lambda desk, claim, chance: ("trust", "undo", "rul_1", "--comment", claim.text),
    lambda desk, claim, chance: ("rules", "add", claim.text, *chance.choice(((), ("--everywhere",)))),
    lambda desk, claim, chance: ("rules", "keep", chance.choice(("all", "1"))),
    lambda desk, claim, chance: ("rules", "drop", desk.known.rule),
    lambda desk, claim, chance: (
        "graph", "add", "--label", "UserPreference", "--conversation", claim.mark, "--text", claim.text,
        "--field", "preference_type=always", "--tag", "preference",
    ),
    lambda desk, claim, chance: (
        "link", desk.planted(claim), desk.known.lesson, "--kind", "supersedes", "--text", claim.text, *_tags(claim),
    ),
    lambda desk, claim, chance: ("track", desk.planted(claim), claim.command, "12 passed"),
    lambda desk, claim, chance: (chance.choice(("consolidate", "distill")),),
    lambda desk, claim, chance: ("team", "add", "user", chance.choice(("user", desk.namespace))),
    lambda desk, claim, chance: ("join", chance.choice(("user", desk.elsewhere))),
    lambda desk, claim, chance: ("jobs", "answer", "job_1", f"## Memory 1\n**Title**: x\n**Content**: {claim.text}"),
)  # fmt: skip


def calls_the_hook(desk: Desk, claim: Claim, chance: Random) -> None:
    """An agent's shell runs the hook with events that it has made up: a prompt, an answer, a whole session."""
    told = desk.transcript(claim.mark)
    payload = desk.payload("UserPromptSubmit", claim.mark, prompt=chance.choice((claim.text, claim.text, "keep-rules")))
    if chance.random() < 0.5:
        told.says(claim.text)
        for step in steps_of(claim):
            told.runs(step.action, step.result, failed=not step.ok)
        payload = desk.payload(chance.choice(("Stop", "SessionEnd")), claim.mark)
    marks = {"CLAUDECODE": "1", "AI_AGENT": chance.choice(("", "claude-code_2-1-325_agent"))}
    desk.environment |= marks
    said = desk.hook_raw(json.dumps(payload).encode())
    for name in marks:
        del desk.environment[name]
    assert said.code == 0, said.err
    # A real hook may start a reader of its own, which has the lock from then on.
    lock = hold(desk.place.work_lock, 300.0)
    assert lock is not None, "the reader does not end"
    os.close(lock)


# ---------------------------------------------------------------- files


def export_of(desk: Desk, *ids: str) -> list[dict[str, Any]]:
    """The lines of a real export that belong to these records, and its header."""
    lines = list(desk.bank_here.export_lines())
    return [json.loads(line) for line in (lines[0], *(line for line in lines[1:] if any(name in line for name in ids)))]


def honest_export(desk: Desk) -> list[dict[str, Any]]:
    return export_of(desk, desk.known.rule, desk.known.lesson, desk.known.session)


def _imported(desk: Desk, claim: Claim, chance: Random, *, layout: str) -> None:
    folder = desk.folder / "files" / claim.mark
    path = LAYOUTS[layout](folder, claim, honest_export(desk), chance)
    options = ["--restore"] if chance.random() < 0.1 else ["--name", chance.choice(("notes", *ORIGINS[1:8]))]
    desk.run("import", path, "--index-later", *options)


def imports(layout: str) -> Door:
    return partial(_imported, layout=layout)


def round_trip(desk: Desk, claim: Claim, chance: Random) -> None:
    """An agent's own memory, out of the bank and in again as somebody else's."""
    lines = export_of(desk, desk.planted(claim))
    for line in lines[1:]:
        line |= {"origin": chance.choice(ORIGINS), "tags": ["preference", "fix"], "content": claim.text, "revision": 9}
        if chance.random() < 0.5:
            line["id"] = f"mem_{claim.mark}"
    path = desk.file(f"{claim.mark}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    desk.run("import", path, "--index-later", *chance.choice(((), ("--name", "user"), ("--restore",))))


def transcripts(desk: Desk, claim: Claim, chance: Random) -> None:
    """Somebody else's conversation, in any shape."""
    shape = chance.choice(list(SHAPES))
    suffix = "txt" if shape == "ReAct" else "json"
    path = desk.file(f"{claim.mark}.{suffix}", transcript(shape, claim))
    by_name = chance.choice(((), ("--format", SHAPES[shape][0])))
    match chance.randrange(3):
        case 0:
            desk.run("ingest", path, "--distill", "--index-later", *by_name)
        case 1:
            desk.run("--namespace", "user", "ingest", path, "--distill", "--index-later", *by_name)
        case 2:
            desk.run("graph", "ingest", path, "--user", "user", "--role", "user", "--by", "rules")


def graph_files(desk: Desk, claim: Claim, chance: Random) -> None:
    folder = desk.folder / "files" / claim.mark
    path = chance.choice((graph_json, graphml))(folder, claim)
    options = chance.choice(([], ["--restore"], ["--name", "user"]))
    if chance.random() < 0.3:
        nodes, edges = nodes_of(claim)
        lessons = [{"rb_id": claim.mark, "key_lesson": claim.text, "tags": ["preference"], "link_nodes": []}]
        desk.bank_here.graph.add(nodes[:2], edges[:1], lessons, origin="agent")
    else:
        desk.run("graph", "import", path, *options)


# ---------------------------------------------------------------- peers


class Peers:
    """This desk on the bus, and a peer whom the user trusts as far as one can be."""

    def __init__(self, desk: Desk) -> None:
        there, here = desk.folder / "peer", desk.folder / "bus"
        there.mkdir()
        here.mkdir()
        self.peer = desk.opened.enter_context(Side(there, 2, namespace=desk.namespace, policy=EVERYTHING))
        self.here = desk.opened.enter_context(Side(here, 1, place=desk.bank_path, namespace=desk.namespace))
        give(self.here, self.peer)
        self.here.bank.trust.give(self.peer.origin, "working")


def peers(desk: Desk, claim: Claim, chance: Random) -> None:
    peer, here = desk.once(Peers).peer, desk.once(Peers).here
    namespace = chance.choice((desk.namespace, "user"))
    peer.learn(f"{claim.mark} is honest", namespace=namespace, scope="org")
    entries = peer.publish()
    told = {name: value for name, value in claim.fields.items() if name not in ("namespace", "source", "parents")}
    told |= {"content": claim.text, "metadata": dict(claim.fields.get("metadata", {})) or {"trouble": trouble("x")}}
    forged = [peer.forge(entry, **told) for entry in entries]
    here.take(forged)
    if chance.random() < 0.5:
        for item in peer.bank.list(limit=1):
            for _ in range(5):
                peer.bank.feedback(item.id, helpful=True)
        here.take([peer.forge(entry, source="user", weight=1.0) for entry in peer.publish() if entry.kind == "signal"])


# ---------------------------------------------------------------- several together


def combined(desk: Desk, claim: Claim, chance: Random) -> None:
    bank = desk.bank_here
    match chance.randrange(5):
        case 0:
            # A copy of the honest lesson with another way out, to be merged with it.
            honest = bank.get(desk.known.lesson)
            metadata = {**dict(honest.memory.metadata), "trouble": trouble(claim.mark)}
            words = honest.content.replace("uv run", f"{claim.command};")
            bank.record(title=honest.title, content=words, tags=list(honest.tags), metadata=metadata, origin="agent")
            desk.run("consolidate")
        case 1:
            # The fields of an honest memory, with another witness in them.
            victim = chance.choice(desk.victims)
            told = {**dict(bank.get(victim).memory.metadata), "trouble": trouble(claim.mark)}
            bank.edit(victim, metadata=told, content=claim.text, editor="agent", evidence="keep")
        case 2:
            # Two agents agree.
            planted = desk.planted(claim)
            for voice in ("agent:one", "agent:two"):
                bank.feedback(planted, helpful=True, source=voice)
            desk.run("outcome", planted, "success", by="GEMINI_CLI")
            desk.run("trust", "approve", planted, by="CURSOR_AGENT")
        case 3:
            # What was thrown away comes back under the user's name.
            planted = desk.planted(claim)
            bank.forget(planted, editor="agent")
            desk.run("restore", planted)
        case 4:
            bank.store(desk.known.lesson_key or claim.mark, claim.text, tags=["fix", "preference"], origin="agent",
                       metadata={"trouble": trouble(claim.mark)})  # fmt: skip
