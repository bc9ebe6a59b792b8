"""Secrets of the kinds that public lists of rules have, and their look-alikes. Every value is made up in parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import scrub
from bench.rule_lists import half_of, is_of_secrets, samples
from reasoningbank.guard.secrets import Scrubber

SCRUBBER = Scrubber()
COUNTED = "abcdef1234567890" + "abcdef1234567890"
SHORT_HEX = "9f3c1ab47" + "e20d56b"
HEX = "7be1f0c24d9a4e35" + "b8a6d1039cf25e74"
MIXED = "rc6iLoUEFGGAWNLs" + "uBJnmsh4tZBoCxcD" + "Umc45HIP"
UUID = "a6386f9e-b161-" + "4cac-93fe-1214e3c6f3d2"
WORD = "Ihq" + "Sb1Gg"
SALTED = "Zk81LqWx55VbNc" + "JtYh27Pm"
PLAIN_WORD = "sunsh" + "ineroad"
LONG_HASH = SALTED + "DsGf9Eo3R4nd0m" + "Kq81Lz"

UNDER_NAMES = [
    ("ACME_API_KEY={}", COUNTED), ("acme_secret: '{}'", COUNTED), ("see acme token {} there", COUNTED),
    ("acme_api_token={}", SHORT_HEX), ("the tracking api key: {}", SHORT_HEX), ("wiki_pat: {}", MIXED),
    ("ACME_BEARER={}", MIXED), ("secret_id: {}", UUID), ("API Token\n{}\n", MIXED), ("Client Secret:\n  {}\n", HEX),
    ("acme_token = tgx_{}", "grpxa5lfgvzd" + "snluovs4knl7onrtc"), ("JOIN_TOKEN={}", "be8dfd." + "da8a689a46edc282"),
    ("Authorization: sso-key {}", MIXED + ":" + HEX), ("mariadb.url=jdbc:x mariadb.password={}", "r8tq" + "vmx1kp!"),
    ('"method": "login_with_api_key", "params": ["{}"]', "8-" + MIXED),
]  # fmt: skip
OF_SERVICES = [
    ("voyageai={}", MIXED), ("assemblyai,{}\n", MIXED), ("algolia = {}\n", "Zk81LqWx=" + MIXED), ("bittrex<={}", HEX),
    ("hubspot:{}", UUID.upper()), ("snykkey={}", UUID), ("sonarlogin: {}", "9le7qluvq0026rh0" + "qvfw61cqxqqyvsc5"),
    ("datagov: {}|", MIXED), ("assemblyai = {}\n", HEX), ('pinecone_key = "{}"', UUID), ('postmark: "{}",', UUID), ("splunk.hec={}", UUID),
    ('customer.io: "{}"', HEX), ('new_relic = "{}"', MIXED), ('client = Mailjet("{}")', MIXED), ('"sonarLogin": "{}"', HEX),
]  # fmt: skip
BY_THEIR_PREFIX = [
    ("flux({})", "acme_live_" + MIXED), ("x {} y", "acme_pat_" + MIXED), ("{}", "key_" + HEX), ("{}", "live_auth_" + HEX),
    ("init({!r})", "zork_" + MIXED), ("{}", "zorkpat_" + MIXED), ("ck: {}", "ck_staging_" + MIXED),
    ("{}", HEX + ".LLSZ" + "2InjarUXEhNr"), ("Bearer {}", "STAGE_" + HEX), ("{}", "ovsxp_" + UUID),
    ("{}", "dub_" + "Qm81LqWx55VbNcJtYh27PmDs"), ("{}", "xaat-" + UUID), ("{}", "phr_" + MIXED), ("{}", "crsr_" + HEX + HEX),
    ("{}", "akab-" + "rfobj3pv75oy83l0-" + "fus3pqxh3da4l60x"), ("{}", "1000." + HEX + "." + HEX), ("{}", "sk_" + UUID),
    ("{}", "SUA" + "M7Q2KXW5ZLTVB4" * 4), ("{}", "k3.secret." + MIXED), ("{}", "TlRMTVNTUAADAAAA" + MIXED), ("{}", "cosmo_" + HEX),
    ("{}", "t1." + MIXED + "." + HEX + HEX), ("{}", "IGQV" + MIXED + HEX), ("{}", "dnkey-" + HEX.upper() + "-" + HEX.upper() + "A1B2C3D4"),
    ("{}", "ATTA" + HEX + HEX), ("{}", "al-" + MIXED + "Zk8"), ("{}", "amzn.mws." + UUID), ("{}", "nfc_" + MIXED),
    ("BUNDLE_GEMS__CONTRIBSYS__COM={}", "9f3c1ab4:" + "7e20d56b"), ("{}", "db-" + MIXED[:29]),
]  # fmt: skip
HASHED = [
    ("root:{}:19000:0:99999:7:::", "$1$" + "Ok8rLmVl$" + SALTED), ("{}", "$5$rounds=5000$" + "saltsalt$" + SALTED + "Qm8" + SALTED[:18]),
    ("hash {}", "$6$" + "saltsalt$" + SALTED + SALTED + SALTED + SALTED[:20]), ("{}", "$2b$12$" + LONG_HASH + SALTED[:11]),
    ("{}", "$argon2id$v=19$m=65536,t=3,p=4$" + "c29tZXNhbHQ$" + LONG_HASH), ("{}", "pbkdf2_sha256$260000$" + "Ok8rLmVl$" + LONG_HASH),
    ("userPassword: {}", "{SSHA}" + LONG_HASH), ("{}", "$krb5asrep$23$" + HEX + "$" + HEX + HEX),
]  # fmt: skip
HANDED_OVER = [
    ("mysqli_connect('db.internal', 'admin', '{}', 'shop')", WORD), ('new PDO($dsn, "jo", "{}");', WORD),
    ('DriverManager.getConnection("jdbc:x", "jo", "{}")', WORD), ("ftp_login($c, 'jo', '{}')", WORD),
    ('[System.Net.NetworkCredential]::new("svc", "{}")', "s3cr" + "etP@ss"),
    ('psycopg2.connect("host=prod dbname=app user=jo password={}")', "ziggy" + "mops"),
    ("Connection(db=0,password={},host=cache)", "kq8dj2" + "mzpw"), ('url.UserPassword("jo", "{}")', WORD),
]  # fmt: skip
IN_COMMANDS = [
    ("schtasks /create /tn t /ru jo /rp {}", "P@ss" + "w0rdx"), ("net use Z: \\\\srv\\share /user:ORG\\jo {}", "P@ss" + "w0rdx"),
    ("net user jo {} /add", WORD), ("cmdkey /add:srv /user:jo /pass:{}", WORD), ("sqlcmd -S db -U sa -P {}", WORD),
    ("plink -ssh jo@h -pw {}", WORD), ("ldapsearch -x -D cn=jo -w {}", WORD), ("smbclient //h/s -U jo%{}", WORD),
    ("openssl rsa -passin pass:{} -in k", WORD), ("az login --service-principal -u jo -p {}", WORD),
    ("xfreerdp /v:h /u:jo /p:{}", WORD), ("ConvertTo-SecureString '{}' -AsPlainText -Force", WORD),
    ("requirepass {}", WORD), ("echo '{}' | docker login -u jo --password-stdin", PLAIN_WORD), ("IDENTIFIED BY '{}'", PLAIN_WORD),
]  # fmt: skip
PLAIN_WORDS = [
    ('password = "{}"', PLAIN_WORD), ('ds.setPassword("{}");', PLAIN_WORD), ("'password' => '{}',", PLAIN_WORD),
    ("DB_PASSWORD={}", PLAIN_WORD), ("spring.datasource.password={}", PLAIN_WORD), ("<password>{}</password>", PLAIN_WORD),
    ('<entry key="password">{}</entry>', "hunt" + "er22"), ('<add key="Password" value="{}" />', PLAIN_WORD),
    ("password: env.DB_PASSWORD || '{}'", PLAIN_WORD), ('props.put("password", "{}")', PLAIN_WORD), ("auth = ('jo', '{}')", PLAIN_WORD),
    ("db_password={}", "blue!" + "sky"), ('passphrase: "{}",', "open" + "Sesame"),
]  # fmt: skip
IN_ADDRESSES = [
    ("ldap://cn=admin,dc=org:{}@ldap.org", "Tr0ub" + "4dor9"), ("pip install -i https://{}:@pypi.fury.io/org", MIXED),
    ("https://chat.org/hooks/{}", "9xuqwrwgstrb3" + "mzrxb83nb357a"), ("?sv=1.0&sp=run&sig={}", "AbQdEfGwIjKlMzOp" + "QrStUvWx43"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("carrier", "secret"),
    [*UNDER_NAMES, *OF_SERVICES, *BY_THEIR_PREFIX, *HASHED, *HANDED_OVER, *IN_COMMANDS, *PLAIN_WORDS, *IN_ADDRESSES],
)
def test_a_secret_of_every_kind_in_public_lists_goes(carrier: str, secret: str) -> None:
    text = carrier.replace("{!r}", repr(secret)).replace("{}", secret)
    done = SCRUBBER.scrub(text)
    assert secret not in done.text
    assert "[SECRET:" in done.text
    assert SCRUBBER.scrub(done.text).text == done.text


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY=YOUR_API_KEY_1234567890",
        "token: 1234567890123456",
        "SECRET_TOKEN=${ACME_TOKEN_1234567890}",
        "ACME_TOKEN=xxxxxxxxxxxxxxxxxxxx1234567890",
        f"build_{'3f786850e387550fdab8'}36ed7e6dc881de23001b",
        f"cache_key_{HEX}",
        f"pk_live_{MIXED}",
        f"resp_{HEX}{HEX[:16]}",
        "msg_01XFDUDYJgAACzvnptvVoYEL toolu_01D7FLrfh4GYq7yT1ULFeyMV",
        f"sentry_release = '{HEX}'",
        f"github_sha: {HEX}",
        f"deploy of {UUID} to heroku",
        "replace('$1$2', '$1$')",
        "connect(host, user, password)",
        "connect(host=HOST, user=USER, password=PASSWORD)",
        "psycopg2.connect(host=host, user=user, password=db_password)",
        "connect('localhost', 'user', 'password')",
        "net use Z: \\\\srv\\share /user:jo *",
        "ldapsearch -x -D cn=jo -W",
        "`net use /user:jo` without a password asks for it",
        "see https://docs.acme.org/hooks/overview",
        "password: 'required'",
        '"password": "Passwort",',
        "password = 'doesnotexist'",
        'type = "password", label="current"',
        "password: the one of your account",
        "set a password for the account",
        "kwargs_to_pass = kwargs",
        'if password == "sunshineroad"',
        f"github,{HEX}{HEX[:8]}",
        f"gitlab/{HEX}",
        "requirepass directive",
        "a library identified by 'sunshineroad'",
        "self.some_argument_that_is_long.s.anotherOneThatIsLong1",
        "the file_path=/tmp/a1b2c3d4e5f6a7b8c9d0 of it",
    ],
)
def test_what_only_looks_like_them_stays(text: str) -> None:
    assert SCRUBBER.scrub(text).text == text


@pytest.mark.parametrize("line", ["stripe_request_{}={:032x}", "live_session_{}: msg_01{:024x}", "pick_{}={:040x}"])
def test_a_list_of_ids_is_examined_to_its_end(line: str) -> None:
    text = "\n".join(line.format(number, number * 7919**5) for number in range(10**6, 10**6 + 200))
    assert SCRUBBER.scrub(text).text == text


def test_the_recall_on_a_list_of_rules_is_counted_by_halves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = [
        {"id": "a.1", "name": "Acme API Key", "pattern": r"(?x) acme_ [a-z]* = ([0-9a-f]{32})", "examples": [f"acme_key={HEX}"]},
        {"id": "b.1", "name": "Acme Token", "pattern": r"\bacme_live_[A-Za-z0-9]{32}\b"},
        {"id": "c.1", "name": "Acme Client ID", "pattern": "(jo)", "examples": ["jo"]},
        {"id": "d.1", "name": "Acme Host", "pattern": "(h)", "examples": ["h"], "visible": False},
    ]  # fmt: skip
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(rules), "utf-8")
    found = list(samples(file))
    assert {sample.rule for sample in found} == {"a.1", "b.1"}
    assert all(sample.half == half_of(sample.rule) and sample.secret in sample.text for sample in found)
    assert found == list(samples(file)), "drawn texts are the same in every run"
    assert scrub.main(["--rules", str(file)]) == 0
    printed = json.loads(capsys.readouterr().out)["rules"]
    assert sum(kind["secrets"] for name, kind in printed.items() if name.endswith("all")) == len(found)
    assert all(kind["recall"] == 1 for kind in printed.values())


def test_a_rule_is_of_a_secret_by_its_name() -> None:
    assert is_of_secrets({"name": "Acme Webhook URL"})
    assert is_of_secrets({"name": "Acme Secret ID"})
    assert not is_of_secrets({"name": "Acme Base URL"})
    assert not is_of_secrets({"name": "Acme Publishable Key"})
    assert not is_of_secrets({"name": "Acme Encrypted Secret"})


@pytest.mark.parametrize("state", ["active", "quarantined", "archived", "superseded", "forgotten"])
def test_the_state_under_an_id_that_ends_like_the_name_of_a_password_is_no_password(state: str) -> None:
    text = f'{{"mem_01M7V1JDHP5SGBWPCJQF2PWD": "{state}", "mem_01M7V1JDHP5SGBWPCJQ_PASSWD": "{state}"}}'
    assert Scrubber().scrub(text).text == text
