"""Access tokens of an issuer: which are believed, and what their claims mean."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank_server.limits import Limits
from reasoningbank_server.oauth import OAuthSettings, checked_settings
from tests.server.conftest import served

ISSUER, AUDIENCE = "https://issuer.example.org", "https://bank.example.org"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_PUBLIC = RSA_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def jwks(**keys):
    listed = []
    for kid, key in keys.items():
        algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
        listed.append({**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig"})
    return json.dumps({"keys": listed})


def claims(**changes):
    made = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "svc-1",
        "tenant": "acme",
        "scope": "read write",
        "exp": time.time() + 600,
        **changes,
    }
    return {name: value for name, value in made.items() if value is not None}


def signed(key=RSA_KEY, algorithm="RS256", kid="one", headers=None, **changes):
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers={"kid": kid, **(headers or {})})


def handmade(header, payload, signature=b""):
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=").decode()  # noqa: E731
    return ".".join((part(json.dumps(header).encode()), part(json.dumps(payload).encode()), part(signature)))


@pytest.fixture(scope="module")
def issuer_api(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oauth")
    keys = folder / "jwks.json"
    keys.write_text(jwks(one=RSA_KEY, two=EC_KEY))
    settings = OAuthSettings(issuer=ISSUER, audience=AUDIENCE, keys=str(keys))
    with (
        ReasoningBank.open(folder / "bank.db", embedder="hash", namespace="n") as bank,
        served(
            bank, public_url=AUDIENCE, oauth=settings, mounted={"/mcp": None}, limits=Limits(refusals_per_s=1e6)
        ) as api,
    ):
        yield api


def test_a_good_token_is_its_tenants(issuer_api):
    for token in (
        signed(),
        signed(EC_KEY, "ES256", "two"),
        signed(aud=["x", AUDIENCE]),
        signed(scope=None, scp=["reasoningbank:write"]),
    ):
        answer = issuer_api.as_(token)("GET", "/v1/status")
        assert (answer.status, answer.json["tenant"]) == (200, "acme")


def _swapped():
    header, payload = {"alg": "HS256", "typ": "JWT", "kid": "one"}, claims()
    unsigned = handmade(header, payload).rpartition(".")[0]
    signature = hmac.new(RSA_PUBLIC, unsigned.encode(), hashlib.sha256).digest()
    return handmade(header, payload, signature)


def _changed():
    head, _, signature = signed().split(".")
    payload = base64.urlsafe_b64encode(json.dumps(claims(tenant="other")).encode()).rstrip(b"=").decode()
    return f"{head}.{payload}.{signature}"


now = time.time
BAD = {
    "not signed at all": lambda: handmade({"alg": "none"}, claims()),
    "alg none in capitals": lambda: handmade({"alg": "NONE", "kid": "one"}, claims()),
    "the public key taken for a shared secret": _swapped,
    "signed by another key": lambda: signed(OTHER_KEY),
    "signed by another key with no name": lambda: jwt.encode(claims(), OTHER_KEY, algorithm="RS256"),
    "a key of another kind": lambda: signed(kid="two"),
    "an unknown key": lambda: signed(kid="three"),
    "an algorithm that the key is not for": lambda: signed(algorithm="PS256"),
    "for another audience": lambda: signed(aud="https://other.example.org"),
    "for no audience": lambda: signed(aud=None),
    "for an audience that begins alike": lambda: signed(aud=AUDIENCE + ".evil.com"),
    "of another issuer": lambda: signed(iss="https://evil.example.org"),
    "of no issuer": lambda: signed(iss=None),
    "expired": lambda: signed(exp=now() - 120),
    "without an end": lambda: signed(exp=None),
    "with an end that is a word": lambda: signed(exp="later"),
    "not valid yet": lambda: signed(nbf=now() + 600),
    "of no tenant": lambda: signed(tenant=None),
    "of every tenant": lambda: signed(tenant="*"),
    "of a tenant that only looks alike": lambda: signed(tenant="асme"),
    "of a list of tenants": lambda: signed(tenant=["acme"]),
    "of nobody": lambda: signed(sub=None),
    "with its payload changed": _changed,
    "with its signature cut": lambda: signed()[:-6],
    "with a critical extension": lambda: signed(headers={"crit": ["x"], "x": 1}),
    "with a key of its own": lambda: signed(OTHER_KEY, headers={"jwk": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER_KEY.public_key()))}),
    "with an address for its key": lambda: signed(OTHER_KEY, headers={"jku": "https://evil.example.org/jwks.json"}),
    "with a number for its scope": lambda: signed(scope=7),
    "issued in the future": lambda: signed(iat=now() + 600),
    "three dots": lambda: "...",
    "very long": lambda: signed(extra="x" * 20_000),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_is_not_believed(issuer_api, name):
    answer = issuer_api.as_(BAD[name]())("GET", "/v1/status")
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert f'resource_metadata="{AUDIENCE}/.well-known/oauth-protected-resource"' in answer.headers["www-authenticate"]
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_token_without_the_scope_is_forbidden_and_one_without_any_too(issuer_api):
    reader = issuer_api.as_(signed(scope="read openid"))
    answer = reader("POST", "/v1/memories", {"title": "t", "content": "c"})
    assert (answer.status, 'scope="write"' in answer.headers["www-authenticate"]) == (403, True)
    assert issuer_api.as_(signed(scope="openid"))("GET", "/v1/status").status == 403


def test_an_issuer_can_not_make_an_operator(issuer_api):
    mighty = issuer_api.as_(signed(tenant="local", scope="admin"))
    assert mighty("GET", "/metrics").status == 403
    assert mighty("GET", "/v1/backup").status == 403


@pytest.mark.parametrize(
    "tenant",
    ["local", "Local", "LOCAL", "lоcal", "ｌｏｃａｌ", "local ", " local", "local\n", "local\x00", "", "*", None, 7],
)
@pytest.mark.parametrize("path", ["/v1/status", "/v1/memories", "/v1/export"])
def test_an_issuer_cannot_name_the_tenant_of_this_machine(issuer_api, tenant, path):
    answer = issuer_api.as_(signed(tenant=tenant, scope="admin"))("GET", path)
    assert answer.status in (401, 403)
    if isinstance(tenant, str) and tenant.lower() == "local":
        assert (answer.status, "this machine's own" in answer.json["detail"]) == (403, True)


def test_a_token_in_the_address_is_refused(issuer_api):
    assert issuer_api("GET", f"/v1/status?access_token={signed()}").status == 401


def test_the_metadata_says_where_to_get_a_token(issuer_api):
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        told = issuer_api("GET", path).json
        assert (told["resource"], told["authorization_servers"]) == (AUDIENCE, [ISSUER])
        assert told["bearer_methods_supported"] == ["header"]


def test_without_an_issuer_there_is_no_metadata(shared):
    assert shared("GET", "/.well-known/oauth-protected-resource").status == 404


def test_keys_are_fetched_from_an_address_once_and_not_from_where_it_points(bank):
    asked = []

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("location", "/keys")
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(jwks(one=RSA_KEY).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Issuer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        for path, status in (("keys", 200), ("moved", 401)):
            asked.clear()
            settings = checked_settings(ISSUER, AUDIENCE, f"{address}/{path}", "tenant")
            with served(bank, oauth=settings) as api:
                assert [api.as_(signed())("GET", "/v1/status").status for _ in range(3)] == [status] * 3
                api.as_(signed(kid="unknown"))("GET", "/v1/status")
            assert asked == [f"/{path}"], "asked once, not by every request"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("issuer", "keys"),
    [
        ("http://x.org", "https://x.org/k"),
        ("https://x.org", "http://x.org/k"),
        ("https://x.org", "/nowhere"),
        ("https://x.org", "http://localhost.evil/k"),
        ("https://x.org", "file:///etc/passwd"),
    ],
)
def test_an_issuer_must_be_reached_safely(issuer, keys):
    with pytest.raises(InvalidInput):
        checked_settings(issuer, AUDIENCE, keys, "tenant")
