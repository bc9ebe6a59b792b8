"""The server as a user starts and ends it: a process with a port, a bank file, signals."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Memory
from tests import forked
from tests.server.conftest import Api


@pytest.fixture
def start(path):
    """`start(*options)` runs `reasoningbank serve`; gives the process, its client and what it announced."""
    running = []

    def begin(*options: str, port: str = "0"):
        words = ("-m", "reasoningbank", "--json", "--bank", str(path), "--namespace", "n", "serve", "--port", port)
        process = forked.python(*words, *options, text=True, REASONINGBANK_EMBEDDER="hash")
        running.append(process)
        lines = []
        while "}\n" not in lines:
            line = process.stdout.readline()
            if not line:
                raise AssertionError(process.stderr.read())
            lines.append(line)
        told = json.loads("".join(lines))
        if "address" not in told:
            raise AssertionError(process.stderr.read())
        return process, Api(int(told["address"].rpartition(":")[2])), told

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_it_says_what_it_serves_and_ends_in_order(start):
    process, api, told = start()
    assert told["doors"]["REST"] == f"http://127.0.0.1:{api.port}/v1"
    assert told["open_to_local"] is True
    assert api.record()["namespace"] == "n"
    process.send_signal(signal.SIGTERM)
    _, talk = process.communicate(timeout=300)
    assert process.returncode == 0
    for word in (
        "REST",
        "OpenAPI",
        "embedder",
        "hash/ngram",
        "durability",
        "full",
        "distiller",
        "open to programs on this machine",
        "Ended",
    ):
        assert word in talk


def test_two_servers_on_one_bank_see_each_other(start):
    (_, one, _), (_, other, _) = start(), start()
    made = one.record("Wrap errors", "quite particular words")
    assert other.search("quite particular words")["memories"][0]["id"] == made["id"]


def test_a_taken_port_is_said_in_a_sentence(start):
    _, api, _ = start()
    with pytest.raises(AssertionError, match="Cannot listen on"):
        start(port=str(api.port))


def test_what_was_acknowledged_before_the_end_is_kept(start, path):
    """SIGTERM under load: every answer that was sent is true, and every request that was taken is answered."""
    process, api, _ = start()
    acknowledged, broken = [], []
    under_way = threading.Event()

    def client(number: int) -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", api.port, timeout=300)) as connection:
            hammer(connection, number)

    def hammer(connection: http.client.HTTPConnection, number: int) -> None:
        for turn in range(100_000):
            body = json.dumps({"title": f"{number} {turn}", "content": "x"})
            try:
                connection.request("POST", "/v1/memories", body, {"content-type": "application/json"})
                reply = connection.getresponse()
                text = reply.read()
            except (ConnectionError, http.client.HTTPException) as error:
                broken.append(error)
                return
            if reply.status != 201:
                broken.append(text)
                return
            acknowledged.append(json.loads(text)["id"])
            if len(acknowledged) > 200:
                under_way.set()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    assert under_way.wait(300)
    process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(300)
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert len(broken) == 16
    assert all(isinstance(one, (ConnectionError, http.client.RemoteDisconnected)) for one in broken), broken
    with ReasoningBank.open(path, namespace="n") as bank, bank.context.store.read("local") as reader:
        kept = reader.get(Memory, acknowledged)
    assert len(kept) == len(acknowledged) > 200


def test_a_killed_server_loses_nothing_that_it_acknowledged_and_its_keys_hold(start, path):
    process, api, _ = start()
    first = [
        api("POST", "/v1/memories", {"title": str(n), "content": "x"}, idempotency_key=str(n)).body for n in range(20)
    ]
    process.kill()
    process.communicate()
    _, api, _ = start()
    again = [
        api("POST", "/v1/memories", {"title": str(n), "content": "x"}, idempotency_key=str(n)).body for n in range(20)
    ]
    assert again == first


def test_beyond_this_machine_a_token_is_needed(start, path):
    _, api, told = start("--host", "0.0.0.0")
    assert told["open_to_local"] is False
    assert api("GET", "/v1/status").status == 401


def test_https_is_spoken_with_a_certificate(start, tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    (tmp_path / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *secret))
    _, api, told = start("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    assert told["address"].startswith("https://")
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    connection = http.client.HTTPSConnection("localhost", api.port, context=trust, timeout=300)
    connection.request("GET", "/v1/status")
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize(
    "options",
    [("--oauth-issuer", "https://x.org"), ("--tls-cert", "x"), ("--rate", "-1"), ("--public-url", "nonsense"), ("--host", "no.such.host.invalid"),
     ("--oauth-issuer", "https://x.org", "--oauth-keys", "/nowhere", "--public-url", "https://x.org"), ("--port", "99999999")],
)  # fmt: skip
def test_what_makes_no_sense_is_said_in_a_sentence(start, options):
    with pytest.raises(AssertionError) as raised:
        start(*options)
    assert "Traceback" not in str(raised.value)


def test_a_missing_extra_names_itself(path, monkeypatch, capsys):
    from reasoningbank.cli.main import main

    monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None)
    import reasoningbank_server.commands.serve as command

    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert main(["--bank", str(path), "serve"]) == 8
    assert "reasoningbank[serve]" in capsys.readouterr().err


def test_the_rest_address_that_it_prints_answers(start):
    process, api, _ = start()
    process.send_signal(signal.SIGTERM)
    _, talk = process.communicate(timeout=300)
    assert f"REST        http://127.0.0.1:{api.port}/v1/status and all else under /v1\n" in talk


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell how much memory is held")
def test_bodies_that_were_answered_are_not_kept_in_memory(start):
    """As many megabytes as were sent would stay if an answer, refused or not, held on to its request."""
    process, api, _ = start()

    def held_bytes() -> int:
        return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    body = b'{"title": "' + b"x" * 4_000_000 + b'"}'
    assert api("POST", "/v1/memories", body, content_type="application/json").status == 400
    before = held_bytes()
    for _ in range(30):
        assert api("POST", "/v1/memories", body, content_type="application/json").status == 400
    assert held_bytes() - before < 30 * len(body) / 2
