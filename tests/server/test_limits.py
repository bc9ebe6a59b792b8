"""Too much, too large, too slow: each has its bound, and the others are served meanwhile."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from reasoningbank.core.types import Memory
from reasoningbank_server.limits import Buckets, Limits
from tests.server.conftest import served

SMALL = Limits(body_bytes=10_000, import_bytes=20_000, header_bytes=4_000, drain_wait_s=0.3)
IMPATIENT = Limits(header_wait_s=0.3, body_wait_s=0.3)
"""Apart from the small one: on a busy machine its own clients may be slower than this."""


def test_a_body_over_the_limit_is_refused_before_and_while_it_comes(bank):
    with served(bank, limits=SMALL) as api:
        declared = api("POST", "/v1/memories", {"title": "t", "content": "c" * 20_000})
        assert (declared.status, declared.code) == (413, "too_large")
        head = f"POST /v1/memories HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        piece = b"1000\r\n" + b" " * 4096 + b"\r\n"
        assert api.raw(head.encode() + piece * 4).startswith(b"HTTP/1.1 413"), "and the rest is not waited for"
        lines = api("POST", "/v1/import", b"x" * 30_000, content_type="application/x-ndjson")
        assert lines.status == 413


def test_the_default_limit_is_four_mebibytes(shared):
    assert shared("POST", "/v1/memories", b" " * (4 * 1024 * 1024 + 1), content_type="application/json").status == 413
    assert shared("POST", "/v1/memories", {"title": "t", "content": "c" * 900_000}).status == 201


def test_a_head_that_never_ends_is_cut_off(bank):
    with served(bank, limits=IMPATIENT) as api:
        assert b" 408 " in api.raw(b"GET /v1/status HTTP/1.1\r\nhost: x\r\n")
        assert b" 408 " in api.raw(b""), "not even one that never begins is waited for"


def test_a_head_that_is_too_large_is_refused(bank):
    with served(bank, limits=SMALL) as api:
        many = "".join(f"x-{n}: {'y' * 100}\r\n" for n in range(100))
        for head in (
            f"GET /v1/status HTTP/1.1\r\n{many}\r\n",
            f"GET /{'a' * 8000} HTTP/1.1\r\n\r\n",
            f"GET / HTTP/1.1\r\nx: {'y' * 9000}\r\n\r\n",
        ):
            assert api.raw(head.encode()).startswith(b"HTTP/1.1 431")
        assert api("GET", "/v1/status").status == 200


def test_a_body_that_never_comes_is_cut_off(bank):
    with served(bank, limits=IMPATIENT) as api:
        head = f"POST /v1/memories HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 500\r\n\r\n"
        for sent in (
            head + "{",
            head.replace("/v1/memories", "/v1/import").replace("application/json", "application/x-ndjson") + "{",
        ):
            assert b" 408 " in api.raw(sent.encode())


def test_slow_clients_keep_nobody_else_waiting(bank):
    with served(bank, limits=Limits(header_wait_s=20.0)) as api:
        slow = [socket.create_connection(("127.0.0.1", api.port), timeout=300) for _ in range(50)]
        for sock in slow:
            sock.sendall(b"POST /v1/sea")
        try:
            assert api("GET", "/v1/status").status == 200
        finally:
            for sock in slow:
                sock.close()


def _connected(api, data: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", api.port), timeout=300)
    sock.sendall(data)
    return sock


def _closed(sock: socket.socket) -> bool:
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


STATES = {
    "says nothing": lambda port: b"",
    "has sent half a head": lambda port: b"POST /v1/search HTTP/1.1\r\nhost: x",
    "has sent half a body": lambda port: (
        f"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        "content-length: 500\r\n\r\n{"
    ).encode(),
    "was answered and stays": lambda port: f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode(),
}


@pytest.mark.parametrize("state", STATES)
def test_whoever_keeps_the_server_waiting_makes_room_for_whoever_comes(bank, state):
    with served(bank, limits=Limits(connections=20, header_wait_s=60.0, body_wait_s=60.0)) as api:
        idle = [_connected(api, STATES[state](api.port)) for _ in range(20)]
        try:
            assert [api("GET", "/v1/status").status for _ in range(30)] == [200] * 30
            assert _closed(idle[0]), "the one that has waited longest has gone"
        finally:
            for sock in idle:
                sock.close()


def test_whoever_is_being_served_is_not_closed_for_others(bank, stream):
    with served(bank, limits=Limits(connections=2)) as api:
        kept = [stream(api), stream(api)]
        answer = api.raw(b"")
        assert answer.startswith(b"HTTP/1.1 503")
        made = bank.record(title="t", content="c").id
        assert [one.event()["id"] for one in kept] == [made, made]


def test_an_empty_line_does_not_keep_a_connection_for_ever(bank):
    with served(bank, limits=IMPATIENT) as api, _connected(api, STATES["was answered and stays"](api.port)) as sock:
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
        sock.sendall(b"\r\n")
        assert _closed(sock)


def test_an_answer_that_nobody_reads_ends_with_its_connection(bank):
    """A page of memories is more than the system takes for a connection; whoever does not read it is let go."""
    big = "word " * 180_000
    with served(bank, limits=Limits(send_wait_s=0.3)) as api:
        for number in range(4):
            api.record(str(number), big)
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(300)
            sock.connect(("127.0.0.1", api.port))
            sock.sendall(f"GET /v1/memories HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\n\r\n".encode())
            # The one that asks is one of them.
            _await(lambda: "reasoningbank_requests_in_flight 2\n" in api("GET", "/metrics").body.decode())
            _await(lambda: "reasoningbank_requests_in_flight 1\n" in api("GET", "/metrics").body.decode())


def _await(condition) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_whoever_hangs_up_in_the_middle_of_a_body_writes_nothing(bank):
    with served(bank) as api:
        with socket.create_connection(("127.0.0.1", api.port), timeout=300) as sock:
            head = f"POST /v1/memories HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n"
            sock.sendall(head.encode() + b'{"title": "t", "content": "c"}')
        assert api("GET", "/v1/status").json["memories"] == {}
        assert api("GET", "/healthz").status == 200


def test_many_at_once_are_all_served_and_all_kept(bank):
    with served(bank) as api:
        answers = []

        def client(number: int) -> None:
            for turn in range(5):
                made = api.record(f"{number} {turn}", "shared words")
                found = api.search(f"{number} {turn}")
                answers.append((made["id"], found))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        ids = [made for made, _ in answers]
        assert len(set(ids)) == 100
        with bank.context.store.read("local") as reader:
            assert len(reader.get(Memory, ids)) == 100


def test_what_cannot_be_taken_any_more_is_told_to_come_back(bank):
    with served(bank, limits=Limits(waiting=0)) as api:
        answer = api("POST", "/v1/search", {"query": "x"})
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "1")


def test_a_bucket_fills_again_and_remembers_only_so_many_names():
    buckets = Buckets(per_s=2.0, burst=2.0, most_names=3)
    assert [buckets.wait_s("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert buckets.wait_s("a", 0.5) == 0.0
    assert buckets.wait_s("a", 0.5) > 0.0
    for name in "bcd":
        buckets.wait_s(name, 0.5)
    assert buckets.wait_s("a", 0.5) == 0.0, "forgotten: more names came since"
    assert Buckets(per_s=0.0, burst=0.0).wait_s("x", 0.0) == 0.0
