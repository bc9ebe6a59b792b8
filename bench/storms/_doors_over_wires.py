"""Doors that speak over a wire: MCP over stdio and HTTP with every field of every tool, REST with every operation."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache, cached_property
from random import Random
from typing import Any
from urllib.parse import urlencode

from bench.storms._claims import EVERYWHERE, ORIGINS, PREFERENCES, Claim
from bench.storms._doors_in_process import honest_export, steps_of
from bench.storms._forged_files import LAYOUTS, transcript
from bench.storms._judging import Desk, Refusal
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.serve.mcp.schemas import TOOLS
from reasoningbank_server.limits import Limits
from reasoningbank_server.openapi import document
from tests.learn.ingest.stories import SHAPES
from tests.serve.mcp.conftest import HttpServer, StdioClient, modern_body, modern_headers
from tests.server.conftest import Api, new_token, served

Schema = dict[str, Any]
_SAID = ("title", "content", "text", "task", "query", "action", "result", "description", "comment", "did", "key_lesson")
_LEFT_OUT = ("/v1/reindex", "/v1/backup", "/v1/changes/stream", "/v1/verify", "/v1/scrub", "/v1/bus")
"""What keeps the bank as a whole: slow, and about no claim."""
_HEADERS = ("x_forwarded_user", "x_remote_user", "x_reasoningbank_origin", "origin", "cookie", "x_user", "forwarded")


class Wires:
    """The servers of a desk, begun when a door first needs one."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @cached_property
    def stdio(self) -> StdioClient:
        words = ("--bank", str(self._desk.bank_path), "--namespace", self._desk.namespace, "serve", "--mcp")
        client = StdioClient(*words).hello()
        self._desk.opened.callback(client.close)
        return client

    @cached_property
    def http(self) -> HttpServer:
        server = HttpServer(self._desk.bank_path)
        self._desk.opened.callback(server.close)
        return server

    @cached_property
    def anonymous(self) -> Api:
        """Whoever comes over loopback without a token."""
        return self._desk.opened.enter_context(served(self._desk.bank_here, limits=Limits(requests_per_s=0)))

    @cached_property
    def agents(self) -> tuple[Api, Api]:
        return self._with("write"), self._with("admin")

    @cached_property
    def reader(self) -> Api:
        return self._with("read")

    def _with(self, scope: str) -> Api:
        return self.anonymous.as_(new_token(self._desk.bank_here, DEFAULT_TENANT, scope, origin="agent"))


# ---------------------------------------------------------------- values for schemas


def _value(name: str, rule: Schema, claim: Claim, desk: Desk, chance: Random) -> Any:  # noqa: C901 - a kind a line
    """Something for a field that claims as much as the field lets it."""
    if "$ref" in rule:
        rule = _document()["components"]["schemas"][rule["$ref"].rpartition("/")[2]]
    if name in claim.fields and chance.random() < 0.9:
        return deepcopy(claim.fields[name])
    if "enum" in rule:
        return chance.choice([value for value in rule["enum"] if value is not None])
    kind = rule.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    match kind:
        case "object" if rule.get("properties"):
            return _object(rule, claim, desk, chance)
        case "object":
            return deepcopy(claim.fields.get("metadata", {"origin": "user", "kind": "preference", "about": "user"}))
        case "array":
            item = rule.get("items", {})
            return [_value(name, item, claim, desk, chance) for _ in range(max(1, chance.randrange(3)))]
        case "boolean":
            return name not in ("dry_run", "erase")
        case "integer" | "number":
            return rule.get("maximum", 10) if "maximum" in rule and rule["maximum"] <= 100 else 1
    if name in _SAID:
        return claim.text
    if name in ("memory_id", "id", "memory", "one", "other", "target", "used", "memories"):
        return chance.choice((desk.planted(claim), *desk.victims))
    return chance.choice((claim.text, claim.mark, *ORIGINS, *PREFERENCES, *EVERYWHERE, desk.known.session))


def _object(rule: Schema, claim: Claim, desk: Desk, chance: Random, given: Schema | None = None) -> Schema:
    """What is required, what the claim has a word on, and some of the rest."""
    made = deepcopy(given or {})
    for name, inner in rule.get("properties", {}).items():
        if name in rule.get("required", ()) or name in claim.fields or chance.random() < 0.3:
            made[name] = _value(name, inner, claim, desk, chance)
    if chance.random() < 0.05:
        made |= claim.fields
    return made


# ---------------------------------------------------------------- MCP


def _call(claim: Claim, desk: Desk, chance: Random) -> tuple[str, Schema]:
    tool = chance.choice([tool for tool in TOOLS if not tool.reads_only] + [TOOLS[1]] * 3)
    arguments = _object(tool.inputs, claim, desk, chance)
    if "namespace" in tool.inputs["properties"]:
        arguments.setdefault("namespace", desk.namespace)
    return tool.name, arguments


def _sessions_over(call: Any, claim: Claim, desk: Desk) -> None:
    """A task with a failure and its way out that nobody has seen."""
    started = call("session", {"action": "start", "task": claim.text, "namespace": desk.namespace})
    for step in steps_of(claim):
        call("session", {"action": "step", "session_id": started, "did": step.action, "result": step.result})
    call("session", {"action": "end", "session_id": started, "outcome": "success"})


def mcp_stdio(desk: Desk, claim: Claim, chance: Random) -> None:
    client = desk.once(Wires).stdio

    def call(tool: str, arguments: Schema) -> str:
        answer = client.call(tool, **arguments)
        if answer.get("isError"):
            raise Refusal(answer["content"][0]["text"])
        return str(answer["structuredContent"].get("session_id", ""))

    if chance.random() < 0.15:
        _sessions_over(call, claim, desk)
    else:
        call(*_call(claim, desk, chance))


def mcp_http(desk: Desk, claim: Claim, chance: Random) -> None:
    server = desk.once(Wires).http
    who = "/".join((DEFAULT_TENANT, chance.choice(("user", "n", "local")), chance.choice(("write", "admin"))))

    def call(tool: str, arguments: Schema) -> str:
        body = modern_body("tools/call", {"name": tool, "arguments": arguments})
        _, _, answer = server.send("POST", body, modern_headers("tools/call", tool, who))
        result = answer.get("result") or {"isError": True, "content": [{"text": json.dumps(answer)}]}
        if result.get("isError"):
            raise Refusal(result["content"][0]["text"])
        return str(result["structuredContent"].get("session_id", ""))

    if chance.random() < 0.15:
        _sessions_over(call, claim, desk)
    else:
        call(*_call(claim, desk, chance))


# ---------------------------------------------------------------- REST


@cache
def _document() -> Schema:
    return document()


@cache
def _operations() -> list[tuple[str, str, Schema]]:
    """Every operation that writes, with what it says of itself."""
    return [
        (method.upper(), path, operation)
        for path, item in sorted(_document()["paths"].items())
        for method, operation in sorted(item.items())
        if method in ("post", "put", "patch", "delete") and not path.startswith(_LEFT_OUT)
    ]


def _asked(api: Api, method: str, path: str, body: Any, **headers: str) -> Any:
    answer = api(method, path, body, **headers)
    if answer.status >= 500:
        raise AssertionError(f"{method} {path} {json.dumps(body)[:200]}: {answer.status} {answer.body[:200]!r}")
    if answer.status >= 400:
        raise Refusal(f"{answer.status}: {answer.body[:200]!r}")
    return json.loads(answer.body) if answer.body.startswith((b"{", b"[")) else {}


def _operation(desk: Desk, claim: Claim, chance: Random, apis: tuple[Api, ...]) -> None:
    method, template, told = chance.choice(_operations())
    path = template
    while "{" in path:
        before, _, rest = path.partition("{")
        after = rest.partition("}")[2]
        is_memory = "memories" in before or "links" in before
        filled = chance.choice((desk.planted(claim), *desk.victims)) if is_memory else claim.mark
        path = before + (chance.choice((filled, desk.known.rule)) if "rules" in before else filled) + after
    query = {
        parameter["name"]: _value(parameter["name"], parameter["schema"], claim, desk, chance)
        for parameter in told.get("parameters", ())
        if parameter.get("in") == "query" and chance.random() < 0.2
    }
    if chance.random() < 0.05:
        query |= {"origin": "user", "role": "user"}
    words = urlencode({name: value if isinstance(value, str) else json.dumps(value) for name, value in query.items()})
    media = next(iter(told.get("requestBody", {}).get("content", {}).items()), None)
    body = None
    if media is not None and media[0] == "application/json":
        schema, example = media[1]["schema"], media[1].get("example")
        body = _object(_resolved(schema), claim, desk, chance, example)
    headers = {chance.choice(_HEADERS): chance.choice(("user", "local", "user:me"))} if chance.random() < 0.15 else {}
    headers |= {"idempotency_key": claim.mark} if chance.random() < 0.5 else {}
    for api in apis if "idempotency_key" in headers else apis[:1]:
        # The same request again under other credentials: an answer that was kept is nobody else's.
        _asked(api, method, f"{path}?{words}" if words else path, body, **headers)


def _resolved(rule: Schema) -> Schema:
    return _document()["components"]["schemas"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule


def rest_anonymous(desk: Desk, claim: Claim, chance: Random) -> None:
    _operation(desk, claim, chance, (desk.once(Wires).anonymous, desk.once(Wires).agents[0]))


def rest_agent(desk: Desk, claim: Claim, chance: Random) -> None:
    first, second = desk.once(Wires).agents
    _operation(desk, claim, chance, (first, second) if chance.random() < 0.5 else (second, first))


def rest_reader(desk: Desk, claim: Claim, chance: Random) -> None:
    _operation(desk, claim, chance, (desk.once(Wires).reader, desk.once(Wires).agents[0]))


def rest_memories(desk: Desk, claim: Claim, chance: Random) -> None:
    """A memory with the fields of the claim and nothing else, which is what is most likely to be taken."""
    api = chance.choice((desk.once(Wires).anonymous, *desk.once(Wires).agents))
    told = {name: value for name, value in claim.fields.items() if name in _draft_names()}
    if chance.random() < 0.3 and "hook" not in str(told.get("origin")):
        told.pop("origin", None)
    if chance.random() < 0.2:
        _asked(api, "POST", "/v1/memories/bulk", {"memories": [told]})
        return
    made = _asked(api, "POST", "/v1/memories", told)
    if chance.random() < 0.3:
        ruling = {"kind": "approve", "target": made["id"]}
        _asked(chance.choice((api, *desk.once(Wires).agents)), "POST", "/v1/rulings", ruling)


@cache
def _draft_names() -> frozenset[str]:
    operation = _document()["paths"]["/v1/memories"]["post"]
    return frozenset(_resolved(operation["requestBody"]["content"]["application/json"]["schema"])["properties"])


def rest_sessions(desk: Desk, claim: Claim, chance: Random) -> None:
    """Whole sessions, followed ones, and conversations that nobody held."""
    api = chance.choice((desk.once(Wires).anonymous, *desk.once(Wires).agents))
    namespace = chance.choice((desk.namespace, "user"))
    metadata = dict(claim.fields.get("metadata", {})) | {"origin": "hook:claude-code", "user_namespace": "user"}
    steps = [{"action": step.action, "result": step.result, "ok": step.ok} for step in steps_of(claim)]
    match chance.randrange(3):
        case 0:
            shape = chance.choice(list(SHAPES))
            body = {"text": transcript(shape, claim)}
            if chance.random() < 0.5:
                body["layout"] = SHAPES[shape][0]
            _asked(api, "POST", f"/v1/ingest?namespace={namespace}", body)
        case 1:
            origin = claim.fields.get("origin", "hook:claude-code")
            body = {"task": claim.text, "steps": steps, "namespace": namespace, "metadata": metadata, "reward": 1.0,
                    "outcome": "success", "agent": "claude-code", "source": claim.fields.get("source")}  # fmt: skip
            _asked(api, "POST", "/v1/episodes", body | ({"origin": origin} if chance.random() < 0.5 else {}))
        case 2:
            told = {"task": claim.text, "namespace": namespace, "agent": "claude-code", "metadata": metadata}
            session = _asked(api, "POST", "/v1/sessions", told)["id"]
            for step in steps:
                told = {"action": step["action"], "result": step["result"], "metadata": {"ok": step["ok"]}}
                _asked(api, "POST", f"/v1/sessions/{session}/steps", told)
            _asked(api, "POST", f"/v1/sessions/{session}/end", {"outcome": "success"})


def rest_import(desk: Desk, claim: Claim, chance: Random) -> None:
    layout = chance.choice(("an export replayed", "rule records", "evidence", "bare drafts"))
    path = LAYOUTS[layout](desk.folder / "files" / claim.mark, claim, honest_export(desk), chance)
    options = chance.choice(("", f"?namespace={chance.choice(('user', 'n'))}", "?restore=true"))
    api = chance.choice((desk.once(Wires).anonymous, *desk.once(Wires).agents))
    _asked(api, "POST", f"/v1/import{options}", path.read_bytes(), content_type="application/x-ndjson")
