"""The bus over HTTP: the same verbs as in Python, for admins who speak for the user."""

from __future__ import annotations

import pytest

from reasoningbank_bus.service import running_node
from tests.bus.laptops import Laptop

pytest.importorskip("qh3")


def test_a_bank_gets_its_key_gives_and_takes_grants_and_asks_over_http(api, tmp_path):
    assert "token create --origin user" in api("POST", "/v1/bus/init", {}).json["detail"]
    api = api.as_user()
    assert api("GET", "/v1/bus").json["key"] is None
    assert api("GET", "/v1/bus/grants").status == 409
    key = api("POST", "/v1/bus/init", {}).json["key"]
    assert api("GET", "/v1/bus").json["key"] == key
    with Laptop(tmp_path / "ben.db") as ben:
        nothing = api("POST", "/v1/bus/grants", {"holder": ben.key, "caps": {"records": 0}})
        assert nothing.status == 400
        assert "gives nothing: leave the action `record` out" in nothing.json["detail"]
        made = api("POST", "/v1/bus/grants", {"holder": ben.key, "name": "ben", "caps": {"searches": 5}})
        assert made.status == 201
        ben.bus.accept(made.json["line"])
        line = ben.bus.grant(key).line
        assert api("POST", "/v1/bus/accept", {"line": line[:-9]}).status == 400
        assert api("POST", "/v1/bus/accept", {"line": line}).json["direction"] == "held"
        assert {grant["direction"] for grant in api("GET", "/v1/bus/grants").json["grants"]} == {"given", "held"}
        assert api("GET", "/v1/bus/spend").json["spend"][0]["caps"] == {"searches": 5}
        assert api("PATCH", "/v1/bus/policy", {"namespaces": ["n"]}).json["namespaces"] == ["n"]
        ben.learn("at ben's")
        with running_node(ben.bus, "127.0.0.1:0") as running:
            named = api("POST", "/v1/bus/peers", {"peer": "ben", "address": running.listen, "trust": "working"})
            assert named.json["peers"][0]["trust"] == "working"
            asked = {"peer": "ben", "query": "at ben's it is", "namespace": "n"}
            assert [hit["origin"] for hit in api("POST", "/v1/bus/ask", asked).json["hits"]] == [ben.origin]
        away = api("POST", "/v1/bus/ask", asked)
        assert (away.status, away.code) == (424, "peer_unreachable")
        assert api("POST", "/v1/bus/roots", {"key": "ben"}).json["roots"][0]["name"] == "ben"
        gone = api("POST", "/v1/bus/revoke", {"target": "ben"}).json
        assert (len(gone["grants"]), gone["ruling"] is not None) == (1, True)
        assert api("GET", "/v1/bus/roots").json["roots"] == []


def test_only_an_admin_sees_it_and_only_the_user_decides(api, token_for):
    assert api.as_(token_for("local", "write", origin="user"))("GET", "/v1/bus").status == 403
    agent = api.as_(token_for("local", "admin"))
    assert agent("GET", "/v1/bus").status == 200
    assert agent("POST", "/v1/bus/init", {}).status == 403


def test_each_tenant_has_a_bus_of_its_own(api, token_for):
    one, other = (api.as_(token_for(name, "admin", origin="user")) for name in ("one", "other"))
    key = one("POST", "/v1/bus/init", {}).json["key"]
    assert other("GET", "/v1/bus").json["key"] is None
    assert other("POST", "/v1/bus/init", {}).json["key"] != key
