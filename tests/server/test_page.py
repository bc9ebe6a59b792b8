"""The page's door: its files are public and inert, a link works once, a cookie is worth what its token is worth."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank_server import tokens
from reasoningbank_server.ui.assets import assets
from reasoningbank_server.ui.entrance import LINK_S, SESSION_S, Entrance
from tests.server.conftest import new_token, served

MOST_KB = 350


class Watch:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A server that wants a token, with the page."""
    path = tmp_path_factory.mktemp("page") / "bank.db"
    with (
        ReasoningBank.open(path, embedder="hash", namespace="n") as bank,
        served(bank, require_token=True, ui=True) as api,
    ):
        yield api


def entered(api, **what):
    answer = api("POST", "/ui/session", what)
    assert answer.status == 200, answer.body
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_a_server_without_the_page_has_none(api):
    assert api("GET", "/ui/").status == 404
    assert api("POST", "/ui/session", {"code": "x"}).status == 404


def test_every_address_of_the_page_is_its_index_and_lets_a_browser_run_nothing_else(closed):
    for path in ("/ui", "/ui/", "/ui/memory/mem_1", "/ui/search?q=a"):
        answer = closed("GET", path)
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert b"<script>" not in answer.body
        assert b" on" not in answer.body.replace(b" only", b"")
    assert closed("GET", "/").headers["location"] == "/ui/"


def test_the_files_are_named_by_their_contents_and_packed(closed):
    index = closed("GET", "/ui/").body.decode()
    place = index.partition('href="')[2].partition("icon.svg")[0]
    assert place.startswith("/ui/files/")
    assert "here" not in place
    script = closed("GET", f"{place}js/main.js", accept_encoding="gzip")
    assert script.headers["content-encoding"] == "gzip"
    assert "immutable" in script.headers["cache-control"]
    assert closed("GET", f"{place}../../../pyproject.toml").status == 404
    assert closed("GET", f"{place}js/nothing.js").status == 404
    assert closed("POST", "/ui/", {}).status == 405


def test_the_whole_page_is_small():
    packed = sum(len(asset.packed) for name, asset in assets().items() if not name.endswith(".txt"))
    assert packed < MOST_KB * 1024


def test_every_vendored_library_has_its_licence_beside_it():
    names = [name for name in assets() if name.startswith("vendor/")]
    assert {name.partition(".")[0] for name in names if name.endswith("LICENSE.txt")} == {
        f"vendor/{one}" for one in ("graphology-layout-forceatlas2", "htm", "preact", "uplot")
    }


def test_a_link_opens_once_and_in_time():
    watch = Watch()
    entrance = Entrance(port=1, clock=watch, secure=False)
    code = entrance.make_link_code()
    kept = entrance.redeem(code)
    assert kept is not None
    assert "HttpOnly" in kept
    assert "SameSite=Strict" in kept
    assert entrance.redeem(code) is None
    late = entrance.make_link_code()
    watch.now += LINK_S
    assert entrance.redeem(late) is None
    session = entrance.session(kept.partition(";")[0])
    assert session is not None
    watch.now += SESSION_S
    assert entrance.session(kept.partition(";")[0]) is None
    assert not entrance.stands(session)


def test_a_cookie_behind_https_is_for_https_only():
    assert "Secure" in Entrance(port=1, clock=Watch(), secure=True).begin(None)


def test_a_session_is_worth_what_its_token_is(closed):
    token = new_token(closed.bank, "acme", "read")
    cookie = entered(closed, token=token)
    me = closed("GET", "/v1/me", **cookie).json
    assert (me["tenant"], me["scopes"], me["operator"]) == ("acme", ["read"], False)
    refused = closed("POST", "/v1/memories", {"title": "t", "content": "c"}, **cookie)
    assert refused.code == "forbidden"
    tokens.revoke(closed.bank.context.store, token, closed.bank.context.clock())
    assert closed("GET", "/v1/me", **cookie).status == 401


def test_sessions_of_two_tenants_see_their_own(closed):
    acme = entered(closed, token=new_token(closed.bank, "acme"))
    umbrella = entered(closed, token=new_token(closed.bank, "umbrella"))
    mine = closed("POST", "/v1/memories", {"title": "Acme's own", "content": "c"}, **acme).json
    assert closed("GET", f"/v1/memories/{mine['id']}", **umbrella).status == 404
    assert closed("GET", f"/v1/memories/{mine['id']}/sessions", **umbrella).status == 404
    assert closed("GET", "/v1/graph?around=" + mine["id"], **umbrella).status == 404
    assert closed("GET", "/v1/trends", **umbrella).json["days"][-1]["learned"] == 0
    assert closed("GET", "/v1/trends", **acme).json["days"][-1]["learned"] == 1


def test_signing_out_ends_the_session_here_and_in_the_browser(closed):
    cookie = entered(closed, token=new_token(closed.bank, "acme"))
    gone = closed("DELETE", "/ui/session", **cookie)
    assert "Max-Age=0" in gone.headers["set-cookie"]
    assert closed("GET", "/v1/me", **cookie).status == 401


def test_a_cookie_does_not_help_a_page_of_another_site(closed):
    cookie = entered(closed, token=new_token(closed.bank, "acme", "admin"))
    for said in ({"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors"}):
        assert closed("POST", "/v1/sessions", {"task": "t"}, **cookie, **said).code == "origin_refused"
        assert closed("POST", "/ui/session", {"code": "x"}, **said).code == "origin_refused"


@pytest.mark.parametrize("what", [{}, {"code": ""}, {"token": "rbk_wrong"}, {"code": "wrong"}, {"other": "x"}, [1]])
def test_what_is_no_link_and_no_token_lets_nobody_in(closed, what):
    answer = closed("POST", "/ui/session", what)
    assert answer.status in (400, 401)
    assert "set-cookie" not in answer.headers


def test_credentials_in_the_header_count_before_any_cookie(closed):
    cookie = entered(closed, token=new_token(closed.bank, "acme"))
    other = closed.as_(new_token(closed.bank, "umbrella"))
    assert other("GET", "/v1/me", **cookie).json["tenant"] == "umbrella"


def test_without_a_wanted_token_nobody_needs_a_session_to_read(bank):
    with served(bank, ui=True) as api:
        me = api("GET", "/v1/me", cookie="reasoningbank_1=old; broken").json
        assert (me["tenant"], me["operator"], me["origin"]) == ("local", True, "agent")


def test_whoever_comes_without_credentials_is_an_agent_and_the_one_time_link_is_the_users(bank, tmp_path):
    mine = bank.record(title="mine", content="the user's own words")
    foreign = bank.record(title="page", content="what a page said", origin="tool:web")
    ruling = bank.trust.revoke("tool:other")
    with served(bank, ui=True) as api:
        assert (api.record("x", "y")["origin"], api.record("x", "z")["trust"]) == ("agent", "working")
        assert api("PATCH", f"/v1/memories/{mine.id}", {"content": "other words"}).status == 409
        assert api("DELETE", f"/v1/memories/{mine.id}?erase=true").status == 409
        decisions = [
            ("approve", foreign.id),
            ("reject", mine.id),
            ("revoke", "tool:web"),
            ("undo", ruling.id),
            ("believe", "peer:rb1-aaaa-aaaa-aaaa-aaaa"),
        ]
        for kind, target in decisions:
            refused = api("POST", "/v1/rulings", {"kind": kind, "target": target})
            assert (refused.status, refused.code) == (403, "forbidden")
            assert "`reasoningbank ui`" in refused.json["detail"]
            assert "token create --origin user" in refused.json["detail"]
        export, lines = api("GET", "/v1/export").body, {"content_type": "application/x-ndjson"}
        assert api("POST", "/v1/import?restore=true", export, **lines).code == "forbidden"
        # To keep a server running decides nothing about trust.
        assert api("GET", "/metrics").status == api("POST", "/v1/verify", {}).status == 200
        cookie = entered(api, code=api.entrance.make_link_code())
        assert api("GET", "/v1/me", **cookie).json["origin"] == "user"
        assert api("POST", "/v1/memories", {"title": "t", "content": "c"}, **cookie).json["trust"] == "trusted"
        for kind, target in decisions[:1] + decisions[3:4]:
            assert api("POST", "/v1/rulings", {"kind": kind, "target": target}, **cookie).status == 201
        assert api("POST", "/v1/import?restore=true", export, **cookie, **lines).status == 200
    assert str(bank.get(foreign.id).trust) == "trusted"
