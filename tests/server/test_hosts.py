"""Which Host and Origin are answered: DNS rebinding and requests from other sites."""

from __future__ import annotations

import pytest

from reasoningbank.core.errors import InvalidInput
from reasoningbank.serve.allowed_hosts import hosts_of_server
from reasoningbank_server.admission import check_hosts
from reasoningbank_server.problems import Problem

P = 8710
OURS = [
    "127.0.0.1:8710", "localhost:8710", "LOCALHOST:8710", "[::1]:8710", "Localhost:8710",
]  # fmt: skip
OTHERS = [
    "evil.com", "evil.com:8710", "localhost.evil.com:8710", "localhost.evil:8710", "evil-localhost:8710",
    "127.0.0.1.nip.io:8710", "127.0.0.1.evil.com:8710", "127.0.0.1", "localhost", "[::1]", "127.0.0.1:80",
    "127.0.0.1:87100", "127.0.0.1:8711", "localhost:*", "127.0.0.1:*", "*", "*:8710", "localhost.:8710",
    "127.0.0.1.:8710", "0.0.0.0:8710", "127.1:8710", "2130706433:8710", "0x7f.1:8710", "127.0.0.2:8710",
    "[::ffff:127.0.0.1]:8710", "[::]:8710", "::1:8710", "[::1]:8710:8710", "user@localhost:8710", "localhost:8710@evil.com",
    "localhost:8710#", "localhost:8710/", "localhost :8710", " localhost:8710", "localhost:8710 ", "localhost%00:8710",
    "localhost:08710", "localhost:+8710", "ⅼocalhost:8710", "localhost\t:8710", "", ":8710", "null",
]  # fmt: skip
OWN_ORIGINS = ["http://127.0.0.1:8710", "http://localhost:8710", "http://[::1]:8710", "HTTP://LOCALHOST:8710"]
OTHER_ORIGINS = [
    "null", "http://evil.com", "http://localhost", "http://localhost:8711", "https://localhost:8710", "http://localhost.evil:8710",
    "http://localhost:8710.evil.com", "http://localhost:8710@evil.com", "http://127.0.0.1.nip.io:8710", "file://", "", "*",
    "http://localhost:*", "http://localhost:8710/", "http://localhost.:8710", "chrome-extension://abc", "http://0.0.0.0:8710",
    "http://127.0.0.1:8710 http://evil.com", "http://evil.com, http://127.0.0.1:8710", "ws://localhost:8710", "javascript:alert(1)",
]  # fmt: skip


def outcome(hosts, origins=(), fetch=(None, None), **plate) -> int:
    given = {"host": "127.0.0.1", "port": P, **plate}
    encode = lambda values: [value.encode("utf-8") for value in values]  # noqa: E731
    try:
        allowed = hosts_of_server(given.pop("host"), given.pop("port"), **given)
        check_hosts(allowed, encode(hosts), encode(origins), fetch)
    except Problem as problem:
        return problem.status
    return 200


@pytest.mark.parametrize("host", OURS)
@pytest.mark.parametrize("origin", OWN_ORIGINS)
def test_our_own_names_are_answered(host, origin):
    assert outcome([host]) == outcome([host], [origin]) == 200


@pytest.mark.parametrize("host", OTHERS)
def test_another_name_for_this_machine_is_refused(host):
    assert outcome([host]) == 421


@pytest.mark.parametrize("origin", OTHER_ORIGINS)
def test_another_site_is_refused(origin):
    assert outcome(["127.0.0.1:8710"], [origin]) == 403


def test_a_request_names_exactly_one_host_and_one_origin():
    assert outcome([]) == outcome(["127.0.0.1:8710", "evil.com"]) == outcome(["127.0.0.1:8710"] * 2) == 400
    assert outcome(["127.0.0.1:8710"], ["http://127.0.0.1:8710", "http://evil.com"]) == 403


def test_what_a_browser_says_of_a_foreign_page_counts():
    assert (
        outcome([OURS[0]], fetch=(b"cross-site", b"no-cors"))
        == outcome([OURS[0]], fetch=(b"same-site", b"cors"))
        == 403
    )
    assert outcome([OURS[0]], fetch=(b"cross-site", b"navigate")) == 200, (
        "following a link is not a request of the page"
    )
    assert outcome([OURS[0]], fetch=(b"same-origin", b"cors")) == 200


def test_a_default_port_may_be_left_out_and_no_other():
    assert outcome(["localhost"], port=80) == outcome(["localhost:80"], port=80) == 200
    assert outcome(["localhost"], port=443) == 421
    assert outcome(["localhost"], port=443, tls=True) == 200


def test_behind_a_proxy_the_public_name_counts():
    plate = {"public_url": "https://bank.example.org"}
    assert outcome(["bank.example.org"], ["https://bank.example.org"], **plate) == 200
    assert outcome(["BANK.example.org"], **plate) == 200
    assert outcome(["bank.example.org"], ["http://bank.example.org"], **plate) == 403
    assert outcome(["bank.example.org.evil.com"], **plate) == outcome(["example.org"], **plate) == 421
    for wrong in ("bank.example.org", "ftp://x", "https://", "https://u:p@x", "https://x?y"):
        with pytest.raises(InvalidInput):
            hosts_of_server("0.0.0.0", P, wrong)


def test_a_server_on_one_address_answers_to_it_and_one_on_all_addresses_to_none_by_itself():
    assert outcome(["192.168.1.5:8710"], host="192.168.1.5") == 200
    assert outcome(["192.168.1.5:8710"], host="0.0.0.0") == 421
    assert outcome(["0.0.0.0:8710"], host="0.0.0.0") == 421
    assert outcome(["[fe80::1]:8710"], host="fe80::1") == 200


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [("127.0.0.1:{port}", None, 200), ("evil.com", None, 421), ("127.0.0.1.nip.io:{port}", None, 421),
     ("127.0.0.1:{port}", "http://evil.com", 403), ("127.0.0.1:{port}", "null", 403), ("localhost:{port}", "http://localhost:{port}", 200)],
)  # fmt: skip
def test_the_server_itself_checks_them(shared, host, origin, status):
    headers = {"host": host.format(port=shared.port)}
    if origin is not None:
        headers["origin"] = origin.format(port=shared.port)
    for path in ("/v1/status", "/healthz"):
        answer = shared("GET", path, **headers)
        assert answer.status == status
        assert "access-control-allow-origin" not in answer.headers


def test_a_preflight_is_not_answered(shared):
    answer = shared("OPTIONS", "/v1/search", access_control_request_method="POST")
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]
