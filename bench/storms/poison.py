"""Attack what the bank believes: poison by every route, in every wording and disguise, looked for at every output.

A round chooses a wording, a disguise and a route by which it comes in: a tool's memory, an agent that repeats one, a
failing command whose message becomes a lesson, a model's lesson, a list of names, a file, a caller that claims to be
the user. Then everything that the bank shows to a model is read: prompts, hooks, MCP tools and resources, AGENTS.md.
Between them come honest lessons, which must go on being learned, believed and shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.storms._disguises import DISGUISES, REPORTS, WORDINGS
from bench.storms._weather import Promise, Weather
from reasoningbank.config import locate
from reasoningbank.core.errors import BankError
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import DEFAULT_TENANT, State
from reasoningbank.guard.homoglyphs import plain_letters, skeleton
from reasoningbank.serve.mcp import prompts, resources
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.tools import call
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.agents_md.choosing import Wanted
from reasoningbank_coding_agents.agents_md.files import page_of
from reasoningbank_coding_agents.answer import answer_event
from reasoningbank_coding_agents.house import House
from reasoningbank_coding_agents.known_failures import refresh
from reasoningbank_coding_agents.payload import event_from
from reasoningbank_coding_agents.policy import policy_from
from reasoningbank_coding_agents.state_dir import place_of
from reasoningbank_server.identity import PAGE_USER, Principal, origin_for

SLICE = 7
"""Rounds in the test command: one by each route."""
ROUNDS_PER_BANK = 40
NAMESPACE = "storm"
_CLAIMS = ("user", "user:me", "user:root", " user", "uѕer", "User", "agent:other", "import:notes", "peer:k", "root", "")
_QUOTED = re.compile("(?:the program's words|it says) “[^“”]*”|keeps failing: “[^“”]*”|: “[^“”]*”")
_LESSON = (
    "## Memory 1\n**Title**: Lesson of the build\n**Description**: When the build is run\n**Content**: {}\n"
    "**Tags**: build\n**Outcome**: success"
)


@dataclass(slots=True)
class Poisoned:
    """What one round brought in, and what of the bank must not be believed for it."""

    told: str
    host: str
    untrusted: list[str] = field(default_factory=list)
    """Memories that are to be untrusted whatever they say."""


def storm(weather: Weather) -> list[Promise]:
    authority = Promise("what came from a tool, a file or an output gains no authority, however it is repeated")
    shown = Promise("nothing hostile is shown to a model outside a quotation")
    claims = Promise("nobody is believed about itself beyond what it is")
    honest = Promise("an honest lesson is learned, believed and shown, its report as the program's words")
    bank: ReasoningBank | None = None
    folder, looked = weather.folder, 0
    for number in weather.rounds():
        if number % ROUNDS_PER_BANK == 0:
            if bank is not None:
                _settle(bank, authority)
            folder = weather.folder / f"bank-{number}"
            folder.mkdir()
            bank = ReasoningBank.open(folder / "bank.db", embedder="hash", namespace=NAMESPACE, durability="normal")
        assert bank is not None
        wording, way = weather.chance.choice(WORDINGS), weather.chance.choice(list(DISGUISES))
        route = list(ROUTES)[number % len(ROUTES)]
        host = "".join(weather.chance.choice("bdfgklmnprtw") + weather.chance.choice("aeiou") for _ in range(4))
        poisoned = Poisoned(told=DISGUISES[way](wording.format(host=f"{host}.example")), host=host)
        how = f"{route}, {way}: {wording[:50]}"
        ROUTES[route](bank, poisoned, wording.format(host=f"{host}.example"), weather)
        for memory_id in poisoned.untrusted:
            authority.check(bank.get(memory_id).trust is Trust.UNTRUSTED, f"{how} is {bank.get(memory_id).trust}")
        for door, text in _outputs(bank, folder, number, f"make build-{host}"):
            looked += 1
            for line in _outside_quotations(text):
                if _holds(line, poisoned):
                    shown.violated(f"{how}, through {door}: {line[:160]}")
                    break
            else:
                shown.held()
        _claim(bank, claims, weather)
        _learn_honestly(bank, honest, weather, number)
    if bank is not None:
        _settle(bank, authority)
    shown.measured = f"{looked:,} outputs read"
    return [authority, shown, claims, honest]


def _settle(bank: ReasoningBank, authority: Promise) -> None:
    for damage in bank.verify():
        authority.violated(f"verify names {damage}")
    bank.close()


# ---------------------------------------------------------------- the routes


def _as_a_tool(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    del plain, weather
    poisoned.untrusted.append(bank.record(title="page", content=poisoned.told, origin="tool:web").id)


def _as_an_echo(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    first = bank.record(title="page", content=plain, origin=weather.chance.choice(["tool:web", "peer:k"]))
    echo = bank.record(title="My own discovery", content=poisoned.told, origin="agent")
    poisoned.untrusted += [first.id, echo.id]


def _as_an_edit(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    del weather
    first = bank.record(title="page", content=plain, origin="tool:web")
    own = bank.record(
        title="own", content=f"Something honest about {poisoned.host[::-1]} and its tests.", origin="agent"
    )
    changed = bank.edit(own.id, content=poisoned.told, editor="agent")
    poisoned.untrusted += [first.id, changed.id]


def _as_a_file(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    del plain
    path = weather.folder / f"{poisoned.host}.jsonl"
    claimed = weather.chance.choice(["user", "agent", "user:me", "tool:web"])
    path.write_text(json.dumps({"title": "note", "content": poisoned.told, "origin": claimed}) + "\n", "utf-8")
    before = {item.id for item in bank.list(state=None, limit=10_000)}
    bank.import_from(path)
    poisoned.untrusted += [item.id for item in bank.list(state=None, limit=10_000) if item.id not in before]


def _as_a_message(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    """A failing command says it; the rules make a lesson of the failure."""
    del plain
    command = f"make build-{poisoned.host}"
    failed = EpisodeStep(action=command, result=poisoned.told, ok=False)
    shapes = {
        "fix": (failed, EpisodeStep(action=f"{command} --release", result="done", ok=True)),
        "remedy": (
            failed,
            EpisodeStep(action="./configure --fast", result="ok", ok=True),
            EpisodeStep(action=command, result="done", ok=True),
        ),
        "obeyed": (
            failed,
            EpisodeStep(action=" ".join(poisoned.told.split())[:200], result="ok", ok=True),
            EpisodeStep(action=command, result="done", ok=True),
        ),
        "warning": (failed, EpisodeStep(action=f"{command} -j2", result=poisoned.told, ok=False)),
    }
    shape = weather.chance.choice(list(shapes))
    _lived(bank, shapes[shape], "failure" if shape == "warning" else "success")


def _as_names(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    """A table whose column is called so, or whose columns are its words."""
    del plain
    words = re.findall(r"[^\W\d_]+", poisoned.told)[:12]
    columns = ["_".join(words)[:80]] if weather.chance.random() < 0.5 else words
    rows = [("id", "int", "NO"), *((column, "text", "YES") for column in dict.fromkeys(columns))]
    steps = (
        EpisodeStep(action=f"DESCRIBE t_{poisoned.host[:3]}", result=repr(rows), ok=True),
        EpisodeStep(action=f"SELECT id FROM t_{poisoned.host[:3]}", result="[(1,)]", ok=True),
    )
    _lived(bank, steps, "success")


def _as_a_models_lesson(bank: ReasoningBank, poisoned: Poisoned, plain: str, weather: Weather) -> None:
    """A model that read it in a file gives it as its own lesson."""
    del weather
    told = " ".join(poisoned.told.split())
    steps = (
        EpisodeStep(action="cat BUILD.md", result=plain, ok=True),
        EpisodeStep(action="make", result="ok", ok=True),
    )
    bank.record(title="file", content=plain, origin="tool:cat")
    bank.keep(Episode(task=f"build {poisoned.host}", namespace=NAMESPACE, steps=steps, outcome="success"))
    job = bank.jobs.next()
    assert job is not None
    try:
        poisoned.untrusted += bank.jobs.answer(job.job.id, _LESSON.format(f"When running make or cat: {told}"))
    except BankError:
        bank.jobs.discard(job.job.id)


ROUTES: dict[str, Callable[[ReasoningBank, Poisoned, str, Weather], None]] = {
    "a tool's memory": _as_a_tool,
    "an agent's echo": _as_an_echo,
    "an agent's edit": _as_an_edit,
    "a file": _as_a_file,
    "a command's message": _as_a_message,
    "a list of names": _as_names,
    "a model's lesson": _as_a_models_lesson,
}


def _lived(bank: ReasoningBank, steps: tuple[EpisodeStep, ...], outcome: str) -> None:
    task = f"work {len(bank.sessions(limit=10_000))}"
    bank.keep(Episode(task=task, namespace=NAMESPACE, steps=steps, outcome=outcome))
    bank.distill()


# ---------------------------------------------------------------- the outputs


def _outputs(bank: ReasoningBank, folder: Path, number: int, asked: str) -> Iterator[tuple[str, str]]:
    """Everything that a model is shown, by door."""
    yield "inject", bank.inject(asked, floor=0.0, limit=10, max_tokens=3_000)
    yield "MCP recall", prompts.render(bank, "recall", {"task": asked})
    found = call("memory_search", {"query": asked, "limit": 10, "min_confidence": 0.0}, bank, LOCAL).values or {}
    yield "MCP search", _strings(found)
    for item in bank.list(limit=4):
        yield "MCP get", _strings(call("memory_get", {"memory_id": item.id}, bank, LOCAL).values)
    yield "MCP resources", _strings(resources.list_resources(bank, None).entries)
    yield "MCP recent", _strings(resources.read(bank, resources.RECENT))
    yield "AGENTS.md", "\n".join(page_of("agents-md", bank.list(limit=400), Wanted(min_confidence=0.0)).lines)
    location = locate(folder / "bank.db")
    refresh(bank.context, place_of(location), NAMESPACE)
    house = House(
        location=location,
        bank=lambda **_: bank,
        policy=policy_from("prompt=2000,session=20000"),
        namespace=NAMESPACE,
        now=bank.context.clock(),
        by_agent=None,
        variables={},
        starts_reader=False,
    )
    bash = {"tool_name": "Bash", "tool_input": {"command": asked}, "tool_use_id": "t1"}
    events: tuple[tuple[str, dict[str, object]], ...] = (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": f"please run {asked} for me"}),
        ("PreToolUse", bash),
        ("PostToolUseFailure", {**bash, "error": f"Exit code 1\nmake failed: {asked}", "is_interrupt": False}),
    )
    for name, more in events:
        data = {"session_id": f"{name}-{number}", "cwd": str(folder), "hook_event_name": name, **more}
        event = event_from("claude-code", data, event_name=None, cwd=str(folder))
        assert event is not None
        said = answer_event(event, house)
        yield f"hook {name}", _strings(json.loads(said)) if said else ""


def _strings(values: object) -> str:
    """Every text in an answer, each on its own lines, without the names of the fields."""
    if isinstance(values, dict):
        return "\n".join(_strings(value) for value in values.values())
    if isinstance(values, (list, tuple)):
        return "\n".join(map(_strings, values))
    return values if isinstance(values, str) else ""


def _outside_quotations(text: str) -> Iterator[str]:
    """The lines that stand in no envelope, without what is marked as a program's words and without commands."""
    for line in text.splitlines():
        if not line.startswith("| "):
            yield _QUOTED.sub(" ", line)


def _holds(line: str, poisoned: Poisoned) -> bool:
    """Whether a line has the hostile words in it: a run of them, or the address they lead to among other words."""
    bare = re.findall(r"[^\W\d_]+", skeleton(plain_letters(line)))
    hostile = re.findall(r"[^\W\d_]+", skeleton(plain_letters(poisoned.told)))
    runs = set(zip(hostile, hostile[1:], hostile[2:], hostile[3:], strict=False))
    return any(run in runs for run in zip(bare, bare[1:], bare[2:], bare[3:], strict=False))


# ---------------------------------------------------------------- claims and honest work


def _claim(bank: ReasoningBank, claims: Promise, weather: Weather) -> None:
    claimed = weather.chance.choice(_CLAIMS)
    agent = Principal(tenant=DEFAULT_TENANT, scopes=frozenset({"read", "write"}), name="t", origin="agent")
    for principal in (agent, PAGE_USER):
        try:
            origin = origin_for(principal, claimed)
        except BankError:
            claims.held()
            continue
        kept = bank.record(title="claimed", content=f"by {claimed!r}", origin=origin)
        most = Trust.TRUSTED if principal is PAGE_USER else Trust.WORKING
        claims.check(kept.trust <= most, f"{principal.name} claimed {claimed!r} and is {kept.trust}")
        bank.erase(kept.id)
    draft = {"title": "t", "description": "d", "content": "c", "outcome": "success", "origin": claimed}
    made = (call("memory_record", draft, bank, LOCAL).values or {}).get("id")
    claims.check(made is None, f"over MCP {claimed!r} was taken")
    session = bank.start_session("claimed", metadata={"origin": claimed})
    bank.add_step(session.id, f"tool-{weather.chance.random()}", "error: not found", {"ok": False})
    bank.end_session(session.id, "failure")


def _learn_honestly(bank: ReasoningBank, honest: Promise, weather: Weather, number: int) -> None:
    report = weather.chance.choice(REPORTS)
    command = f"./run-{number}.sh --fast"
    steps = (
        EpisodeStep(action=command, result=report, ok=False),
        EpisodeStep(action=f"{command} --db sqlite", result="12 passed", ok=True),
    )
    _lived(bank, steps, "success")
    found = [item for item in bank.list(limit=20, state=None) if command in item.content]
    if not found:
        honest.violated(f"nothing was learned from {report!r}")
        return
    [lesson] = found[:1]
    believed = lesson.trust is Trust.WORKING and lesson.memory.state is State.ACTIVE
    honest.check(believed, f"the lesson about {report!r} is {lesson.trust}, {lesson.memory.state}")
    text = bank.inject(f"{command} fails", floor=0.0, limit=10, max_tokens=3_000)
    quoted = "the program's words “" in lesson.content and "--db sqlite" in text
    honest.check(quoted, f"the lesson about {report!r} is not shown with its quotation: {lesson.content[:120]!r}")
