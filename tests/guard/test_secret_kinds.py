"""Secrets by the way in which they are written down, and their look-alikes. Every value here is made up in parts."""

from __future__ import annotations

import pytest

from reasoningbank.guard.secrets import Scrubber

SCRUBBER = Scrubber()
WORD = "Ihq" + "Sb1Gg"
"""What a person makes up for a password."""
DRAWN = "k645ke5upvrd" + "6o9yzpf322f5" + "2uh5bgz0"
MIXED = "rc6iLoUEFGGAWNLs" + "uBJnmsh4tZBoCxcD" + "Umc45HIP"
UUID = "a6386f9e-b161-" + "3cac-e3fe-1214e3c6f3d2"

BY_OPERATOR = [
    ("acmeToken += {!r}", DRAWN), ("acme_TOKEN ?= {!r}", DRAWN), ("acme_TOKEN :::= {!r}", DRAWN),
    ("$acmeToken .= {!r}", DRAWN), ("var acmeToken string = {!r}", DRAWN), ("acmeToken,{},", DRAWN),
    ("<acmeToken>\n    {}\n</acmeToken>", DRAWN), ("acme token - {!r}", DRAWN), ('"acmeToken" => "{}"', DRAWN),
    ("const acmeKey = {!r};", MIXED), ("[DEBUG] Using Key={}", MIXED), ("You can find an acme secret {} within", MIXED),
    ("<secret>{{acme AQAAABAAA {}}}</secret>", MIXED), ("Activation key : {}", "ZAQWS-XCDER-" + "VBGTR-FRTGU-KLMNX"),
    ("You can find an acme secret {} within", UUID),
    ("[INFO] Sending request to the snyk API\n[DEBUG] Using Key={}", UUID),
]  # fmt: skip
UNDER_A_SERVICE = [("algolia = {!r}", DRAWN), ("'bittrex': '{}'", DRAWN), ('DD_mailchimp := "{}"', MIXED)]
AS_PEOPLE_NOTE_IT = [
    ("ID/PW: master/{}", WORD), ("master@10.4.5.6 (pw:{})", WORD), ("password in the lab is {}", WORD),
    ("pwd of master is {}", WORD), ("{} is the password", WORD), ("(ID)master/(PW){}", WORD), ("id pw master // {}", WORD),
    ("user master password {}", WORD), ("비밀번호({})", WORD), ("Initial Password:{}", WORD), ("--passphrase {}", WORD),
]  # fmt: skip
IN_PROGRAMS = [
    ('user.setPassword("{}")', "win" + "ter2019!"), ('new NetworkCredential("jo", "{}");', "vzihlaqu" + "knriqlht"),
    ("requests.get(u, auth=('jo', '{}'))", "kq8" + "Dj2mz"), ('conn.login("jo", "{}")', "Tr0u" + "b4dor"),
    ('os.environ.get("DB_PASSWORD", "{}")', "hun" + "ter2xy"), ('os.environ.get("PASSWORD") or "{}"', "at5G" + "6zi!m"),
    ("$mail->Password = '{}';", "un!tech" + "whooah"), ('password: "{}"', "gkt" + "qrwzpx"),
    ("SECRET_KEY = '{}'", "django-insecure-" + "8#xk!2p0q9w"), ('client_secret: "{}"', "u8Yh" + "n3Kd"),
]  # fmt: skip
IN_SETTINGS_AND_COMMANDS = [
    ("PGPASSWORD={} psql -h db", "sup" + "3rpg"), ("DB_PASSWORD={}", "myfirst" + "db2020"),
    ("spring.datasource.password={}", "ti" + "ger1999"), ("passwd: {}", "qaz" + "wsx12"),
    ("ENV ROOT_PASSWORD {}", "root" + "root12"), ("htpasswd -b .htpasswd jo {}", "Xk29" + "vMq1"),
    ("psexec \\\\10.0.0.1 -u Administrator -p {} CMD", "brak" + "sha"), ("snmp-server community {} RW", "pr1" + "vate"),
    ("Server=db;User Id=jo;Password={};Database=x", "kmwul" + "fliq"), ("enable password {}", "MyS3" + "cretP@ss"),
    ("machine git.internal login jo password {}", "ziggy" + "2020"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("carrier", "secret"),
    [*BY_OPERATOR, *UNDER_A_SERVICE, *AS_PEOPLE_NOTE_IT, *IN_PROGRAMS, *IN_SETTINGS_AND_COMMANDS],
)
def test_a_secret_goes_however_it_is_written_down(carrier: str, secret: str) -> None:
    done = SCRUBBER.scrub(carrier.format(secret))
    assert secret not in done.text
    assert "[SECRET:" in done.text
    assert SCRUBBER.scrub(done.text).text == done.text


@pytest.mark.parametrize(
    "text",
    [
        "badge.svg?token=Pk8G9gg3y9",
        "a dynamic library identified by 'name'",
        "password (bool): Enable password entry.",
        "'KvJumpToKey',\n    'KvJumpToKeySymbol',",
        "https://jo%40mail.net:a%20secret@host.de:1234",
        "MultiHostUrl('https://foo.com:123,foo:bar@bar.com/path')",
        'password = password.encode("latin1")',
        "splitpasswd('user+1:a+b')",
        "passwd='geheim$parole'",
        "LangSmith login and token access are mutually exclusive",
        'algolia_app_id = "k645ke5upvrd6o9yzpf322f52uh5bgz0"',
        "algolia.version = '12.4.5-rc1'",
        "the passwords of SHA256 and OAuth2 clients",
        "key: 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        '{"token": "hello", "logprob": -0.1}',
        "password == 'expected'",
        "KEY_SIZE = 32, PASSWORD_HASHERS = ['PBKDF2']",
        "login(username, password)",
    ],
)
def test_its_look_alikes_stay(text: str) -> None:
    assert SCRUBBER.scrub(text).text == text
