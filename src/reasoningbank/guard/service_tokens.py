"""The formats of tokens of services that are met now and then, as data: a prefix, and what follows it.

Written from the issuers' own descriptions and from what public rule sets agree on, in the manner of `services`, which
has those with a shape of several parts.
"""

from __future__ import annotations

import re

from reasoningbank.guard.rule import HEX, UUID, SecretRule

_ALNUM, _URL, _LOWER, _UPPER = "[A-Za-z0-9]", r"[\w-]", "[a-z0-9]", "[A-Z0-9]"


def _rule(name: str, prefixes: str, body: str, least: int, most: int | None = None) -> SecretRule:
    """Any of the prefixes, then so many of such characters; with `most` nothing of a word may follow."""
    anchors = tuple(prefixes.split())
    length, end = (f"{{{least},}}", "") if most is None else (f"{{{least},{most}}}", r"(?![\w-])")
    return SecretRule(
        name, anchors, rf"(?:{'|'.join(map(re.escape, anchors))})(?P<body>{body}{length}){end}", bounded=True
    )


SERVICE_TOKENS: tuple[SecretRule, ...] = (
    # ------------------------------------------------------------ code, packages, delivery
    _rule("openvsx-token", "ovsxp_ ovsxat_", _URL, 24),
    _rule("packagist-token", "packagist_ort_ packagist_out_ packagist_cut_ packagist_uut_ packagist_ack_", HEX, 40),
    _rule("gitpod-token", "gitpod_pat_", r"[\w.-]", 30),
    _rule("codesandbox-token", "csb_v1_", _URL, 30),
    _rule("jetbrains-token", "perm: perm-", r"[\w=.-]", 50),
    _rule("socket-token", "sktsec_", _URL, 30),
    _rule("rollbar-token", "rbacc_", _ALNUM, 30),
    _rule("dbt-token", "dbtc_ dbtu_", _URL, 30),
    _rule("coderabbit-key", "cr-", HEX, 56, 64),
    _rule("sqreen-token", "org_ env_", HEX, 60, 64),
    _rule("spacelift-token", "spaceliftapi_", _URL, 30),
    _rule("defined-networking-key", "dnkey-", r"[A-Z0-9-]", 70),
    _rule("akamai-token", "akab-", r"[a-z0-9-]", 30),
    SecretRule(
        "sidekiq-secret", ("CONTRIBSYS__COM",), rf"CONTRIBSYS__COM\W{{1,6}}(?P<body>{HEX}{{8}}:{HEX}{{8}})(?!\w)"
    ),
    SecretRule(
        "paserk-key", (".secret.", ".local."), rf"[kv][1-4]\.(?:secret|local)\.(?P<body>{_URL}{{22,}})", True, 2
    ),
    SecretRule(
        "nkey-seed", ("SAA", "SCA", "SNA", "SOA", "SUA", "SXA"), r"S[ACNOUX]A[A-Z2-7]{40,80}(?![A-Za-z0-9])", True
    ),
    _rule("wundergraph-key", "cosmo_", HEX, 32),
    # ------------------------------------------------------------ work and content
    _rule("shortcut-token", "sct_r_ sct_rs_ sct_rw_ sct_rwa_ sct_w_ sct_ro_", _URL, 40),
    _rule("tolgee-key", "tgpak_ tgpat_", _LOWER, 40, 60),
    _rule("dub-key", "dub_", _ALNUM, 22, 32),
    _rule("hex-token", "hxtp_ hxtw_", _LOWER, 60),
    _rule("clickup-token", "pk_1 pk_2 pk_3 pk_4 pk_5 pk_6 pk_7 pk_8 pk_9", r"\d{0,11}_[A-Z0-9]", 30, 34),
    _rule("n8n-key", "n8n_api_", _ALNUM, 36),
    _rule("retool-token", "retool_01", _LOWER, 20),
    _rule("instatus-token", "isat_", _URL, 24),
    _rule("telnyx-key", "KEY0", rf"{HEX}{{31}}_{_URL}", 20, 24),
    _rule("cursor-key", "crsr_", HEX, 60, 64),
    _rule("xata-key", "xau_", _ALNUM, 36),
    _rule("trello-token", "ATTA", HEX, 64),
    # ------------------------------------------------------------ watching and data
    SecretRule("axiom-token", ("xaat-", "xapt-", "xait-"), rf"xa[aip]t-{UUID}", True),
    _rule("honeybadger-token", "hbp_", _ALNUM, 30),
    _rule("checkly-key", "cu_", HEX, 32, 32),
    _rule("firehydrant-token", "fhb-", HEX, 32),
    _rule("ubidots-token", "BBUS- BBFF-", _ALNUM, 30, 40),
    _rule("posthog-key", "pha_ phr_", _ALNUM, 36),
    _rule("databento-key", "db-", _ALNUM, 29, 29),
    _rule("yandex-token", "t1.", r"[\w=.-]", 60),
    _rule("yandex-oauth-token", "y0_ y1_ y2_ y3_", _URL, 50),
    _rule("zoho-token", "1000.", rf"{HEX}{{32}}\.{HEX}", 32),
    _rule("gcs-key", "GOOG1E", _UPPER, 40),
    _rule("localstack-key", "LSIA LKIA", _UPPER, 16, 16),
    # ------------------------------------------------------------ payment, identity, messages
    _rule("brex-token", "bxt_", _ALNUM, 30),
    SecretRule("checkout-key", ("sk_",), rf"sk_(?:test_|sbox_)?{UUID}", True),
    _rule("instagram-token", "IGQV IGAA", r"[\w=-]", 60),
    _rule("ntlm-auth", "TlRMTVNTUAA", r"[\w+/=-]", 20),
    _rule("captcha-secret", "ES_", HEX, 32, 32),
    _rule("braintree-key", "sandbox_ production_", rf"{_LOWER}{{8}}_{_LOWER}", 16, 16),
    _rule("fcm-key", "AAAA", rf"{_URL}{{7}}:APA91b{_URL}", 100),
)
