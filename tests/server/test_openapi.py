"""The OpenAPI document says what the server does: every path is in it, every example works, no input breaks a promise."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reasoningbank.serve.json_schema import find_problem
from reasoningbank.serve.workers import Staffing
from reasoningbank_server import openapi
from reasoningbank_server.problems import CODES
from reasoningbank_server.routes import ENDPOINTS
from tests.server.conftest import served

DOCUMENT = openapi.document()
ROUTES = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
NEEDS_A_PEER = {"/v1/bus/accept", "/v1/bus/ask"}
"""What another bank must have given or must answer: shown to work in tests/bus/routes/test_routes.py."""
STREAMS_AND_LONG_WORK = {"/v1/changes/stream", "/v1/backup", "/v1/reindex"}
"""A stream has no end, and the other two are the same bytes or much work every time."""
LEAKS = re.compile(r"Traceback|File \"|\.py\b|/tmp/|/home/|site-packages|bank\.db|apsw|SELECT ")


def test_every_route_is_in_the_document_and_nothing_else(shared):
    told = {(method.upper(), path) for path, operations in DOCUMENT["paths"].items() for method in operations}
    assert told == ROUTES | {("GET", path) for path in openapi.STREAMED_PATHS if path != "/v1/import"} | {
        ("POST", "/v1/import")
    }
    for method, path in told:
        answer = shared(
            method,
            path.replace("{id}", "nothing").replace("{key}", "nothing"),
            **({"last_event_id": "x"} if "stream" in path else {}),
        )
        assert answer.status != 405, path
        assert answer.status != 404 or "{" in path, path


def test_the_served_document_is_this_one(shared):
    served_one = shared("GET", "/openapi.json").json
    assert served_one["paths"] == DOCUMENT["paths"]
    assert served_one["openapi"] == "3.1.0"


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if one.body is not None], ids=lambda one: f"{one.method} {one.path}"
)
def test_every_example_is_valid(endpoint):
    assert endpoint.example is not None
    assert find_problem(endpoint.body, endpoint.example) is None


def test_every_example_works(bank):
    ended = bank.end_session(bank.start_session("t").id, "success")
    bank.record(title="two", content="y", origin="tool:web")
    with served(bank, staffing=Staffing(workers=0)) as open_to_all:
        api = open_to_all.as_user()
        api.record("two", "y", key="mem_2")
        ids = {
            "memories": api.record("one", "x", key="mem_1")["id"],
            "evidence": "mem_1",
            "sessions": api("POST", "/v1/sessions", {"task": "t"}).json["id"],
            "jobs": ended.job_id,
            "rules": bank.rules.add("Use tabs.").id,
        }
        for endpoint in ENDPOINTS:
            if endpoint.body is not None and endpoint.path not in NEEDS_A_PEER:
                path = endpoint.path.replace("{id}", ids.get(endpoint.group, "")).replace("{key}", "k")
                answer = api(endpoint.method, path, endpoint.example)
                assert answer.status == endpoint.status, (path, answer.body)


def test_names_in_the_document_are_unique_and_every_reference_leads_somewhere():
    names = [operation["operationId"] for operations in DOCUMENT["paths"].values() for operation in operations.values()]
    assert len(names) == len(set(names))
    components = DOCUMENT["components"]
    for kind, name in re.findall(r"#/components/(\w+)/(\w+)", str(DOCUMENT)):
        assert name in components[kind]


def test_every_code_is_documented_with_its_status():
    assert all(re.fullmatch(r"[45]\d\d: .+", text) for text in CODES.values())


# ---------------------------------------------------------------- Schemathesis, which makes its cases only when a test runs

every_operation = pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param(method, path, id=f"{method.upper()} {path}")
        for path, operations in DOCUMENT["paths"].items()
        for method in operations
        if path not in STREAMS_AND_LONG_WORK
    ],
)
FEW = settings(max_examples=2, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=400)


@pytest.fixture(scope="module")
def operation_of():
    import schemathesis

    @schemathesis.serializer("application/x-ndjson")
    def lines(ctx, value):
        return str(value).encode("utf-8", "replace")

    schema = schemathesis.openapi.from_dict(DOCUMENT)
    return lambda method, path: schema[path][method]


@pytest.fixture(scope="module")
def keeps_its_promises(shared):
    from schemathesis.checks import CHECKS

    shared.record("one", "x", key="mem_1")
    checks = CHECKS.get_by_names(["status_code_conformance", "content_type_conformance", "response_schema_conformance"])

    def check(case) -> None:
        response = case.call(base_url=f"http://127.0.0.1:{shared.port}", timeout=300)
        assert response.status_code < 500, response.text
        assert not LEAKS.search(response.text), response.text
        case.validate_response(response, checks=checks)

    return check


@every_operation
def test_no_input_breaks_a_promise(method, path, operation_of, keeps_its_promises):
    from schemathesis import GenerationMode

    operation = operation_of(method, path)
    FEW(given(case=st.one_of(operation.as_strategy(mode) for mode in GenerationMode))(keeps_its_promises))()


@pytest.mark.storm
@every_operation
def test_no_input_of_thousands_breaks_a_promise(method, path, operation_of, keeps_its_promises):
    from schemathesis.config import ProjectConfig
    from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test

    create_test(
        operation=operation_of(method, path),
        test_func=keeps_its_promises,
        config=HypothesisTestConfig(project=ProjectConfig(), modes=list(HypothesisTestMode), explicit_settings=MANY),
    )()


def test_the_document_is_served_by_a_closed_server_too(bank):
    with served(bank, require_token=True) as api:
        assert api("GET", "/openapi.json").status == 200
