"""What is taken out of a text, and what is left alone."""

from __future__ import annotations

import json
import random
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank import ReasoningBank
from reasoningbank.guard.rules import RULES
from reasoningbank.guard.secrets import SHORTEST_SECRET, TOKEN_FORMATS, Scrubber, fingerprint
from reasoningbank_server import tokens

SCRUBBER = Scrubber()
PAT = "ghp_R4nd0mKq81LzXw55VbNcJtYh27PmDsGf9Eo3"


def scrubbed(text: str) -> str:
    return SCRUBBER.scrub(text).text


def test_a_secret_leaves_its_kind_behind():
    done = SCRUBBER.scrub(f"first {PAT}, then {PAT}")
    assert done.text == "first [SECRET:github-pat], then [SECRET:github-pat]"
    assert done.found == {"github-pat": 2}


def test_every_token_format_is_found_in_every_place(token_format, planted, maker):
    for place, put in planted.PLACES.items():
        secret = planted.TOKENS[token_format](maker)
        text = scrubbed(put(secret))
        assert secret not in text, place
        assert quote(secret, safe="") not in text, place
        assert "[SECRET:" in text


def test_a_secret_is_found_by_what_announces_it(announced_format, planted, maker):
    for _ in range(5):
        secret, text = planted.ANNOUNCED[announced_format](maker)
        assert secret not in scrubbed(text), text


@pytest.mark.parametrize(
    "text",
    [
        "the token is validated by the server",
        "password: required",
        "password = getpass.getpass('Password: ')",
        'token = os.environ["GITHUB_TOKEN"]',
        "const key = process.env.API_KEY",
        "api_key: YOUR_API_KEY",
        "api_key = '<your-api-key>'",
        "Authorization: Bearer <token>",
        "export TOKEN=${CI_JOB_TOKEN}",
        "export TOKEN=$CI_JOB_TOKEN",
        "password=xxxxxxxxxxxx",
        "password: ********",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-proj-YOUR_KEY_HERE_AND_NOT_IN_GIT",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        'assert password == "Passw0rd!"',
        "kubectl create secret generic db --from-literal=password=$PW",
        "Host key: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
        "cache_key=user_5f4dcc3b5aa765d61d8327deb882cf99",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
        "request 123e4567-e89b-12d3-a456-426614174000 failed",
        '"integrity": "sha512-WXVhdsWB4ZqCQ5bCq0oSdlTnwbnzZ3w0DD4B3Ff1uWzrVDuHt5aZwYKUFEzHCZy2VlZ2bMd0PVMVs5R1fW0hbg=="',
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "src/reasoningbank/exchange/claude_flow_fields.py:12: in read_memory",
        "class AbstractSingletonProxyFactoryBean2Configuration: pass",
        "max_tokens=4096 and token_count: 1234567890123456",
        "the primary_key is user_id, the sort key is created_at",
        "postgres://user:password@localhost/db",
        "redis://localhost:6379/0",
        "https://example.com:8080/path?x=1",
        "git@github.com:owner/repository.git",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 is a public key",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "Set-Cookie: theme=dark; Path=/; HttpOnly",
        "cus_NffrFeUfNV2Hib paid pi_3MtwBwLkdIwHu7ix28a3tqPa, see evt_1NG8Du2eZvKYlo2CUI79vXWy",
        "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT called call_12xyzAbCdEfGhIjKlMnOpQrSt",
        '"tool_use_id": "toolu_01D7FLrfh4GYq7yT1ULFeyMV"',
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC123",
        '"nextPageToken": "RZNFNVlR2XRIcFi7UeYeNYX755TR62JKzuoMHg4L"',
        "clientRequestToken: 5f2b8c1e-6f0e-4a55-9d3c-0b6a3f6d3f10",
        "GITHUB_SHA=3f786850e387550fdab836ed7e6dc881de23001b",
        "kf5vz6ssxe4zjcb409rjgo747tc5qjazgptvotk6 is an id",
        "STS.AssumeRoleWithWebIdentity failed",
        "node app.js | pino-http-send -u http://localhost:8080/logs",
        '_START = b"-----BEGIN OPENSSH PRIVATE KEY-----"\n_END = b"-----END OPENSSH PRIVATE KEY-----"\n_KDF = b"bcrypt"',
        "kind: ConfigMap\ndata:\n  logo: YWJjZGVmZ2hpamtsbW5vcA==\n",
        "kind: Secret\ndata:\n  password: {{ .Values.password | b64enc }}\n",
        "- name: API_KEY\n  valueFrom:\n    secretKeyRef:\n      key: api-key",
        "docker login -u AWS -p $(aws ecr get-login-password)",
        "redis-cli -a $REDIS_PASSWORD ping",
        "mysql -u root -p shop",
        "mysql -u root -p$MYSQL_PASSWORD shop",
        "mysql -u root -pYOUR_PASSWORD shop",
        "find /var/lib/mysql -type f -print",
        "find /var/lib/mysql -path '*/tmp' -prune -o -perm 600 -print0",
        "find mysql-data -name '*.frm' -printf '%p'",
        "grep -rn mysql . -print",
        "deploy.sh mysql config -profile staging",
        "CREATE USER app WITH PASSWORD 'changeme';",
        "def test_secret_is_not_logged(self, token): ...",
        "Basic authentication is enough for the beginning",
        "Bearer tokens expire after an hour",
        "",
        "ключ: значение, 密码是必填项",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text):
    assert scrubbed(text) == text


def test_the_last_line_of_a_certificate_is_no_cloud_key(maker, planted):
    lines = [maker.of(planted.B64, 64) for _ in range(3)]
    for _ in range(50):
        text = "\n".join(
            ["-----BEGIN CERTIFICATE-----", *lines, maker.of(planted.B64, 40), "-----END CERTIFICATE-----"]
        )
        assert scrubbed(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgres://app:Xk29!vQz@db:5432/main", "postgres://app:[SECRET:url-password]@db:5432/main"),
        ("db:5432:main:app:Xk29vQz77", "db:5432:main:app:[SECRET:password]"),
        ("curl -u jo:Xk29vQz77 https://x", "curl -u jo:[SECRET:password] https://x"),
        (
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY88qLw2Zk9",
            "AWS_SECRET_ACCESS_KEY=[SECRET:aws-secret-key]",
        ),
        ('sshpass -p "Xk29vQz77" ssh h', 'sshpass -p "[SECRET:password]" ssh h'),
        ("mysql -u root -pXk29vQz77 shop", "mysql -u root -p[SECRET:password] shop"),
        ("mysql -u root -psecret123", "mysql -u root -p[SECRET:password]"),
        ("/usr/bin/mysqldump -uroot -pletmein db", "/usr/bin/mysqldump -uroot -p[SECRET:password] db"),
        (
            "sudo mariadb-admin -h db --password=admin2024 ping",
            "sudo mariadb-admin -h db --password=[SECRET:password] ping",
        ),
        ("redis-cli -h cache -a secret123 ping", "redis-cli -h cache -a [SECRET:password] ping"),
        ("+API_KEY=q8Zr2Lk0Wm5Tn7Yb3Xc9", "+API_KEY=[SECRET:api-key]"),
        (r'{"password": "Xk29\"vQz77"}', '{"password": "[SECRET:password]"}'),
        (r'"{\"password\": \"Xk29!vQz77\"}"', r'"{\"password\": \"[SECRET:password]\"}"'),
        ("<password>Xk29!vQz77</password>", "<password>[SECRET:password]</password>"),
    ],
)
def test_only_the_secret_part_is_replaced(text, left):
    assert scrubbed(text) == left


@pytest.mark.parametrize(
    "hidden",
    [
        PAT[:12] + "\u200b" + PAT[12:],
        "\ufeff".join(PAT),
        "".join(chr(ord(c) + 0xFEE0) for c in PAT),
        PAT[:20] + "\\\n    " + PAT[20:],
        f'"{PAT[:20]}" +\n    "{PAT[20:]}"',
        PAT[:24] + "\n" + PAT[24:],
        json.dumps(f"\n{PAT}\n"),
        f"value%3D{PAT}%26page",
    ],
    ids=["zero width", "after each letter", "full width", "backslash", "joined strings", "wrapped", "json", "url"],
)
def test_a_token_cannot_hide_between_its_own_characters(hidden):
    text = scrubbed(f"see {hidden} there")
    assert "[SECRET:github-pat]" in text
    assert PAT[-10:] not in text
    assert PAT[4:12] not in text


def test_a_private_key_that_was_cut_off_goes_to_its_last_line(maker, planted):
    key = maker.pem("RSA PRIVATE KEY")
    text = scrubbed(f"it said\n{key[:300]}")
    assert text == "it said\n[SECRET:private-key]"


def test_the_tokens_of_our_own_server_are_secrets_too(tmp_path):
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        store = bank.context.store
        token, _ = tokens.create(
            store, tenant="acme", scope="read", now=0.0, random_bytes=random.Random(3).randbytes, lifetime_s=None
        )
    assert scrubbed(f"It answers to {token} only") == "It answers to [SECRET:reasoningbank-token] only"


def test_an_allowed_value_stays():
    scrubber = Scrubber(allow=[fingerprint(PAT)])
    other = "ghp_Zq81LzXw55VbNcJtYh27PmDsGf9Eo3R4nd0mK"
    assert scrubber.scrub(f"{PAT} {other}").text == f"{PAT} [SECRET:github-pat]"


def test_a_name_tells_of_a_value_that_alone_says_nothing():
    assert SCRUBBER.scrub_value("db_password", "Xk29!vQz").found == {"password": 1}
    assert SCRUBBER.scrub_value("note", "Xk29!vQz").found == {}


PIECES = st.sampled_from(
    ["password=", "api_key: ", '"', "'", "\n", "\\", "://", "u:p@h", "AKIA", PAT, "Bearer ", "-----BEGIN PRIVATE KEY-----",
     "[SECRET:", "]", "%3D", "eyJ", ".", "\u200b", "Q~", "token is ", "cookie: a=", "q8Zr2Lk0Wm5Tn7Yb3Xc9", "sk-", "é"]
)  # fmt: skip


@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=12).map("".join))
def test_scrubbing_what_is_scrubbed_changes_nothing(text):
    once = SCRUBBER.scrub(text)
    again = SCRUBBER.scrub(once.text)
    assert again.text == once.text
    assert not again.found


@given(st.text(max_size=300))
def test_any_text_can_be_scrubbed_and_the_cheap_look_never_hides_a_find(text):
    if SCRUBBER.places(text):
        assert SCRUBBER.suspects(text)


def test_the_number_of_formats_that_is_told_is_the_number_there_is():
    assert len(RULES) == TOKEN_FORMATS


@pytest.mark.parametrize("text", ["x://:abc@h", "pwd=aB3$xy9", "key: aB3dE6gH9jK2mN5p"])
def test_the_shortest_of_secrets_is_longer_than_what_passes_unread(text):
    assert len(text) >= SHORTEST_SECRET
    for stop in range(SHORTEST_SECRET):
        assert Scrubber().places(text[:stop]) == []


def test_a_short_tag_beside_a_secret_stays_and_the_secret_goes(tmp_path):
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        kept = bank.record(title="auth", content="token=ghp_16C7e42F292c6912E7710c838347Ae178B4a", tags=["auth", "key"])
    assert (kept.memory.title, kept.memory.tags) == ("auth", ("auth", "key"))
    assert "ghp_" not in kept.memory.content
