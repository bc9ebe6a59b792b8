"""A bank whose index is in Qdrant, while that is away, hangs, refuses, is emptied or spoilt: stores go on, a search goes
by words or says what is missing, and it comes to be what the embedded index is.
"""

from __future__ import annotations

import re
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bench.qdrant_edge_server import EdgeServer, Intercept
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankError, BankFull, BankReadOnly, BankUnavailable, InvalidInput
from reasoningbank.ports import Halves
from reasoningbank.recall import two_halves
from reasoningbank.wiring import index_or_words
from reasoningbank_qdrant import collection
from tests.conftest import Clock
from tests.contract.index_engines import IDENTITY, NAME, open_builds
from tests.contract.test_halves import a_memory, fill
from tests.server.test_workers import until

TEXTS = ("Retry with jitter", "Rotate certificates", "Keep migrations small", "Pin what you install")
QUESTIONS = ("retry jitter", "rotate the certificates", "small migrations", "install pinned versions")
KEY = "qd-key-1f8e0c"


def open_bank(path: Path, url: str) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n", index=url)


def record_all(bank: ReasoningBank, many: int = 1) -> None:
    for number in range(many):
        for text in TEXTS:
            bank.record(title=f"{text} {number}", content=f"{text} whenever {number} of them go wrong.")


def answers(bank: ReasoningBank) -> list[dict[str, float]]:
    return [{hit.title: hit.relevance for hit in bank.search(text, limit=100, floor=0.0)} for text in QUESTIONS]


def assert_alike(found: list[dict[str, float]], expected: list[dict[str, float]]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=3e-3)


@contextmanager
def intercepted(server: EdgeServer, intercept: Intercept) -> Iterator[None]:
    server.intercept = intercept
    try:
        yield
    finally:
        server.intercept = lambda *_: None


@pytest.fixture
def expected(tmp_path: Path) -> list[dict[str, float]]:
    """What a bank with the embedded index answers."""
    with ReasoningBank.open(tmp_path / "embedded.db", embedder="hash", namespace="n") as bank:
        record_all(bank)
        return answers(bank)


@pytest.fixture
def collections(qdrant: EdgeServer) -> Callable[[], list[str]]:
    """Those that this test has made."""
    before = set(qdrant.collections.names())
    return lambda: [name for name in qdrant.collections.names() if name not in before]


def test_a_server_that_is_away_keeps_no_store_waiting_and_is_caught_up_with_when_it_is_back(
    path: Path, tmp_path: Path, expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "qdrant"
    server = EdgeServer(folder)
    port, url = server.port, server.url
    with open_bank(path, url) as bank:
        bank.record(title="Begun", content="Before it went away.")
        assert [hit.title for hit in bank.search("begun")] == ["Begun"]
        bank.erase(bank.search("begun").memories[0].id)
        server.close()
        record_all(bank)
        found = [bank.search(text) for text in (*QUESTIONS, "begun")]
        assert [one.index_away for one in found] == [True] * len(found)
        assert [one.memories[0].title if one.memories else "" for one in found] == [f"{text} 0" for text in TEXTS] + [
            ""
        ]
        assert caplog.text.count("Connection refused") == 1
        server = EdgeServer(folder, port=port)
        try:
            assert bank.catch_up()
            assert_alike(answers(bank), expected)
        finally:
            server.close()


def test_a_call_that_hangs_ends_at_its_deadline_and_the_next_search_does_not_wait_for_it(
    path: Path, qdrant: EdgeServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, asked = threading.Event(), list[str]()

    def hang(_: str, url: str, *__: object) -> None:
        asked.append(url)
        over.wait(300.0)

    with open_bank(path, f"{qdrant.url}?timeout=1") as bank:
        record_all(bank)
        # The first search takes a second by this clock, and the next one comes in the same moment.
        clock = iter((0.0, 0.0, 1.0))
        with intercepted(qdrant, hang), monkeypatch.context() as patch:
            patch.setattr(index_or_words, "monotonic", lambda: next(clock, 1.0))
            assert bank.search(QUESTIONS[0]).index_away
            assert "within its deadline" in caplog.text
            waited_for = len(asked)
            assert bank.search(QUESTIONS[1]).index_away
            assert len(asked) == waited_for
        over.set()
        until(lambda: not bank.search(QUESTIONS[0]).index_away)
        assert bank.search(QUESTIONS[0]).memories


def test_a_key_is_asked_for_taken_from_the_environment_and_kept_and_shown_nowhere(
    path: Path, tmp_path: Path, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EdgeServer(tmp_path / "qdrant", key=KEY)
    try:
        monkeypatch.setenv("REASONINGBANK_INDEX_KEY", "another")
        with open_bank(path, server.url) as bank:
            record_all(bank)
            with pytest.raises(BankUnavailable, match="REASONINGBANK_INDEX_KEY") as refused:
                bank.search(QUESTIONS[0])
            assert "another" not in str(refused.value)
        monkeypatch.setenv("REASONINGBANK_INDEX_KEY", KEY)
        with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
            assert_alike(answers(bank), expected)
            assert KEY not in repr(bank.status())
        assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    finally:
        server.close()


def test_over_tls_a_trusted_certificate_is_taken_and_another_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    server = EdgeServer(tmp_path / "qdrant", tls=tls)
    try:
        with open_bank(path, server.url) as bank:
            record_all(bank)
            with pytest.raises(BankUnavailable, match="certificate verify failed"):
                bank.search(QUESTIONS[0])
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with open_bank(path, server.url) as bank:
            assert bank.search(QUESTIONS[0]).memories
    finally:
        server.close()


def make_certificate(folder: Path) -> Path:
    """A certificate for loopback with its key, signed by itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "loopback.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + made.public_bytes(Encoding.PEM))
    return file


@pytest.mark.parametrize(
    ("status", "said", "error", "words"),
    [
        (500, "Service internal error: oh", BankUnavailable, "500: Service internal error: oh"),
        (503, "", BankUnavailable, "503"),
        (500, "No space left on device", BankFull, "Make room"),
        (403, "Forbidden", BankReadOnly, "may only be read"),
        (413, "Payload too large", BankError, "413"),
    ],
)
def test_what_a_server_refuses_is_said_in_words_and_nothing_is_lost(
    request: pytest.FixtureRequest, tmp_path: Path, qdrant: EdgeServer, status: int, said: str, error: type, words: str
) -> None:
    halves = open_builds("qdrant", request, tmp_path).open(NAME, IDENTITY, "text")
    assert isinstance(halves, Halves)
    answer = status, {"status": {"error": said}, "time": 0.0}
    fill(halves, a_memory(1))
    refuse = lambda method, url, _: answer if method == "PUT" and "/points" in url else None  # noqa: E731
    with intercepted(qdrant, refuse), pytest.raises(error, match=re.escape(words)):
        fill(halves, a_memory(2))
    fill(halves, a_memory(2))
    assert halves.words.count() == 2


def test_a_request_that_is_cut_off_is_made_again(
    request: pytest.FixtureRequest, tmp_path: Path, qdrant: EdgeServer
) -> None:
    halves = open_builds("qdrant", request, tmp_path).open(NAME, IDENTITY, "text")
    assert isinstance(halves, Halves)
    fill(halves, a_memory(1))
    cut: list[str] = []

    def cut_off(method: str, url: str, _: object) -> None:
        if not cut:
            cut.append(f"{method} {url}")
            raise ConnectionAbortedError

    with intercepted(qdrant, cut_off):
        assert halves.words.count() == 1
    assert len(cut) == 1


# ---------------------------------------------------------------- not as it was left


def delete_it(server: EdgeServer, name: str) -> None:
    assert server.collections.drop(name)


def fill_it_with_other_dimensions(server: EdgeServer, name: str) -> None:
    delete_it(server, name)
    vectors = {"meaning": {"size": 3, "distance": "Cosine"}}
    assert server.collections.answer("PUT", f"/collections/{name}", {"vectors": vectors})[0] == 200
    points = [{"id": 1, "vector": {"meaning": [1.0, 2.0, 3.0]}, "payload": {"tenant": "local", "id": "mem_other"}}]
    assert server.collections.answer("PUT", f"/collections/{name}/points", {"points": points})[0] == 200


def wipe_it(server: EdgeServer, name: str) -> None:
    ids = [point["id"] for point in server.collections.scroll(name)]
    assert server.collections.answer("POST", f"/collections/{name}/points/delete", {"points": ids})[0] == 200


@pytest.mark.parametrize("spoil", [delete_it, fill_it_with_other_dimensions, wipe_it])
@pytest.mark.parametrize("while_open", [True, False], ids=["while open", "while closed"])
def test_what_somebody_spoils_is_built_anew_by_itself(
    path: Path,
    qdrant: EdgeServer,
    expected: Any,
    collections: Callable[[], list[str]],
    spoil: Callable[[EdgeServer, str], None],
    while_open: bool,
) -> None:
    with open_bank(path, qdrant.url) as bank:
        record_all(bank)
        assert_alike(answers(bank), expected)
        if while_open:
            spoil(qdrant, collections()[0])
            assert_alike(answers(bank), expected)
    if not while_open:
        spoil(qdrant, collections()[0])
        with open_bank(path, qdrant.url) as bank:
            assert_alike(answers(bank), expected)


@pytest.mark.parametrize("an_answer_takes_s", [0.0, 2.0])
def test_what_is_wiped_right_after_a_search_is_noticed_by_the_next(
    path: Path,
    qdrant: EdgeServer,
    expected: Any,
    collections: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    an_answer_takes_s: float,
) -> None:
    # However soon that comes: what was asked of the collection a moment ago counts for as long as this test takes.
    monkeypatch.setattr(collection, "REMEMBERED_S", 3_600.0)
    monkeypatch.setattr(two_halves, "time", SimpleNamespace(monotonic=clock))
    with open_bank(path, qdrant.url) as bank:
        record_all(bank)
        assert_alike(answers(bank), expected)
        wipe_it(qdrant, collections()[0])
        with intercepted(qdrant, lambda *_: clock.forward(seconds=an_answer_takes_s)):
            assert_alike(answers(bank), expected)


# ---------------------------------------------------------------- killed

FOLLOW = """
import sys
from reasoningbank import ReasoningBank
sys.stdin.readline()
with ReasoningBank.open(sys.argv[1]) as bank:
    bank.catch_up()
"""


@pytest.mark.parametrize("stroke", [pytest.param(2, marks=pytest.mark.storm), 4])
def test_a_follower_killed_half_way_is_caught_up_with_to_equal(
    path: Path,
    tmp_path: Path,
    qdrant: EdgeServer,
    child: Callable[..., subprocess.Popen[str]],
    stroke: int,
) -> None:
    with open_bank(path, qdrant.url) as bank:
        record_all(bank, 5)
    with ReasoningBank.open(tmp_path / "embedded.db", embedder="hash", namespace="n") as bank:
        record_all(bank, 5)
        expected = answers(bank)
    began = threading.Event()
    writes: list[str] = []
    process = child(FOLLOW, path)

    def kill(method: str, url: str, _: object) -> None:
        if "points" in url and "wait" in url:
            writes.append(url)
            if len(writes) == stroke:
                process.kill()
                process.wait()
                began.set()

    with intercepted(qdrant, kill):
        process.stdin.write("\n")
        process.stdin.flush()
        assert began.wait(300.0)
    with open_bank(path, qdrant.url) as bank:
        assert bank.catch_up()
        assert_alike(answers(bank), expected)


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    "url",
    [
        "qdrant://key@host",
        "qdrant://",
        "qdrants:///path",
        "qdrant://host:nine",
        "qdrant://host?ssl=1",
        "qdrant://h?grpc=0",
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_with_the_form_of_one(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidInput, match=r"qdrant://HOST:6333|REASONINGBANK_INDEX_KEY"):
        open_bank(tmp_path / "bank.db", url).search("anything")


def test_two_banks_on_one_server_know_nothing_of_each_other(path: Path, tmp_path: Path, qdrant: EdgeServer) -> None:
    with open_bank(path, qdrant.url) as bank, open_bank(tmp_path / "other.db", qdrant.url) as other:
        bank.record(title="Ours", content="Retry with jitter")
        other.record(title="Theirs", content="Retry with jitter")
        assert [hit.title for hit in bank.search("retry jitter")] == ["Ours"]
        assert [hit.title for hit in other.search("retry jitter")] == ["Theirs"]
        other.reindex()
        bank.erase(bank.search("retry jitter").memories[0].id)
        assert [hit.title for hit in other.search("retry jitter")] == ["Theirs"]
