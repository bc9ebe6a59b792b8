"""Health, readiness, metrics, traces, and other applications behind the same checks."""

from __future__ import annotations

import re

import pytest

from reasoningbank.config import locate
from reasoningbank.wiring.migrating import migrate_bank
from tests.server.conftest import served


def test_health_and_readiness_need_nobody(shared):
    assert shared("GET", "/healthz").json == {"status": "ok"}
    assert shared("GET", "/readyz").json == {"status": "ready", "distilling": True}
    assert shared("POST", "/healthz").status == 405


def test_metrics_count_routes_and_never_name_a_tenant_or_an_id(bank, token_for):
    with served(bank) as api:
        secretive = api.as_(token_for("secret-tenant"))
        made = secretive.record("secret-title", "x")
        secretive("GET", f"/v1/memories/{made['id']}")
        secretive("GET", "/v1/secret-path")
        assert secretive("GET", "/metrics").status == 403
        text = api("GET", "/metrics").body.decode()
    assert 'reasoningbank_requests_total{method="GET",route="/v1/memories/{id}",status="200"} 1' in text
    assert 'reasoningbank_refused_total{code="forbidden"} 1' in text
    assert "secret" not in text
    assert made["id"] not in text
    assert secretive.token.split("_")[1] not in text
    for line in text.splitlines():
        assert re.fullmatch(
            r"# (HELP|TYPE) .+|[a-z_]+(\{[^}]*(\{id\}[^}]*)?\})? [0-9.e+-]+", line.replace("/{id}", "")
        ), line
    bucket = re.search(r'request_seconds_bucket\{route="/v1/memories/\{id\}",le="\+Inf"\} (\d+)', text)[1]
    assert bucket == "1"


def test_an_application_mounted_beside_knows_who_asks_and_is_behind_the_same_checks(bank, token_for):
    seen = []

    async def inner(scope, receive, send):
        message = await receive() if scope["method"] == "POST" else {}
        seen.append((scope["state"]["principal"], message.get("body")))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"from inside"})

    with served(bank, mounted={"/mcp": inner}) as api:
        client = api.as_(token_for("acme", "read"))
        assert client("POST", "/mcp", b"{}").body == b"from inside"
        assert client("GET", "/mcp").status == client("DELETE", "/mcp/session").status == 200
        assert api("POST", "/mcp", b"{}").status == 200
        assert [(principal.tenant, sorted(principal.scopes), principal.origin) for principal, _ in seen] == [
            *[("acme", ["read"], "agent")] * 3,
            ("local", ["admin", "read", "write"], "agent"),
        ]
        assert [body for _, body in seen] == [b"{}", None, None, b"{}"]
        seen.clear()
        assert api("POST", "/mcp", b"{}", host="evil.com").status == 421
        assert api("POST", "/mcp", b"{}", origin="http://evil.com").status == 403
        assert api.as_("rbk_wrong")("POST", "/mcp", b"{}").status == 401
        assert api("POST", "/mcp", b"x" * (4 * 1024 * 1024 + 1)).status == 413
        assert seen == []


def test_a_span_is_made_for_each_request(bank):
    trace = pytest.importorskip("opentelemetry.trace")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    with served(bank, traces=True) as api:
        api.record("secret words", "x")
        api("GET", "/v1/nothing", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["POST /v1/memories", "GET unknown"]
    assert spans[0].attributes["http.response.status_code"] == 201
    assert format(spans[1].context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert "secret" not in str([span.to_json() for span in spans])


def test_a_server_whose_bank_was_moved_is_not_ready_and_tells_writers_where_it_went(bank, tmp_path):
    with served(bank) as api:
        assert api("GET", "/readyz").status == 200
        migrate_bank(locate(bank.context.store.info.location), locate(tmp_path / "moved.db"))
        ready = api("GET", "/readyz")
        assert (ready.status, ready.code) == (503, "read_only")
        assert "moved to another place" in ready.json["detail"]
        refused = api("POST", "/v1/memories", {"title": "t", "content": "c"})
        assert (refused.status, refused.code) == (503, "read_only")
        assert f"moved to {tmp_path / 'moved.db'}" in refused.json["detail"]
        assert api("GET", "/v1/memories").status == 200
