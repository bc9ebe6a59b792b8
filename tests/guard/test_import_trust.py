"""Every door and every origin: who may say of what it writes that it comes from whom.

The doors are read off the tables that the program itself is made of, so a new one without a decision here fails.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.command import command_named, parser_for
from reasoningbank.cli.main import main
from reasoningbank.cli.table import COMMANDS
from reasoningbank.config.environment import AGENT_MARKS
from reasoningbank.core.errors import InvalidInput, Refused
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.origins import Trust, level_of
from reasoningbank.serve.mcp import schemas as mcp_schemas
from reasoningbank.serve.mcp.caller import LOCAL, LocalCaller
from reasoningbank.serve.mcp.tools import call
from reasoningbank_server import openapi
from reasoningbank_server.limits import Limits
from reasoningbank_server.routes import ENDPOINTS
from tests.server.conftest import Api, new_token, served

NOBODYS = (
    "", " ", "root", "system", "web:page", "file:notes.md", "User", "USER", "uѕer", "uѕer:me", "ｕｓｅｒ", "user\u200b",
    "user\u200b:me", "\u202euser", "user:", "user : me", "tool:", "tool: ", "agent:", "AGENT", "trusted", "user;agent",
)  # fmt: skip
"""Origins that are none, whoever claims them."""
STAMPED = ("peer:key", "import:notes", "import:jsonl")
"""Given by whoever receives something, never by whoever brings it."""
HOOKS = ("hook:claude-code", " hook:codex")
"""Given by our own hooks to the sessions that they capture: not even the user claims it."""
TOOLS = ("tool:web", "tool:user", "tool:user:me")
ALLOWED: Mapping[str, tuple[str | None, ...]] = {
    "user": (None, "user", " user ", "agent", "agent:reviewer", *TOOLS),
    "agent": (None, "agent", *TOOLS),
}
"""What a caller may claim who speaks as this; everything else of `CLAIMS` is refused."""
CLAIMS = (None, "user", " user ", "user:me", "user:user", "agent", "agent:reviewer", *TOOLS, *STAMPED, *HOOKS, *NOBODYS)


def expected(speaker: str, claimed: str | None) -> str | None:
    """The origin that is written down, or None for a refusal."""
    if claimed not in ALLOWED[speaker]:
        return None
    return speaker if claimed is None else claimed.strip()


# ---------------------------------------------------------------- REST

PLENTY = Limits(requests_per_s=1e6, burst=1e6, refusals_per_s=1e6)
CLAIMED, SPOKEN, STANDING, NOTHING = "takes an origin", "speaks as itself", "needs standing", "keeps no memory"
REST: dict[str, str] = {
    "POST /v1/memories": CLAIMED,
    "POST /v1/memories/bulk": CLAIMED,
    "PUT /v1/keys/{key}": CLAIMED,
    "POST /v1/episodes": CLAIMED,
    "POST /v1/sessions": CLAIMED,
    "POST /v1/import": CLAIMED,
    "POST /v1/graph": CLAIMED,
    "POST /v1/graph/ingest": CLAIMED,
    "POST /v1/graph/import": SPOKEN,
    "POST /v1/bus/revoke": STANDING,
    "PATCH /v1/memories/{id}": STANDING,
    "DELETE /v1/memories/{id}": STANDING,
    "POST /v1/memories/{id}/restore": STANDING,
    "POST /v1/rulings": STANDING,
    **dict.fromkeys(("POST /v1/rules", "PATCH /v1/rules/{id}", "DELETE /v1/rules/{id}"), STANDING),
    "DELETE /v1/graph/nodes/{id}": STANDING,
    "DELETE /v1/graph/conversations/{id}": STANDING,
    "POST /v1/memories/{id}/feedback": SPOKEN,
    "POST /v1/memories/{id}/outcome": SPOKEN,
    "POST /v1/memories/{id}/stability": SPOKEN,
    "POST /v1/teams": SPOKEN,
    "POST /v1/consolidate": SPOKEN,
    "POST /v1/consolidations/{id}/undo": SPOKEN,
    "POST /v1/ingest": SPOKEN,
    "POST /v1/jobs/{id}/answer": SPOKEN,
    "POST /v1/distill": SPOKEN,
    **dict.fromkeys(
        (
            "POST /v1/search", "POST /v1/inject", "POST /v1/compare", "POST /v1/embed", "POST /v1/verify",
            "POST /v1/reindex", "POST /v1/sessions/{id}/steps", "POST /v1/sessions/{id}/end", "POST /v1/links",
            "DELETE /v1/links/{id}", "POST /v1/jobs/next", "POST /v1/jobs/{id}/retry", "POST /v1/jobs/{id}/discard",
            "DELETE /v1/gaps", "DELETE /v1/gaps/{id}", "POST /v1/secrets", "POST /v1/scrub", "PATCH /v1/scrubbing",
            "POST /v1/memories/{id}/steps", "POST /v1/graph/search", "POST /v1/graph/walk", "POST /v1/graph/path",
            "POST /v1/graph/questions", "POST /v1/bus/init", "POST /v1/bus/grants", "POST /v1/bus/accept",
            "POST /v1/bus/peers", "POST /v1/bus/roots", "PATCH /v1/bus/policy", "POST /v1/bus/ask",
        ),
        NOTHING,
    ),
}  # fmt: skip


def test_every_writing_route_has_a_decision() -> None:
    routes = {f"{e.method} {e.path}" for e in ENDPOINTS if e.method != "GET"} | {"POST /v1/import"}
    assert "/v1/import" in openapi.STREAMED_PATHS
    assert routes == REST.keys()


def names_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from names_in(part)
    elif isinstance(schema, (list, tuple)):
        for part in schema:
            yield from names_in(part)


def test_a_route_that_takes_a_word_about_its_caller_is_among_those_that_are_walked() -> None:
    taking = {f"{e.method} {e.path}" for e in ENDPOINTS if "origin" in set(names_in(e.body))}
    assert taking <= {route for route, decision in REST.items() if decision is CLAIMED}
    voiced = {f"{e.method} {e.path}" for e in ENDPOINTS if {"voice", "editor", "rater"} & set(names_in(e.body))}
    assert voiced == set(), "whose voice it is follows from the credentials"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Api]]:
    """One server, and a client for each sort of credentials, by what it is and as whom it speaks."""
    path = tmp_path_factory.mktemp("claims") / "bank.db"
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank, served(bank, limits=PLENTY) as api:
        yield {
            "agent, no token on loopback": api,
            "user, a token of the user": api.as_(new_token(bank, "acme", "admin", origin="user")),
            "agent, a token to write": api.as_(new_token(bank, "acme", "write")),
            "agent, a token of the operator": api.as_(new_token(bank, "local", "admin")),
        }


CALLERS = (
    "agent, no token on loopback",
    "user, a token of the user",
    "agent, a token to write",
    "agent, a token of the operator",
)


def said(claimed: str | None, **fields: Any) -> dict[str, Any]:
    return fields if claimed is None else {**fields, "origin": claimed}


def recorded(api: Api, claimed: str | None) -> tuple[int, str | None]:
    answer = api("POST", "/v1/memories", said(claimed, title="t", content=f"c {claimed!r}"))
    return answer.status, answer.json.get("origin")


def recorded_in_bulk(api: Api, claimed: str | None) -> tuple[int, str | None]:
    honest = {"title": "t", "content": "honest"}
    answer = api("POST", "/v1/memories/bulk", {"memories": [honest, said(claimed, title="t", content="c")]})
    if answer.status != 201:
        return answer.status, None
    return answer.status, api("GET", f"/v1/memories/{answer.json['ids'][1]}").json["origin"]


def stored_under_a_key(api: Api, claimed: str | None) -> tuple[int, str | None]:
    key = f"k{abs(hash((claimed, api.token)))}"
    answer = api("PUT", f"/v1/keys/{key}", said(claimed, content="c"))
    return answer.status, answer.json.get("origin")


def started_with_metadata(api: Api, claimed: str | None) -> tuple[int, str | None]:
    answer = api("POST", "/v1/sessions", {"task": "t", "metadata": said(claimed)})
    if answer.status != 201:
        return answer.status, None
    return answer.status, answer.json["origin"]


def kept_as_a_whole(api: Api, claimed: str | None) -> tuple[int, str | None]:
    answer = api("POST", "/v1/episodes", said(claimed, task=f"as {claimed!r}", steps=[{"action": "ls"}]))
    if answer.status != 201:
        return answer.status, None
    return answer.status, api("GET", f"/v1/sessions/{answer.json['session']}").json["origin"]


def noted_in_the_graph(api: Api, claimed: str | None) -> tuple[int, str | None]:
    node = {"label": "UserPreference", "conv_id": "c", "text": "Tables", "preference_type": "report_style"}
    answer = api("POST", "/v1/graph", said(claimed, nodes=[node]))
    if answer.status != 201:
        return answer.status, None
    return answer.status, api("GET", f"/v1/graph/nodes/{answer.json['nodes'][0]}").json["origin"]


def told_to_the_graph(api: Api, claimed: str | None) -> tuple[int, str | None]:
    conversation = [{"role": "user", "content": "Why did the cost per lead rise in July?"}]
    conv_id = f"told {CLAIMS.index(claimed)} {api.token}"[:60]
    answer = api("POST", "/v1/graph/ingest", said(claimed, conversation=conversation, conv_id=conv_id, by="rules"))
    if answer.status != 200:
        return answer.status, None
    return answer.status, api("GET", f"/v1/graph/nodes/{answer.json['nodes'][0]}").json["origin"]


DOORS = {
    "POST /v1/graph": noted_in_the_graph,
    "POST /v1/graph/ingest": told_to_the_graph,
    "POST /v1/memories": recorded,
    "POST /v1/memories/bulk": recorded_in_bulk,
    "PUT /v1/keys/{key}": stored_under_a_key,
    "POST /v1/sessions": started_with_metadata,
    "POST /v1/episodes": kept_as_a_whole,
}


def test_every_route_that_takes_an_origin_is_walked() -> None:
    assert {route for route, decision in REST.items() if decision is CLAIMED} == DOORS.keys() | {"POST /v1/import"}


OF_SESSIONS = ("POST /v1/sessions", "POST /v1/episodes", "POST /v1/graph/ingest")


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("door", DOORS)
def test_no_route_believes_a_caller_beyond_its_credentials(house: dict[str, Api], door: str, caller: str) -> None:
    speaker = caller.partition(",")[0]
    for claimed in CLAIMS:
        status, origin = DOORS[door](house[caller], claimed)
        right = expected(speaker, claimed)
        if right is None:
            assert status in (400, 403), (claimed, status)
            # What an origin is, is decided by its form; what is beyond the caller, by who it is.
            assert status == (400 if claimed in NOBODYS else 403), claimed
        elif right == "user" and door in OF_SESSIONS:
            # Whoever lived through it, an agent acted in it.
            assert origin == ("user" if claimed and door == "POST /v1/graph/ingest" else "agent")
        else:
            assert (status // 100, origin) == (2, right), claimed


@pytest.mark.parametrize("caller", CALLERS)
def test_no_file_over_http_is_believed_unless_the_operator_who_is_the_user_says_restore(
    house: dict[str, Api], caller: str
) -> None:
    api = house[caller]
    lines = [{"title": f"line {n} {caller}", "content": f"line {n}", **said(c)} for n, c in enumerate(CLAIMS)]
    body = "\n".join(map(json.dumps, lines)).encode()
    answer = api("POST", "/v1/import", body, content_type="application/x-ndjson")
    assert answer.status == 200
    kept = [m for m in api("GET", "/v1/memories?limit=500&state=any").json["memories"] if caller in m["title"]]
    assert kept
    assert {m["trust"] for m in kept} == {"untrusted"}
    restoring = api("POST", "/v1/import?restore=true", body, content_type="application/x-ndjson")
    assert (restoring.status, restoring.code) == (403, "forbidden")


def test_an_agent_gets_no_standing_from_a_name(house: dict[str, Api]) -> None:
    user, agent = house["user, a token of the user"], house["agent, a token to write"]
    mine = user.record("mine", "the user's own words")
    assert agent("PATCH", f"/v1/memories/{mine['id']}", {"content": "other words"}).status == 409
    assert agent("DELETE", f"/v1/memories/{mine['id']}").status == 409
    user("PUT", "/v1/keys/deploy", {"content": "the user's own words"})
    for claimed in ("user", "user:me"):
        assert agent("PUT", "/v1/keys/deploy", {"content": "other words", "origin": claimed}).status == 403
    assert agent("PUT", "/v1/keys/deploy", {"content": "other words"}).status == 409
    foreign = agent.record("note", "what a page said about the release", origin="tool:web")
    operator = house["agent, a token of the operator"]
    for kind in ("reject", "revoke", "undo"):
        assert operator("POST", "/v1/rulings", {"kind": kind, "target": "tool:web"}).status == 403
    assert agent("POST", "/v1/rulings", {"kind": "approve", "target": foreign["id"]}).status == 403


def test_an_agent_neither_changes_nor_erases_what_the_user_put_into_the_graph(house: dict[str, Api]) -> None:
    user, agent = house["user, a token of the user"], house["agent, a token to write"]
    node = {"id": "N1", "label": "UserPreference", "conv_id": "mine", "text": "Tables", "preference_type": "style"}
    assert user("POST", "/v1/graph", {"nodes": [node]}).status == 201
    assert agent("POST", "/v1/graph", {"nodes": [{**node, "text": "Pies"}]}).status == 409
    assert agent("DELETE", "/v1/graph/nodes/N1").status == 409
    assert agent("DELETE", "/v1/graph/conversations/mine").status == 409
    assert user("DELETE", "/v1/graph/conversations/mine").json == {"nodes": 1}


@pytest.mark.parametrize("caller", CALLERS)
def test_evidence_is_said_by_whoever_says_it(house: dict[str, Api], caller: str) -> None:
    api = house[caller]
    made = api.record(f"rated by {caller}", "a memory to be rated")
    assert api("POST", f"/v1/memories/{made['id']}/feedback", {"helpful": False, "source": "user"}).status == 400
    api("POST", f"/v1/memories/{made['id']}/feedback", {"helpful": False})
    api("POST", f"/v1/memories/{made['id']}/outcome", {"succeeded": True})
    sources = [p["signal"]["source"] for p in api("GET", f"/v1/memories/{made['id']}/history").json["curve"][1:]]
    assert sources[0].partition(":")[0] == caller.partition(",")[0]
    assert sources[1] == "task"


# ---------------------------------------------------------------- sessions and lessons

STUMBLE = (
    EpisodeStep(action="pytest tests/parser", result="bash: pytest: command not found", ok=False),
    EpisodeStep(action="uv run pytest tests/parser", result="12 passed", ok=True),
)


@pytest.mark.parametrize("claimed", ["user", "user:me", "agent", "tool:web", "peer:key", "import:x", "uѕer", "root", 7])
def test_a_lesson_is_never_the_users_word_whatever_its_session_says(bank: ReasoningBank, claimed: object) -> None:
    session = bank.start_session("run the tests", metadata={"origin": claimed})
    for step in STUMBLE:
        bank.add_step(session.id, step.action, step.result, {"ok": step.ok})
    bank.end_session(session.id, "success")
    bank.distill()
    believed = claimed in ("user", "user:me", "agent")
    learned = bank.list(state=None)
    assert {tag for lesson in learned for tag in lesson.tags} == {"fix", "solved"}
    assert {lesson.trust for lesson in learned} == {Trust.WORKING if believed else Trust.UNTRUSTED}


def test_a_whole_session_may_be_the_users_and_its_lessons_are_an_agents(bank: ReasoningBank) -> None:
    bank.keep(Episode(task="run the tests", namespace="n", steps=STUMBLE, outcome="success", origin="user"))
    bank.distill()
    assert {(lesson.memory.origin, str(lesson.trust)) for lesson in bank.list()} == {("agent", "working")}


def test_what_is_learned_from_a_session_of_a_file_comes_from_the_file(bank: ReasoningBank, tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        other.keep(Episode(task="run the tests", namespace="n", steps=STUMBLE, outcome="success", origin="user"))
        other.record(title="rated", content="a memory that its user liked")
        other.feedback(other.list()[0].id, helpful=False)
        (tmp_path / "export.jsonl").write_text("\n".join(other.export_lines()), "utf-8")
    bank.import_from(tmp_path / "export.jsonl")
    again = bank.import_from(tmp_path / "export.jsonl")
    assert (again.added, again.skipped) == ({}, []), "the same file again is known"
    [session] = bank.sessions()
    assert session.origin == "import:jsonl"
    [rated] = bank.list()
    assert [p.signal.source for p in bank.history(rated.id).points if p.signal] == ["import:jsonl/user"]
    for job in bank.jobs.list():
        bank.jobs.retry(job.job.id)
    bank.distill()
    assert {item.trust for item in bank.list(state=None)} == {Trust.UNTRUSTED}


# ---------------------------------------------------------------- the library


@pytest.mark.parametrize("claimed", CLAIMS)
def test_the_library_is_the_user_and_names_what_it_passes_on(bank: ReasoningBank, claimed: str | None) -> None:
    draft = said(claimed, title="t", content="c")
    if claimed in (*NOBODYS, *HOOKS):
        with pytest.raises(InvalidInput if claimed in NOBODYS else Refused, match="origin"):
            bank.record(**draft)
        return
    kept = bank.record(**draft)
    assert kept.trust is level_of("user" if claimed is None else claimed.strip())


# ---------------------------------------------------------------- MCP

MCP = {
    "memory_search": NOTHING,
    "memory_record": CLAIMED,
    "memory_feedback": SPOKEN,
    "memory_outcome": SPOKEN,
    "memory_get": NOTHING,
    "session": SPOKEN,
    "memory_consolidate": SPOKEN,
    "graph_search": NOTHING,
}


def test_every_tool_has_a_decision_and_only_one_takes_an_origin() -> None:
    assert {tool.name for tool in mcp_schemas.TOOLS} == MCP.keys()
    for tool in mcp_schemas.TOOLS:
        assert ("origin" in tool.inputs["properties"]) == (MCP[tool.name] is CLAIMED)
        assert not {"voice", "editor", "source", "rater"} & tool.inputs["properties"].keys()


@pytest.mark.parametrize("caller", [LOCAL, LocalCaller(origin="user"), LocalCaller(origin="user:me")])
@pytest.mark.parametrize("claimed", CLAIMS)
def test_what_speaks_mcp_is_an_agent(bank: ReasoningBank, caller: LocalCaller, claimed: str | None) -> None:
    draft = said(claimed, title="t", description="d", content="c", outcome="success")
    reply = call("memory_record", draft, bank, caller)
    right = expected("agent", claimed)
    if right is None:
        assert reply.failure is not None
        assert bank.list(state=None) == []
    else:
        assert [item.memory.origin for item in bank.list(state=None)] == [right]
        call("memory_feedback", {"memory_id": bank.list(state=None)[0].id, "helpful": False}, bank, caller)
        [signal] = [p.signal for p in bank.history(bank.list(state=None)[0].id).points if p.signal]
        assert signal.source == "agent:local"


# ---------------------------------------------------------------- the command line

AS_USER_ONLY = "only the user decides"
CLI = {
    **dict.fromkeys(("store", "record", "feedback", "edit", "delete", "restore", "team add", "team remove"), SPOKEN),
    "graph add": SPOKEN,
    **dict.fromkeys(("consolidate", "trust approve"), SPOKEN),
    **dict.fromkeys(("import", "ingest", "backfill", "distill", "jobs answer", "outcome", "watch-git", "hook"), STANDING),
    **dict.fromkeys(("graph import", "graph ingest"), STANDING),
    **dict.fromkeys(("trust reject", "trust revoke", "trust undo", "graph remove"), AS_USER_ONLY),
    **dict.fromkeys(("bus peer", "bus revoke", "rules keep", "rules drop", "join"), AS_USER_ONLY),
    "rules add": SPOKEN,
    # What comes over the bus is a peer's, whoever lets it in.
    "bus up": STANDING,
    "token create": CLAIMED,
    **dict.fromkeys(
        (
            "demo", "doctor", "install", "uninstall", "query", "inject", "list", "get", "gaps", "status", "config",
            "history", "report", "track", "session start", "session step", "session end", "session show",
            "session list", "jobs list", "jobs retry", "jobs discard", "jobs next", "link",
            "unlink", "graph neighbours", "graph edges", "graph conversation", "graph check", "graph export", "graph search", "graph walk", "graph path", "team list", "trust list", "trust show", "rules", "export",
            "backup", "recover", "verify", "scrub", "reindex", "off",
            "on", "pause", "serve", "token list", "token revoke", "completion", "migrate", "ui", "help", "bus init", "bus id", "bus grant",
            "bus accept", "bus grants", "bus spend", "bus trust", "bus share", "bus status", "bus ask",
        ),
        NOTHING,
    ),
}  # fmt: skip
"""STANDING: what it takes in is a file's, or an agent's that acted in a session, whoever gives the command."""


def test_every_command_has_a_decision_and_only_the_making_of_tokens_takes_an_origin() -> None:
    assert COMMANDS.keys() == CLI.keys()
    for name in COMMANDS:
        parser = parser_for(name, command_named(name))
        options = {option for action in parser._actions for option in action.option_strings}
        assert ("--origin" in options) == (CLI[name] is CLAIMED), name
        assert not {"--voice", "--editor", "--source", "--as-user"} & options, name


@dataclass
class Shell:
    """A person's terminal, or an agent's."""

    bank: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> tuple[int, Any]:
        self.capture.readouterr()
        code = main(["--bank", str(self.bank), "--json", *words])
        out = self.capture.readouterr().out
        return code, json.loads(out) if out.strip() else None


@pytest.fixture
def shell(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    monkeypatch.setenv("REASONINGBANK_NAMESPACE", "n")
    return Shell(path, capsys)


def test_what_a_person_types_is_the_users_word(shell: Shell) -> None:
    assert shell("record", "--title", "t", "--content", "c")[1]["origin"] == "user"
    assert shell("store", "key", "value")[1]["trust"] == "trusted"


@pytest.mark.parametrize("mark", AGENT_MARKS)
def test_what_an_agent_types_is_the_agents_word(shell: Shell, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, mine = shell("record", "--title", "mine", "--content", "the user's own words")
    monkeypatch.setenv(mark, "1")
    _, own = shell("record", "--title", "t", "--content", "c")
    assert (own["origin"], own["trust"]) == ("agent", "working")
    assert shell("store", "key", "value")[1]["origin"] == "agent"
    assert shell("edit", mine["id"], "--content", "other words")[0] == 4
    assert shell("delete", mine["id"])[0] == 4
    assert shell("delete", mine["id"], "--erase", "--yes")[0] == 9
    shell("feedback", mine["id"], "--unhelpful")
    assert shell("history", mine["id"])[1]["curve"][1]["signal"]["source"] == "agent"
    assert shell("token", "create", "--tenant", "local", "--scope", "admin", "--origin", "user")[0] == 9


def test_an_agent_at_a_shell_vouches_for_nothing(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ReasoningBank.open(shell.bank, embedder="hash", namespace="n") as bank:
        foreign = bank.record(title="page", content="what a page said about the release", origin="tool:web").id
        ruling = bank.trust.approve(bank.record(title="p2", content="another page said so", origin="tool:b").id).id
        (tmp_path / "export.jsonl").write_text("\n".join(bank.export_lines()), "utf-8")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert shell("trust", "approve", foreign)[0] == 0
    assert shell("get", foreign)[1]["trust"] == "untrusted"
    assert shell("trust", "reject", foreign)[0] == 9
    assert shell("trust", "revoke", "tool:web")[0] == 9
    assert shell("trust", "undo", ruling)[0] == 9
    assert shell("import", str(tmp_path / "export.jsonl"), "--restore")[0] == 9
    monkeypatch.delenv("CLAUDECODE")
    assert shell("trust", "approve", foreign)[0] == 0
    assert shell("get", foreign)[1]["trust"] == "trusted"


def test_no_mark_of_an_agent_is_set_where_the_tests_run() -> None:
    assert [name for name in AGENT_MARKS if os.environ.get(name)] == []
