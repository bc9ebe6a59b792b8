"""Secrets made up from what each issuer says about its format, and the places people leave them in.

Knows nothing of the rules that are to find them: alphabets, lengths and prefixes come from the issuers' pages, so that
the test is not the rule read backwards.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from urllib.parse import quote

# ruff: noqa: E501 - a carrier is quoted as it is found

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = string.ascii_letters + DIGITS
B64 = ALNUM + "+/"
URL64 = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE32 = UPPER + "234567"


class Maker:
    """Makes one secret of each format. A pair is (what must disappear, the text that carries it)."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def of(self, alphabet: str, length: int, most: int | None = None) -> str:
        return "".join(self.chance.choices(alphabet, k=length if most is None else self.chance.randint(length, most)))

    def uuid(self) -> str:
        return "-".join(self.of(HEX, n) for n in (8, 4, 4, 4, 12))

    def jwt(self) -> str:
        def part(value: object) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        header = {"alg": self.chance.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
        claims = {"sub": self.of(DIGITS, 10), "name": "Jo", "iat": self.chance.randint(10**9, 2 * 10**9)}
        return f"{part(header)}.{part(claims)}.{self.of(URL64, 43)}"

    def pem(self, kind: str, lines: int = 12) -> str:
        body = "\n".join(self.of(B64, 64) for _ in range(lines))
        return f"-----BEGIN {kind}-----\n{body}\n{self.of(B64, 30)}==\n-----END {kind}-----"

    def password(self) -> str:
        return "".join(
            [
                self.of(UPPER, 2),
                self.of(LOWER, 4, 6),
                self.of(DIGITS, 2, 3),
                self.chance.choice("!$*?_-+"),
                self.of(ALNUM, 2, 4),
            ]
        )


Made = Callable[[Maker], str]

TOKENS: dict[str, Made] = {
    "aws access key id": lambda m: m.chance.choice(["AKIA", "ASIA"]) + m.of(BASE32, 16),
    "aws secret key, bare": lambda m: m.of(B64, 40),
    "gcp api key": lambda m: "AIza" + m.of(URL64, 35),
    "gcp oauth access token": lambda m: "ya29." + m.of(URL64, 60, 120),
    "gcp oauth client secret": lambda m: "GOCSPX-" + m.of(URL64, 28),
    "azure client secret": lambda m: m.of(ALNUM, 3) + m.of(DIGITS, 1) + "Q~" + m.of(ALNUM + "_~.", 33) + m.of(ALNUM, 1),
    "github ghp": lambda m: "ghp_" + m.of(ALNUM, 36),
    "github gho": lambda m: "gho_" + m.of(ALNUM, 36),
    "github ghu": lambda m: "ghu_" + m.of(ALNUM, 36),
    "github ghs": lambda m: "ghs_" + m.of(ALNUM, 36),
    "github ghr": lambda m: "ghr_" + m.of(ALNUM, 36, 76),
    "github fine-grained": lambda m: f"github_pat_{m.of(ALNUM, 22)}_{m.of(ALNUM, 59)}",
    "gitlab pat": lambda m: "glpat-" + m.of(URL64, 20),
    "gitlab runner": lambda m: "glrt-" + m.of(URL64, 20),
    "gitlab deploy": lambda m: "gldt-" + m.of(URL64, 20),
    "gitlab trigger": lambda m: "glptt-" + m.of(HEX, 40),
    "bitbucket app password": lambda m: "ATBB" + m.of(ALNUM, 32),
    "npm": lambda m: "npm_" + m.of(ALNUM, 36),
    "pypi": lambda m: "pypi-AgEIcHlwaS5vcmc" + m.of(URL64, 130, 170),
    "rubygems": lambda m: "rubygems_" + m.of(HEX, 48),
    "crates.io": lambda m: "cio" + m.of(ALNUM, 32),
    "docker hub": lambda m: "dckr_pat_" + m.of(URL64, 27),
    "slack bot": lambda m: f"xoxb-{m.of(DIGITS, 12)}-{m.of(DIGITS, 13)}-{m.of(ALNUM, 24)}",
    "slack user": lambda m: f"xoxp-{m.of(DIGITS, 12)}-{m.of(DIGITS, 12)}-{m.of(DIGITS, 12)}-{m.of(HEX, 32)}",
    "slack app": lambda m: f"xapp-1-A{m.of(UPPER + DIGITS, 10)}-{m.of(DIGITS, 13)}-{m.of(HEX, 64)}",
    "slack webhook": lambda m: (
        f"https://hooks.slack.com/services/T{m.of(UPPER + DIGITS, 8)}/B{m.of(UPPER + DIGITS, 10)}/{m.of(ALNUM, 24)}"
    ),
    "discord bot": lambda m: (
        f"{base64.b64encode(m.of('123456789', 18).encode()).decode()}.{m.of(URL64, 6)}.{m.of(URL64, 27, 38)}"
    ),
    "discord webhook": lambda m: f"https://discord.com/api/webhooks/{m.of('123456789', 18)}/{m.of(URL64, 68)}",
    "telegram bot": lambda m: f"{m.of('123456789', 9, 10)}:AA{m.of(URL64, 33)}",
    "stripe secret": lambda m: "sk_live_" + m.of(ALNUM, 24, 99),
    "stripe restricted": lambda m: "rk_live_" + m.of(ALNUM, 24, 99),
    "stripe test": lambda m: "sk_test_" + m.of(ALNUM, 24, 99),
    "stripe webhook": lambda m: "whsec_" + m.of(ALNUM, 32),
    "square access": lambda m: "EAAA" + m.of(URL64, 60),
    "square oauth": lambda m: "sq0csp-" + m.of(URL64, 43),
    "braintree": lambda m: f"access_token$production${m.of(LOWER + DIGITS, 16)}${m.of(HEX, 32)}",
    "twilio api key": lambda m: "SK" + m.of(HEX, 32),
    "sendgrid": lambda m: f"SG.{m.of(URL64, 22)}.{m.of(URL64, 43)}",
    "mailgun": lambda m: "key-" + m.of(HEX, 32),
    "mailchimp": lambda m: f"{m.of(HEX, 32)}-us{m.chance.randint(1, 21)}",
    "openai legacy": lambda m: f"sk-{m.of(ALNUM, 20)}T3BlbkFJ{m.of(ALNUM, 20)}",
    "openai project": lambda m: f"sk-proj-{m.of(URL64, 74)}T3BlbkFJ{m.of(URL64, 74)}",
    "openai service account": lambda m: f"sk-svcacct-{m.of(URL64, 58, 74)}T3BlbkFJ{m.of(URL64, 58)}",
    "openai admin": lambda m: f"sk-admin-{m.of(URL64, 58)}T3BlbkFJ{m.of(URL64, 58)}",
    "anthropic": lambda m: f"sk-ant-api03-{m.of(URL64, 93)}AA",
    "anthropic oauth": lambda m: f"sk-ant-oat01-{m.of(URL64, 86)}AA",
    "openrouter": lambda m: "sk-or-v1-" + m.of(HEX, 64),
    "deepseek": lambda m: "sk-" + m.of(HEX, 32),
    "groq": lambda m: "gsk_" + m.of(ALNUM, 52),
    "hugging face": lambda m: "hf_" + m.of(ALNUM, 34),
    "replicate": lambda m: "r8_" + m.of(ALNUM, 37),
    "perplexity": lambda m: "pplx-" + m.of(ALNUM, 48),
    "xai": lambda m: "xai-" + m.of(ALNUM, 80),
    "databricks": lambda m: "dapi" + m.of(HEX, 32),
    "new relic": lambda m: "NRAK-" + m.of(UPPER + DIGITS, 27),
    "sentry org": lambda m: "sntrys_eyJpYXQiO" + m.of(B64, 100) + "_" + m.of(B64, 43),
    "sentry user": lambda m: "sntryu_" + m.of(HEX, 64),
    "sentry dsn": lambda m: f"https://{m.of(HEX, 32)}@o{m.of(DIGITS, 6)}.ingest.sentry.io/{m.of(DIGITS, 7)}",
    "grafana service account": lambda m: f"glsa_{m.of(ALNUM, 32)}_{m.of(HEX, 8)}",
    "grafana cloud": lambda m: "glc_" + m.of(B64, 80),
    "digitalocean": lambda m: "dop_v1_" + m.of(HEX, 64),
    "heroku": lambda m: "HRKU-" + m.of(URL64, 60),
    "netlify": lambda m: "nfp_" + m.of(ALNUM, 36),
    "supabase": lambda m: "sbp_" + m.of(HEX, 40),
    "planetscale": lambda m: "pscale_tkn_" + m.of(URL64, 43),
    "linear": lambda m: "lin_api_" + m.of(ALNUM, 40),
    "notion": lambda m: m.chance.choice(["secret_" + m.of(ALNUM, 43), "ntn_" + m.of(ALNUM, 46)]),
    "airtable": lambda m: f"pat{m.of(ALNUM, 14)}.{m.of(HEX, 64)}",
    "asana": lambda m: f"1/{m.of('123456789', 16)}:{m.of(HEX, 32)}",
    "atlassian": lambda m: "ATATT3xFfGF0" + m.of(URL64, 160) + "=" + m.of(UPPER + DIGITS, 8),
    "shopify": lambda m: "shpat_" + m.of(HEX, 32),
    "doppler": lambda m: "dp.pt." + m.of(ALNUM, 43),
    "vault": lambda m: "hvs." + m.of(URL64, 90, 100),
    "terraform cloud": lambda m: f"{m.of(ALNUM, 14)}.atlasv1.{m.of(URL64, 67)}",
    "age": lambda m: "AGE-SECRET-KEY-1" + m.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "1password": lambda m: "ops_eyJ" + m.of(B64, 400),
    "postman": lambda m: f"PMAK-{m.of(HEX, 24)}-{m.of(HEX, 34)}",
    "figma": lambda m: "figd_" + m.of(URL64, 40),
    "dynatrace": lambda m: f"dt0c01.{m.of(BASE32, 24)}.{m.of(BASE32, 64)}",
    "twitter bearer": lambda m: "A" * 22 + m.of(ALNUM, 30) + "%3D" + m.of(ALNUM, 50),
    "apify": lambda m: "apify_api_" + m.of(ALNUM, 36),
    "brave search": lambda m: "BSA" + m.of(URL64, 28),
    "buildkite user": lambda m: "bkua_" + m.of(HEX, 40),
    "buildkite agent": lambda m: "bkct_" + m.of(URL64, 73),
    "circleci": lambda m: f"CCIPAT_{m.of(ALNUM, 22)}_{m.of(HEX, 40)}",
    "clickhouse": lambda m: "4b1d" + m.of(ALNUM, 38),
    "cloudsmith": lambda m: "csa_" + m.of(HEX, 30) + m.of(ALNUM, 6),
    "cockroach": lambda m: f"CCDB1_{m.of(ALNUM, 22)}_{m.of(ALNUM, 40)}",
    "astra": lambda m: f"AstraCS:{m.of(ALNUM, 24)}:{m.of(HEX, 64)}",
    "deno": lambda m: "ddp_" + m.of(ALNUM, 36),
    "devcycle": lambda m: "dvc_server_" + m.of(ALNUM, 20),
    "docker swarm": lambda m: f"SWMTKN-1-{m.of(LOWER + DIGITS, 50)}-{m.of(LOWER + DIGITS, 25)}",
    "dropbox": lambda m: "sl.B" + m.of(URL64, 134),
    "elastic cloud": lambda m: "essu_" + m.of(URL64, 80),
    "facebook page": lambda m: "EAAG" + m.of(ALNUM, 150),
    "flutterwave": lambda m: f"FLWSECK-{m.of(HEX, 32)}-X",
    "frame.io": lambda m: "fio-u-" + m.of(URL64, 64),
    "gemini": lambda m: "AQ.Ab8RN6" + m.of(URL64, 44),
    "harness": lambda m: f"pat.{m.of(URL64, 22)}.{m.of(HEX, 24)}.{m.of(ALNUM, 20)}",
    "llama cloud": lambda m: "llx-" + m.of(ALNUM, 48),
    "mailersend": lambda m: "mlsn." + m.of(HEX, 64),
    "maxmind": lambda m: f"{m.of(ALNUM, 6)}_{m.of(ALNUM, 29)}_mmk",
    "mongodb atlas": lambda m: "mdb_sa_sk_" + m.of(URL64, 40),
    "nylas": lambda m: "nyk_v0_" + m.of(ALNUM, 64),
    "onesignal": lambda m: "os_v2_app_" + m.of(LOWER + "234567", 103),
    "paddle": lambda m: f"pdl_live_apikey_{m.of(LOWER + DIGITS, 26)}_{m.of(ALNUM, 22)}_{m.of(ALNUM, 3)}",
    "pinterest": lambda m: "pina_" + m.of(UPPER + DIGITS, 60),
    "polar": lambda m: "polar_oat_" + m.of(ALNUM, 43),
    "render": lambda m: "rnd_" + m.of(ALNUM, 28),
    "runpod": lambda m: "rpa_" + m.of(ALNUM, 46),
    "salesforce": lambda m: f"00D{m.of(ALNUM, 12)}!AQ{m.of(ALNUM + '._', 94)}",
    "shippo": lambda m: "shippo_live_" + m.of(HEX, 40),
    "slack session": lambda m: f"xoxc-{m.of(DIGITS, 12)}-{m.of(DIGITS, 12)}-{m.of(DIGITS, 12)}-{m.of(HEX, 64)}",
    "tableau": lambda m: f"{m.of(B64, 22)}==:{m.of(ALNUM, 32)}",
    "unkey": lambda m: "unkey_" + m.of(ALNUM, 24),
    "val town": lambda m: "vtwn_" + m.of(ALNUM, 43),
    "wakatime": lambda m: "waka_" + m.uuid(),
    "wandb": lambda m: f"wandb_v1_{m.of(ALNUM, 40)}_{m.of(ALNUM, 36)}",
    "xendit": lambda m: "xnd_production_" + m.of(ALNUM, 60),
    "zuplo": lambda m: f"zpka_{m.of(HEX, 32)}_{m.of(HEX, 8)}",
    "azure storage, bare": lambda m: f"{m.of(B64, 75)}/+ASt{m.of(B64, 6)}==",
    "pem in base64": lambda m: base64.b64encode(m.pem("RSA PRIVATE KEY").encode()).decode(),
    "jwt": lambda m: m.jwt(),
    "pem rsa": lambda m: m.pem("RSA PRIVATE KEY"),
    "pem pkcs8": lambda m: m.pem("PRIVATE KEY"),
    "pem ec": lambda m: m.pem("EC PRIVATE KEY", 2),
    "openssh": lambda m: m.pem("OPENSSH PRIVATE KEY"),
    "pgp": lambda m: (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{m.of(B64, 64)}\n{m.of(B64, 64)}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----"
    ),
}
"""Formats that give themselves away, wherever they stand."""

ANNOUNCED: dict[str, Callable[[Maker], tuple[str, str]]] = {
    "aws secret, named": lambda m: _with(m.of(B64, 40), "aws_secret_access_key = {}"),
    "azure storage": lambda m: _with(
        m.of(B64, 86) + "==",
        "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey={};EndpointSuffix=core.windows.net",
    ),
    "azure sas": lambda m: _with(
        quote(m.of(B64, 43) + "=", safe=""),
        "https://acc.blob.core.windows.net/c/b?sv=2022-11-02&sr=b&sp=r&se=2030-01-01&sig={}",
    ),
    "gcp service account": lambda m: _with(
        m.of(B64, 64),
        '{{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\nabcdEFGH12345678abcdEFGH12345678\\n-----END PRIVATE KEY-----\\n"}}',
    ),
    "datadog": lambda m: _with(m.of(HEX, 32), "DD_API_KEY={}"),
    "heroku uuid": lambda m: _with(m.uuid(), "HEROKU_API_KEY={}"),
    "cloudflare": lambda m: _with(m.of(URL64, 40), "CLOUDFLARE_API_TOKEN={}"),
    "fastly": lambda m: _with(m.of(URL64, 32), "Fastly-Key: {}"),
    "vercel": lambda m: _with(m.of(ALNUM, 24), "VERCEL_TOKEN={}"),
    "pagerduty": lambda m: _with(m.of(ALNUM + "_+-", 20), "pagerduty_api_key: {}"),
    "mistral": lambda m: _with(m.of(ALNUM, 32), 'MISTRAL_API_KEY="{}"'),
    "cohere": lambda m: _with(m.of(ALNUM, 40), "COHERE_API_KEY={}"),
    "twilio auth token": lambda m: _with(m.of(HEX, 32), "TWILIO_AUTH_TOKEN={}"),
    "paypal": lambda m: _with("E" + m.of(URL64, 79), "PAYPAL_CLIENT_SECRET={}"),
    "okta": lambda m: _with("00" + m.of(URL64, 40), "Authorization: SSWS {}"),
    "generic json": lambda m: _with(m.of(ALNUM, 32), '{{"api_key": "{}"}}'),
    "generic yaml": lambda m: _with(m.of(ALNUM, 28), "auth:\n  client_secret: {}\n"),
    "generic toml": lambda m: _with(m.of(URL64, 36), 'access_token = "{}"'),
    "password json": lambda m: _with(m.password(), '{{"user": "jo", "password": "{}"}}'),
    "password yaml": lambda m: _with(m.password(), "db_password: '{}'"),
    "password env": lambda m: _with(m.password(), "export DB_PASSWORD={}"),
    "postgres url": lambda m: _with(m.password(), "postgresql://app:{}@db.internal:5432/main"),
    "mysql url": lambda m: _with(m.password(), "mysql://root:{}@10.0.0.5/shop"),
    "mongodb url": lambda m: _with(m.password(), "mongodb+srv://svc:{}@cluster0.ab1cd.mongodb.net/?retryWrites=true"),
    "redis url": lambda m: _with(m.password(), "redis://:{}@cache:6379/0"),
    "amqp url": lambda m: _with(m.password(), "amqps://svc:{}@mq.internal/vhost"),
    "mssql string": lambda m: _with(m.password(), "Server=tcp:db,1433;Database=x;User ID=sa;Password={};Encrypt=True"),
    "jdbc": lambda m: _with(m.password(), "jdbc:postgresql://db:5432/main?user=app&password={}"),
    "bearer header": lambda m: _with(m.of(URL64, 40), "Authorization: Bearer {}"),
    "basic header": lambda m: _with(
        base64.b64encode(f"jo:{m.password()}".encode()).decode(), "Authorization: Basic {}"
    ),
    "cookie": lambda m: _with(m.of(URL64, 40), "Cookie: theme=dark; sessionid={}; lang=en"),
    "curl -u": lambda m: _with(m.password(), "curl -s -u admin:{} https://ci.internal/api"),
    "netrc": lambda m: _with(m.password(), "machine git.internal login jo password {}"),
    "mcp env": lambda m: _with(
        m.of(ALNUM, 32), '{{"mcpServers": {{"x": {{"command": "npx", "env": {{"BRAVE_API_KEY": "{}"}}}}}}}}'
    ),
    "mcp argument": lambda m: _with(m.of(ALNUM, 32), '{{"args": ["-y", "server", "--api-key", "{}"]}}'),
    "mcp header": lambda m: _with(m.of(ALNUM, 40), '{{"headers": {{"X-API-Key": "{}"}}}}'),
    "command line": lambda m: _with(m.of(ALNUM, 32), "deploy --token {} --env prod"),
    "uuid for a token": lambda m: _with(m.uuid(), "SNYK_TOKEN={}"),
    "prefix and hex": lambda m: _with("key_" + m.of(HEX, 64), "CURSOR_API_KEY={}"),
    "parts between dots": lambda m: _with(f"1000.{m.of(HEX, 32)}.{m.of(HEX, 32)}", "ZOHO_TOKEN={}"),
    "service bus": lambda m: _with(
        "/" + m.of(B64, 42) + "=",
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
    ),
    "npmrc": lambda m: _with(m.uuid(), "//registry.npmjs.org/:_authToken={}"),
    "docker config": lambda m: _with(
        base64.b64encode(f"jo:{m.password()}".encode()).decode(), '{{"auths": {{"https://x": {{"auth": "{}"}}}}}}'
    ),
    "kubernetes secret": lambda m: _with(
        base64.b64encode(m.of(ALNUM, 24).encode()).decode(),
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ntype: Opaque\ndata:\n  DATABASE_URL: {}\n",
    ),
    "kubernetes env": lambda m: _with(m.of(ALNUM, 32), "env:\n  - name: API_TOKEN\n    value: {}\n"),
    "task definition": lambda m: _with(m.of(ALNUM, 32), '{{"name": "API_KEY", "value": "{}"}}'),
    "terraform variable": lambda m: _with(
        m.of(ALNUM, 32), 'variable "api_token" {{\n  type    = string\n  default = "{}"\n}}'
    ),
    "dockerfile": lambda m: _with(m.of(ALNUM, 32), "FROM x\nENV API_KEY {}\nRUN y"),
    "fish": lambda m: _with(m.of(ALNUM, 32), "set -x OPENAI_API_KEY {}"),
    "php define": lambda m: _with(m.password(), "define( 'DB_PASSWORD', '{}' );"),
    "typed constant": lambda m: _with(m.of(ALNUM, 32), 'let api_key: &str = "{}";'),
    "curl --user": lambda m: _with(m.password(), "curl --user jo:{} https://x.io"),
    "docker login": lambda m: _with(m.password(), "docker login -u jo -p {} registry.internal"),
    "redis-cli": lambda m: _with(m.password(), "redis-cli -h cache -a {} ping"),
    "mongosh": lambda m: _with(m.password(), "mongosh --host db -u admin -p {} admin"),
    "sql user": lambda m: _with(m.password(), "CREATE USER app WITH PASSWORD '{}';"),
    "sql identified": lambda m: _with(m.password(), "CREATE USER 'app'@'%' IDENTIFIED BY '{}';"),
    "wpa": lambda m: _with(m.password(), 'network={{\n ssid="home"\n psk="{}"\n}}'),
    "pw": lambda m: _with(m.password(), "staging, pw: {}"),
    "note of a login": lambda m: _with(m.password(), "staging box: ID/PW: jo/{}"),
    "call": lambda m: _with(m.password(), 'user.setPassword("{}");'),
    "pair in a call": lambda m: _with(m.password(), 'requests.get(url, auth=("jo", "{}"))'),
    "service alone": lambda m: _with(m.of(ALNUM, 32), "algolia = '{}'"),
    "conditional assignment": lambda m: _with(m.of(ALNUM, 32), 'SERVICE_TOKEN ?= "{}"'),
    "default of a variable": lambda m: _with(m.password(), 'os.environ.get("DB_PASSWORD", "{}")'),
    "jenkins credential": lambda m: _with(m.of(ALNUM, 40), "<secret>{{vendor AQAAABAAA {}}}</secret>"),
    "key of a log": lambda m: _with(m.of(ALNUM, 40), "[DEBUG] Using Key={}"),
    "feishu webhook": lambda m: _with(m.uuid(), "https://open.feishu.cn/open-apis/bot/v2/hook/{}"),
    "ifttt webhook": lambda m: _with(m.of(URL64, 22), "https://maker.ifttt.com/trigger/x/with/key/{}"),
}
"""Formats that only their surroundings give away."""


def _with(secret: str, carrier: str) -> tuple[str, str]:
    return secret, carrier.format(secret)


def _lines(text: str) -> str:
    return "\n".join(f"+{line}" for line in text.split("\n"))


PLACES: dict[str, Callable[[str], str]] = {
    "alone": lambda s: s,
    "prose": lambda s: f"To reproduce it I used {s} and then the call went through.",
    "shell": lambda s: f"export SERVICE_TOKEN='{s}'",
    "json": lambda s: json.dumps({"note": "works", "value": s}),
    "json in json": lambda s: json.dumps({"body": json.dumps({"value": s})}),
    "yaml": lambda s: "deploy:\n  value: |\n    " + s.replace("\n", "\n    ") + "\n",
    "diff": lambda s: "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n" + _lines(f"VALUE={s}"),
    "python repr": lambda s: repr({"headers": {"x-value": s}}),
    "markdown": lambda s: f"Use this:\n\n```\n{s}\n```\n",
    "log": lambda s: f"2026-01-03T10:22:11Z ERROR worker[17]: request failed value={s} status=401",
    "trace": lambda s: f'  File "app.py", line 12, in call\n    client = Client("{s}")\nValueError: refused',
    "url": lambda s: f"https://api.internal/v1/things?value={quote(s, safe='')}&page=2",
}
