"""Every REST request that the Qdrant adapter makes is one of Qdrant's published OpenAPI document, by its schemas; and
so is what the server of these tests answers, so that it stands in for a Qdrant.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs
import pytest

from bench.qdrant_edge_server import EdgeServer
from reasoningbank.core.teams import TeamReach
from reasoningbank.core.types import Outcome, Scope, State
from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Filter, Halves, IndexBuilds, IndexPosition
from tests.contract.index_engines import IDENTITY, NAME, open_builds
from tests.contract.test_halves import a_memory, direction

DOCUMENT = json.loads(Path(__file__).with_name("qdrant_openapi.json").read_text())
EVERY_PART = Filter(
    tenant="t",
    namespace="n",
    team=TeamReach(namespaces=("n", "m"), inside=False),
    scopes=(Scope.PROJECT, Scope.TEAM),
    outcome=Outcome.SUCCESS,
    states=(State.ACTIVE, State.ARCHIVED),
    tags=("go", "rust"),
    without_tags=("old",),
    agent="coder",
    task_type="debug",
)


def operation_of(method: str, path: str) -> str:
    for name, request in DOCUMENT["requests"].items():
        pattern = re.sub(r"\{\w+\}", "[^/]+", request["path"])
        if request["method"] == method and re.fullmatch(pattern, path):
            return str(name)
    raise AssertionError(f"{method} {path} is no request of the document")


@cache
def validator(operation: str, part: str) -> Any:
    schema = DOCUMENT["requests"][operation][part] or {"type": "null"}
    return jsonschema_rs.Draft202012Validator({**schema, "$defs": DOCUMENT["$defs"]})


def check(operation: str, part: str, value: Any) -> None:
    validator(operation, part).validate(value)


class Recorder:
    """Checks requests and answers as they pass."""

    def __init__(self, server: EdgeServer) -> None:
        self._server, self.made, self.problems = server, set[str](), list[str]()

    def __call__(self, method: str, url: str, body: Any) -> Any:
        parts = urlsplit(url)
        name = operation_of(method, parts.path)
        query = {key: value == "true" if key == "wait" else value for key, value in parse_qsl(parts.query)}
        answer = self._server.collections.answer(method, url, body)
        try:
            check(name, "query", query)
            check(name, "body", body)
            if answer[0] == 200:
                check(name, "answer", answer[1])
        except jsonschema_rs.ValidationError as error:
            self.problems.append(f"{method} {url}: {error.message}")
        self.made.add(name)
        return answer


@pytest.fixture
def recorder(qdrant: EdgeServer) -> Any:
    made = Recorder(qdrant)
    qdrant.intercept = made
    yield made
    qdrant.intercept = lambda *_: None


def use_all(builds: IndexBuilds, halves: Halves) -> None:
    """Every verb of the two ports, and of the builds."""
    memories = [a_memory(1, tags=("go", "rust"), agent="coder", task_type="debug"), a_memory(2, tags=("old",))]
    assert not builds.is_there(NAME)
    halves.words.upsert(word_rows(memories))
    halves.vectors.upsert([(memory, direction(1)) for memory in memories])
    for half in (halves.words, halves.vectors):
        half.advance(IndexPosition(applied=7, mark=(1 << 64) - 1))
        assert half.position.mark == (1 << 64) - 1
    asked = dict.fromkeys(query_terms("shared words"), 1.5)
    for where in (Filter(tenant="t"), EVERY_PART, Filter(tenant="t", namespace="n")):
        halves.words.search([asked, {}], where, 5)
        halves.vectors.search(direction(1), where, 5)
        halves.words.counts([where])
    assert halves.words.frequencies("t", list(asked)).holding == [2, 2]
    assert halves.words.count() == 2
    halves.vectors.delete(["mem_00001", "mem_none"])
    assert list(halves.vectors.fetch(["mem_00001", "mem_00002"])) == ["mem_00002"]
    halves.words.delete(["mem_00001", "mem_none"])
    assert builds.info(NAME) is not None
    halves.vectors.clear()
    halves.words.clear()
    builds.remove(int(NAME.partition("-")[0]))
    assert not builds.remove_all()


def test_every_request_and_every_answer_is_one_of_the_published_document(
    recorder: Recorder, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    builds = open_builds("qdrant", request, tmp_path)
    opened = builds.open(NAME, IDENTITY, "text")
    assert isinstance(opened, Halves)
    use_all(builds, opened)
    assert recorder.problems == []
    assert recorder.made == set(DOCUMENT["requests"])


def test_a_call_of_the_port_is_one_request(qdrant: EdgeServer, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    opened = open_builds("qdrant", request, tmp_path).open(NAME, IDENTITY, "text")
    assert isinstance(opened, Halves)
    opened.words.upsert(word_rows([a_memory(1)]))
    opened.vectors.upsert([(a_memory(1), direction(1))])
    seen: list[str] = []
    qdrant.intercept = lambda method, url, _: seen.append(f"{method} {urlsplit(url).path.split('/', 3)[3]}")
    try:
        opened.vectors.search(direction(1), EVERY_PART, 5)
        opened.words.search([{1: 1.0}, {2: 1.0}, {}], EVERY_PART, 5)
        opened.vectors.fetch(["mem_00001"])
        assert seen == ["POST points/query", "POST points/query/batch", "POST points"]
        seen.clear()
        with opened.writing(1.0) as granted:
            assert granted
            opened.words.upsert(word_rows([a_memory(number) for number in range(100)]))
            opened.vectors.upsert([(a_memory(number), direction(number)) for number in range(100)])
            opened.vectors.delete(["mem_00001"])
            opened.words.delete(["mem_00001"])
            opened.words.advance(IndexPosition(applied=7))
            assert opened.words.position.applied == 7
    finally:
        qdrant.intercept = lambda *_: None
    # Where it has come to is asked once, when the right to write is got.
    assert seen == [
        "POST points",
        "PUT points",
        "PUT points/vectors",
        "POST points/vectors/delete",
        "POST points/delete",
        "POST points/payload",
    ]


@pytest.mark.parametrize("spoiled", [{"limit": "ten"}, {"vector": []}], ids=str)
def test_the_check_sees_what_is_not_in_the_document(spoiled: dict[str, Any]) -> None:
    body = {"query": [1.0], "using": "meaning", **spoiled}
    with pytest.raises(jsonschema_rs.ValidationError):
        check("query_points", "body", body)
