"""Who may come in with a token, and what it lets them do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import apsw
import pytest

from reasoningbank.cli.main import main
from reasoningbank.core.errors import InvalidInput, NotFound, Unauthenticated
from reasoningbank_server import tokens
from reasoningbank_server.limits import Limits
from tests.server.conftest import Api, served
from tests.server.test_workers import until


@pytest.fixture
def closed(bank) -> Iterator[Api]:
    """A server that wants a token from everybody."""
    with served(bank, require_token=True) as running:
        yield running


def test_without_a_token_a_closed_server_tells_nothing_but_its_health(closed):
    for path in ("/v1/status", "/v1/memories", "/metrics", "/v1/nothing", "/v1/export", "/v1/changes/stream"):
        answer = closed("GET", path)
        assert (answer.status, answer.code) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == 'Bearer realm="reasoningbank"'
    assert (
        closed("GET", "/healthz").status
        == closed("GET", "/readyz").status
        == closed("GET", "/openapi.json").status
        == 200
    )


def test_each_scope_includes_those_before_it(closed, token_for):
    reader, writer, admin = (closed.as_(token_for("acme", scope)) for scope in ("read", "write", "admin"))
    assert reader("POST", "/v1/memories", {"title": "t", "content": "c"}).status == 403
    made = writer.record("t", "quite special words")
    assert reader.search("quite special words")["memories"][0]["id"] == made["id"]
    path = f"/v1/memories/{made['id']}"
    refused = writer("DELETE", f"{path}?erase=true")
    assert (refused.status, refused.code) == (403, "forbidden")
    assert writer("DELETE", path).status == 200
    assert admin("DELETE", f"{path}?erase=true").status == 204


def test_a_refusal_names_the_scope_that_is_needed(closed, token_for):
    answer = closed.as_(token_for("acme", "read"))("POST", "/v1/memories", {"title": "t", "content": "c"})
    assert (
        answer.headers["www-authenticate"] == 'Bearer realm="reasoningbank", error="insufficient_scope", scope="write"'
    )


def test_what_concerns_every_tenant_is_for_the_operator_alone(closed, token_for):
    admin, operator = closed.as_(token_for("acme", "admin")), closed.as_(token_for("local", "admin"))
    for method, path, body in (
        ("GET", "/metrics", None),
        ("POST", "/v1/verify", None),
        ("GET", "/v1/backup", None),
        ("POST", "/v1/reindex", {}),
    ):
        assert admin(method, path, body).status == 403
        assert operator(method, path, body).status == 200


@pytest.mark.parametrize(
    "authorization",
    ["Bearer", "Bearer ", "Bearer  x", "Basic dXNlcjpwYXNz", "rbk_x", "Bearer rbk_", "Bearer rbk_aaaaaaaaaaaaaaaa_" + "A" * 43,
     "Bearer rbk_" + "a" * 5000, "Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer null", "Token x", "bearer\tx", "Bearer 日本"],
)  # fmt: skip
def test_bad_credentials_are_refused_also_where_none_are_needed(shared, authorization):
    answer = shared("GET", "/v1/status", authorization=authorization.encode("utf-8").decode("latin-1"))
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_an_altered_secret_is_refused(closed, token_for):
    token = token_for("acme")
    assert closed.as_(token)("GET", "/v1/status").status == 200
    for wrong in (
        token[:-1],
        token + "A",
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        token.upper(),
        token.replace("rbk_", "rbk_a"),
    ):
        assert closed.as_(wrong)("GET", "/v1/status").status == 401


def test_a_revoked_token_is_refused_at_once(closed, bank, token_for):
    token = token_for("acme")
    client = closed.as_(token)
    assert client("GET", "/v1/status").status == 200
    tokens.revoke(bank.context.store, token.split("_")[1], 0.0)
    assert client("GET", "/v1/status").status == 401


def test_an_expired_token_is_refused(closed, bank, token_for):
    late = token_for("acme", now=bank.context.clock() - 7200.0)
    assert closed.as_(late)("GET", "/v1/status").status == 401


def test_every_bad_token_gets_the_same_answer(closed, bank, token_for):
    revoked, expired = token_for("acme"), token_for("acme", now=0.0)
    tokens.revoke(bank.context.store, revoked.split("_")[1], 0.0)
    unknown = "rbk_" + "a" * 16 + "_" + "A" * 43
    bodies = {closed.as_(one)("GET", "/v1/status").body for one in (revoked, expired, unknown, revoked[:-1] + "-")}
    assert len(bodies) == 1


def test_only_a_digest_is_kept(bank, path, token_for):
    secret = token_for("acme").split("_", 2)[2]
    bank.close()
    for file in path.parent.iterdir():
        if file.is_file():
            assert secret.encode() not in file.read_bytes()


def test_a_proxy_on_the_same_machine_does_not_make_everybody_its_user(shared):
    assert shared("GET", "/v1/status").status == 200
    for name, value in (("x_forwarded_for", "203.0.113.9"), ("forwarded", "for=203.0.113.9"), ("via", "1.1 proxy")):
        assert shared("GET", "/v1/status", **{name: value}).status == 401


def test_a_public_server_is_closed_whatever_it_is_bound_to(bank, token_for):
    with served(bank, public_url="https://bank.example.org") as api:
        assert api("GET", "/v1/status").status == 401
        client = api.as_(token_for("acme"))
        assert client("GET", "/v1/status", host="bank.example.org").status == 200
        assert client("GET", "/openapi.json").json["servers"] == [{"url": "https://bank.example.org"}]


def test_a_memory_counts_as_coming_from_an_agent_unless_its_token_is_the_users(closed, token_for):
    agent, user = closed.as_(token_for("acme")), closed.as_(token_for("acme", origin="user"))
    assert agent.record()["origin"] == "agent"
    assert user.record()["origin"] == "user"
    assert agent.record(origin="tool:web")["origin"] == "tool:web"
    refused = agent("POST", "/v1/memories", {"title": "t", "content": "c", "origin": "user"})
    assert (refused.status, refused.code) == (403, "forbidden")
    bulk = agent("POST", "/v1/memories/bulk", {"memories": [{"title": "t", "content": "c", "origin": "user"}]})
    assert bulk.status == 403
    lines = b'{"title": "claims", "content": "x", "origin": "user"}\n{"title": "says nothing", "content": "x"}\n'
    agent("POST", "/v1/import", lines, content_type="application/x-ndjson")
    listed = {one["title"]: one["origin"] for one in agent("GET", "/v1/memories").json["memories"]}
    assert (listed["claims"], listed["says nothing"]) == ("import:jsonl", "import:jsonl")


def test_evidence_is_charged_to_the_token_that_gave_it(closed, token_for):
    client = closed.as_(token_for("acme"))
    made = client.record()
    client("POST", f"/v1/memories/{made['id']}/feedback", {"helpful": True})
    curve = client("GET", f"/v1/memories/{made['id']}/history").json["curve"]
    assert curve[1]["signal"]["source"] == f"agent:{client.token.split('_')[1]}"


def test_a_principal_that_asks_too_much_is_told_to_wait_and_others_are_not(bank, token_for):
    # A permit an hour: none comes while this runs.
    limits, began = Limits(requests_per_s=1 / 3600, burst=5.0), time.monotonic()
    with served(bank, limits=limits) as api:
        greedy, modest = api.as_(token_for("acme")), api.as_(token_for("acme"))
        statuses = [greedy("GET", "/v1/status").status for _ in range(8)]
        assert statuses == [200] * 5 + [429] * 3
        refused = greedy("GET", "/v1/status")
        assert refused.code == "rate_limited"
        assert 3600 - (time.monotonic() - began) <= int(refused.headers["retry-after"]) <= 3600
        assert modest("GET", "/v1/status").status == 200
        assert [api("GET", "/v1/status").status for _ in range(20)] == [200] * 20, (
            "the machine's own user is not limited"
        )


def test_guessing_tokens_is_slowed_down(bank):
    with served(bank, limits=Limits(refusals_per_s=1.0)) as api:
        guess = api.as_("rbk_" + "a" * 16 + "_" + "A" * 43)
        assert guess("GET", "/v1/status").status == 401
        # As soon as two of them come within a second of the server's.
        until(lambda: guess("GET", "/v1/status").status == 429)
        assert api("GET", "/v1/status").status == 200


# ---------------------------------------------------------------- the command line


@pytest.fixture
def rb(path, capsys):
    def run(*words: str):
        capsys.readouterr()
        code = main(["--json", "--bank", str(path), "token", *words])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if captured.out.strip() else None

    return run


def test_tokens_are_made_listed_and_revoked_by_command(bank, rb):
    code, made = rb("create", "--tenant", "acme", "--scope", "write", "--expires", "30d", "--name", "ci")
    assert code == 0
    with served(bank, require_token=True) as api:
        client = api.as_(made["token"])
        assert client("GET", "/v1/status").json["tenant"] == "acme"
        listed = rb("list")[1]["tokens"]
        assert [(one["id"], one["name"], one["state"], one["scopes"]) for one in listed] == [
            (made["id"], "ci", "valid", ["write"])
        ]
        assert made["token"].split("_", 2)[2] not in json.dumps(listed)
        assert rb("revoke", made["id"])[1]["state"] == "revoked"
        assert client("GET", "/v1/status").status == 401
    assert rb("list", "--tenant", "other")[1] == {"tokens": []}


@pytest.mark.parametrize("expires", ["0d", "-1d", "30", "d", "1x", "999999y", "", "١d"])
def test_a_lifetime_must_make_sense(rb, expires):
    assert rb("create", "--tenant", "acme", "--scope", "read", f"--expires={expires}")[0] == 2


@pytest.mark.parametrize(
    "tenant", ["", " ", "*", "a b", "асme", "acme ", "a\nb", "-a", "a" * 129, "../x", "a\u200bb", "ａcme"]
)
def test_a_tenant_has_a_plain_name(rb, tenant, bank):
    assert rb("create", f"--tenant={tenant}", "--scope", "read")[0] == 2
    for wrong in (tenant, None, 5):
        with pytest.raises(InvalidInput):
            bank.for_tenant(wrong)


def test_revoking_what_is_not_there_says_so(bank, rb):
    code, told = rb("revoke", "nothing")
    assert (code, told["error"]["type"]) == (3, "NotFound")
    with pytest.raises(NotFound):
        tokens.revoke(bank.context.store, "nothing", 0.0)


def test_a_token_never_expires_only_when_asked(bank, rb):
    assert rb("create", "--tenant", "a", "--scope", "read", "--expires", "never")[1]["expires_at"] is None
    assert rb("create", "--tenant", "a", "--scope", "read")[1]["expires_at"] is not None
    with pytest.raises(Unauthenticated):
        tokens.find_token(bank.context.store, "rbk_", 0.0)


ALTERATIONS = {
    "more scope": "scopes = 'admin'",
    "another tenant": "tenant = 'local'",
    "the user's voice": "origin = 'user'",
    "no end": "expires_at = NULL",
    "a later end": "expires_at = expires_at + 1e9",
    "another secret": "digest = zeroblob(32)",
    "no hash": "hash = NULL, scopes = 'admin'",
    "another hash": "hash = zeroblob(16)",
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_a_token_whose_row_was_altered_is_refused_and_verify_names_it(closed, bank, path, token_for, alteration):
    token, other = token_for("acme"), token_for("acme")
    assert closed.as_(token)("GET", "/v1/status").status == 200
    assert bank.verify() == []
    token_id = token.split("_")[1]
    raw = apsw.Connection(str(path))
    raw.set_busy_timeout(10_000)
    raw.execute(f"UPDATE tokens SET {ALTERATIONS[alteration]} WHERE id = ?", (token_id,))
    raw.close()
    refused = closed.as_(token)("GET", "/v1/status")
    assert (refused.status, refused.code) == (401, "unauthenticated")
    assert closed.as_(other)("GET", "/v1/status").status == 200
    assert [(damage.kind, damage.id) for damage in bank.verify()] == [("token", token_id)]
    tokens.revoke(bank.context.store, token_id, 0.0)
    assert bank.verify() == [], "a revocation writes the row anew"


def test_a_revocation_that_was_taken_back_by_hand_does_not_count(closed, bank, path, token_for):
    token = token_for("acme")
    tokens.revoke(bank.context.store, token.split("_")[1], bank.context.clock())
    raw = apsw.Connection(str(path))
    raw.set_busy_timeout(10_000)
    raw.execute("UPDATE tokens SET revoked_at = NULL")
    raw.close()
    assert closed.as_(token)("GET", "/v1/status").status == 401
