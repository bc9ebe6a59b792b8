"""Several servers on one PostgreSQL are one server: whatever one was told, the others know, and none waits for another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.serve.workers import Staffing
from reasoningbank_server import tokens
from tests.postgres_server import Server
from tests.server.conftest import Api, new_token, served
from tests.server.test_workers import end_session, until
from tests.socket_proxy import SocketProxy

NOBODY = Staffing(workers=0)
pytestmark = pytest.mark.usefixtures("looks_often")


def open_at(url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> ReasoningBank:
    """As a process on a machine of its own would, with its own folder for the index."""
    monkeypatch.setenv("REASONINGBANK_HOME", str(home))
    return ReasoningBank.open(url, embedder="hash", namespace="n", config="none")


@pytest.fixture(scope="module")
def two(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """Servers on two machines, for tests that do not get in each other's way."""
    with pytest.MonkeyPatch.context() as patch:
        url = postgres.url("many")
        one, other = (open_at(url, tmp_path_factory.mktemp("machine"), patch) for _ in range(2))
    with one, other, served(one, staffing=NOBODY) as first, served(other, staffing=NOBODY) as second:
        yield SimpleNamespace(one=first, other=second, token=new_token(one, "acme"))


@pytest.fixture
def proxy(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SocketProxy]:
    made = SocketProxy(tmp_path_factory.mktemp("p"), postgres.socket)
    yield made
    made.close()


def test_a_token_made_at_one_server_opens_the_other_and_revoked_at_one_closes_both(two) -> None:
    token = new_token(two.other.bank, "bolt")
    for api in (two.one, two.other):
        assert api.as_(token)("GET", "/v1/status").status == 200
    tokens.revoke(two.one.bank.context.store, token, 0.0)
    for api in (two.one, two.other):
        assert api.as_(token)("GET", "/v1/status").status == 401


def test_a_write_that_is_sent_to_both_servers_at_once_is_done_once(two) -> None:
    body, answers = {"title": "Deploy", "content": "make deploy"}, []

    def send(api: Api) -> None:
        answers.append(api.as_(two.token)("POST", "/v1/memories", body, idempotency_key="once"))

    threads = [threading.Thread(target=send, args=(api,)) for api in (two.one, two.other) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 7


def test_a_stream_of_one_server_tells_what_was_written_at_the_other_and_goes_on_there(two, stream) -> None:
    one, other = two.one.as_(two.token), two.other.as_(two.token)
    listening = stream(one)
    first = other.record("Written elsewhere")
    event = listening.event()
    assert event["id"] == first["id"]
    second = one.record("Written here")
    again = stream(other, last_event_id=event["cursor"])
    assert again.event()["id"] == second["id"]


def test_a_page_that_was_begun_at_one_server_goes_on_at_the_other(two) -> None:
    one, other = two.one.as_(two.token), two.other.as_(two.token)
    titles = {one.record(f"Page {number}", namespace="pages")["title"] for number in range(3)}
    found, cursor = [], ""
    for api in (one, other, one):
        answer = api("GET", f"/v1/memories?namespace=pages&limit=1{cursor}")
        found += [memory["title"] for memory in answer.json["memories"]]
        cursor = f"&cursor={answer.json['next']}"
    assert {*found} == titles
    assert len(found) == 3


def test_each_server_finds_what_the_other_was_told(two) -> None:
    one, other = two.one.as_(two.token), two.other.as_(two.token)
    for teller, asked in ((one, other), (other, one)):
        word = f"zanzibar{teller.port}"
        teller.record(f"About {word}", f"{word} is an island")
        assert asked.search(word, limit=1)["memories"][0]["title"] == f"About {word}"


def test_what_one_server_showed_is_credited_when_the_session_ends_at_the_other(two) -> None:
    one, other = two.one.as_(two.token), two.other.as_(two.token)
    shown = one.record("Mend the flaky login test", "Freeze the clock in the login test.")
    session = other("POST", "/v1/sessions", {"task": "mend the flaky login test"}).json["id"]
    found = one.search("mend the flaky login test", session=session)["memories"]
    assert shown["id"] in [memory["id"] for memory in found]
    ended = other("POST", f"/v1/sessions/{session}/end", {"outcome": "success"}).json
    assert shown["id"] in [signal["memory_id"] for signal in ended["signals"]]


def test_while_servers_are_upgraded_one_by_one_the_older_ones_read_and_send_writers_on(two, postgres) -> None:
    one = two.one.as_(two.token)
    kept = one.record("Before the upgrade")
    try:
        with postgres.raw() as newer:
            newer.execute("UPDATE many.bank SET version = version + 1")
        assert one("GET", f"/v1/memories/{kept['id']}").json["title"] == "Before the upgrade"
        refused = one("POST", "/v1/memories", {"title": "x", "content": "y"}, idempotency_key="upgrade")
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    finally:
        with postgres.raw() as newer:
            newer.execute("UPDATE many.bank SET version = version - 1")
    again = two.other.as_(two.token)("POST", "/v1/memories", {"title": "x", "content": "y"}, idempotency_key="upgrade")
    assert again.status == 201


def test_servers_share_jobs_and_each_is_done_once(postgres, tmp_path_factory, monkeypatch) -> None:
    url = postgres.url("sharing")
    one, other = (open_at(url, tmp_path_factory.mktemp("machine"), monkeypatch) for _ in range(2))
    with one, other:
        hands = Staffing(workers=1, batch=2)
        with served(one, staffing=hands) as first, served(other, staffing=hands) as second:
            sessions = [end_session((first, second)[number % 2], f"build {number}") for number in range(24)]
            until(lambda: one.jobs.tally() == {"done": 24})
            # A job is counted a moment after it is done.
            ended = until(lambda: (found := jobs_ended(first) + jobs_ended(second)) >= 24 and found)
        assert {job.job.subject for job in one.jobs.list(limit=100)} == {*sessions}
        assert ended == 24, "no attempt was made twice"


def jobs_ended(api: Api) -> int:
    lines = api("GET", "/metrics").body.decode().splitlines()
    return sum(int(line.split()[-1]) for line in lines if "jobs_total{" in line)


def test_a_bank_that_keeps_silent_holds_up_those_who_ask_it_and_nobody_else(
    postgres, proxy, tmp_path_factory, monkeypatch
) -> None:
    url = postgres.url("silent")
    through = url.replace(postgres.socket, str(proxy.folder))
    with (
        open_at(through, tmp_path_factory.mktemp("machine"), monkeypatch) as bank,
        served(bank, staffing=NOBODY) as api,
    ):
        token = new_token(bank, "acme")
        assert api.as_(token)("GET", "/v1/status").status == 200
        asked, answered = threading.Event(), threading.Event()
        go_on = threading.Event()

        def keep(piece: bytes) -> bytes:
            asked.set()
            assert go_on.wait(300)
            return piece

        def ask() -> None:
            api.as_(token)("GET", "/v1/status")
            answered.set()

        proxy.to_server = keep
        thread = threading.Thread(target=ask)
        thread.start()
        assert asked.wait(300)
        try:
            assert api("GET", "/healthz").status == 200
            assert not answered.is_set()
        finally:
            go_on.set()
            thread.join(300)
        assert answered.is_set()
