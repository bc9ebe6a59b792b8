"""The formats of tokens of the many smaller services, as data, in the manner of `rules`.

Written from the issuers' own descriptions and from what public rule sets agree on. Independent of how a text is
searched.
"""

from __future__ import annotations

from reasoningbank.guard.rule import HEX as _HEX
from reasoningbank.guard.rule import UUID as _UUID
from reasoningbank.guard.rule import SecretRule
from reasoningbank.guard.rule import W as _W

SERVICES: tuple[SecretRule, ...] = (
    # ------------------------------------------------------------ clouds and platforms
    SecretRule("alibaba-sts-token", ("STS.",), r"STS\.(?P<body>[A-Za-z0-9]{16,64})(?![\w.(])", True),
    SecretRule("amazon-mws-token", ("amzn.mws.",), rf"amzn\.mws\.{_UUID}"),
    SecretRule(
        "azure-key",
        ("+ASt", "ACDb", "+AMC"),
        r"[A-Za-z0-9/+]{76}(?:\+ASt|ACDb|\+AMC)[A-Za-z0-9/+]{6}==",
        lead=76,
    ),
    SecretRule("azure-search-key", ("AzSe",), r"[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}(?![A-Za-z0-9])", True, 42),
    SecretRule("azure-functions-key", ("AzFu",), rf"{_W}{{44}}AzFu{_W}{{6}}==", True, 44),
    SecretRule("azure-ai-key", ("JQQJ9",), r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{26,28}(?![A-Za-z0-9])", True, 52),
    SecretRule("buildkite-token", ("bk",), rf"bk(?:aa|aj|ar|ct|pt|pat|ps|ua)_{_W}{{40,}}", True),
    SecretRule("circleci-token", ("CCIPAT_", "CCIPRJ_"), r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[a-zA-Z0-9]{40}"),
    SecretRule("clickhouse-key", ("4b1d",), r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])", True),
    SecretRule("cloudsmith-key", ("csa_",), rf"csa_{_HEX}{{30}}[A-Za-z0-9]{{6}}(?!\w)", True),
    SecretRule("cockroach-key", ("CCDB1_",), r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    SecretRule("configcat-key", ("configcat-sdk-",), rf"configcat-sdk-\d/{_W}{{22}}/{_W}{{22}}"),
    SecretRule("datastax-token", ("AstraCS:",), r"AstraCS:[A-Za-z0-9]{20,}(?::[0-9a-f]{64})?"),
    SecretRule("deno-token", ("ddp_", "ddo_"), r"dd[po]_[A-Za-z0-9]{36}(?!\w)", True),
    SecretRule(
        "docker-swarm-token", ("SWMTKN-1-", "SWMKEY-1-"), r"SWM(?:TKN-1-[a-z0-9]{40,}-[a-z0-9]{20,}|KEY-1-[\w+/]{40,})"
    ),
    SecretRule("elastic-key", ("essu_", "essp_"), rf"ess[up]_{_W}{{60,}}={{0,2}}", True),
    SecretRule("exoscale-key", ("EXO",), r"EXO[a-zA-Z0-9]{24,30}(?![\w-])", True),
    SecretRule("fly-token", ("FlyV1 ",), r"FlyV1 [\w=,/+-]{60,}", True),
    SecretRule("kubernetes-bootstrap-key", ("K10",), rf"K10{_HEX}{{64}}::[\w:.-]{{8,}}", True),
    SecretRule("modal-token", ("ak-", "as-"), r"a[ks]-(?P<body>[A-Za-z0-9]{22})(?![\w-])", True),
    SecretRule("mongodb-key", ("mdb_sa_sk_",), rf"mdb_sa_sk_{_W}{{36,}}"),
    SecretRule(
        "private-key",
        ("LS0tLS1CRUdJTiB",),
        r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NI|FTkNSWVBURUQg|EU0EgUFJJVkFUR)[A-Za-z0-9+/]+={0,2}",
    ),
    SecretRule("render-key", ("rnd_",), r"rnd_[A-Za-z0-9]{28,}(?!\w)", True),
    SecretRule("runpod-key", ("rpa_",), r"rpa_[A-Za-z0-9]{28,}(?!\w)", True),
    SecretRule("scalingo-token", ("tk-us-",), rf"tk-us-{_W}{{40,}}", True),
    SecretRule("upcloud-token", ("ucat_",), r"ucat_[A-Za-z0-9]{24,}", True),
    SecretRule("val-town-token", ("vtwn_",), rf"vtwn_{_W}{{20,}}"),
    # ------------------------------------------------------------ code, packages, security
    SecretRule("aikido-token", ("AIK_CI_", "AIK_SECRET_"), r"AIK_(?:CI|SECRET)_[A-Za-z0-9]{20,}"),
    SecretRule("authress-key", (".acc_", ".acc-"), r"\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}"),
    SecretRule("bitbucket-token", ("BBDC-",), r"BBDC-[\w+/=-]{32,}", True),
    SecretRule(
        "devin-key", ("apk_", "cog_"), r"(?:apk_(?:user_)?[A-Za-z0-9+/]{80,}={0,2}|cog_[a-z2-7]{52}(?!\w))", True
    ),
    SecretRule("e2b-key", ("e2b_",), rf"e2b_{_HEX}{{40}}(?!\w)", True),
    SecretRule("gitlab-session", ("_gitlab_session=",), r"_gitlab_session=(?P<body>[0-9a-z]{32})(?!\w)"),
    SecretRule("harness-key", ("pat.", "sat."), rf"[ps]at\.{_W}{{22}}\.[0-9a-zA-Z]{{24}}\.[a-zA-Z0-9]{{20}}", True),
    SecretRule("ionic-token", ("ion_",), r"ion_[A-Za-z0-9]{42}(?!\w)", True),
    SecretRule("jumpcloud-key", ("jca_",), r"jca_[A-Za-z0-9]{36}(?!\w)", True),
    SecretRule("mergify-key", ("mergify_application_key_",), rf"mergify_application_key_{_W}{{40,}}"),
    SecretRule("snyk-token", ("snyk_",), rf"snyk_[a-z]{{3}}\.{_HEX}{{8}}\.[\w.-]{{30,}}", True),
    SecretRule("unkey-key", ("unkey_",), r"unkey_[A-Za-z0-9_]{20,}", True),
    SecretRule("zuplo-key", ("zpka_",), r"zpka_[A-Za-z0-9]{30,}_[A-Za-z0-9]{8}"),
    # ------------------------------------------------------------ models and agents
    SecretRule("reasoningbank-token", ("rbk_",), rf"rbk_[a-z2-7]{{16}}_{_W}{{43}}", True),
    SecretRule("anyscale-key", ("esecret_",), r"esecret_[A-Za-z0-9]{24,}", True),
    SecretRule("apify-token", ("apify_api_",), r"apify_api_[A-Za-z0-9]{34,}"),
    SecretRule("brave-key", ("BSA",), rf"BSA{_W}{{24,40}}(?![\w-])", True),
    SecretRule("browserbase-key", ("bb_live_", "bb_test_"), rf"bb_(?:live|test)_{_W}{{20,}}", True),
    SecretRule("cartesia-key", ("sk_car_",), r"sk_car_\w{20,}", True),
    SecretRule("context7-key", ("ctx7sk-",), rf"ctx7sk-{_W}{{30,}}"),
    SecretRule("gemini-key", ("AQ.Ab",), rf"AQ\.Ab{_W}{{40,}}", True),
    SecretRule("llama-cloud-key", ("llx-",), rf"llx-{_W}{{40,}}", True),
    SecretRule("mem0-key", ("m0-",), r"m0-[A-Za-z0-9]{40}(?![\w-])", True),
    SecretRule("minimax-key", ("sk-api-",), rf"sk-api-{_W}{{40,}}", True),
    SecretRule("wandb-key", ("wandb_v1_",), r"wandb_v1_\w{60,}"),
    # ------------------------------------------------------------ payment and identity
    SecretRule("asaas-key", ("$aact_",), rf"\$aact_(?:(?:prod|hmlg)_)?{_W}{{20,}}"),
    SecretRule("flutterwave-key", ("FLWSECK",), r"FLWSECK(?:_TEST)?-(?P<body>[A-Za-z0-9]{12,})(?:-X)?"),
    SecretRule(
        "mercury-token", ("mercury_production_",), r"mercury_production_[a-z]{2,6}_[A-Za-z0-9]{40,}(?:_yrucrem)?"
    ),
    SecretRule(
        "onfido-token", ("api_live", "api_sandbox"), rf"api_(?:live|sandbox)(?:_[a-z]{{2}})?\.{_W}{{20,}}", True
    ),
    SecretRule("paddle-key", ("pdl_",), r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_\w{20,}"),
    SecretRule("persona-key", ("persona_",), rf"persona_(?:production|sandbox)_{_W}{{20,}}", True),
    SecretRule("polar-token", ("polar_",), rf"polar_[a-z]{{2,3}}_{_W}{{20,}}", True),
    SecretRule("proof-key", ("prf_",), rf"prf_(?:[a-z]{{2,4}}_)?{_W}{{30,}}", True),
    SecretRule("ramp-secret", ("ramp_sec_",), r"ramp_sec_[A-Za-z0-9]{40,}"),
    SecretRule("shippo-token", ("shippo_",), rf"shippo_(?:live|test)_{_HEX}{{40}}"),
    SecretRule("stytch-secret", ("secret-live-", "secret-test-"), rf"secret-(?:live|test)-{_W}{{30,}}={{0,2}}", True),
    SecretRule("svix-key", ("testsk_", "livesk_"), r"(?:test|live)sk_[\w.-]{24,}", True),
    SecretRule("xendit-key", ("xnd_",), r"xnd_(?:production|development)_[A-Za-z0-9]{40,}"),
    # ------------------------------------------------------------ messaging, media, work
    SecretRule("adobe-secret", ("p8e-",), r"p8e-[A-Za-z0-9_-]{32}(?![\w-])", True),
    SecretRule("cal-key", ("cal_live_", "cal_test_"), rf"cal_(?:live|test)_{_HEX}{{32}}", True),
    SecretRule("canva-secret", ("cnvca",), rf"cnvca{_W}{{45,51}}(?!\w)", True),
    SecretRule("dropbox-token", ("sl.",), rf"sl\.(?:u\.)?(?P<body>{_W}{{100,}})", True),
    SecretRule("devcycle-key", ("dvc_",), r"dvc_(?:server|client|mobile)_\w{9,}", True),
    SecretRule(
        "facebook-token",
        ("EAA",),
        r"(?:EAACEdEose0cBA[A-Za-z0-9]{10,}|EAA[B-Z][A-Za-z0-9]{80,}(?:ZD)?)(?![\w+/=])",
        True,
    ),
    SecretRule("facebook-app-token", ("|",), rf"\d{{15}}\|(?P<body>{_W}{{27,40}})(?![\w|-])", lead=15),
    SecretRule("frameio-token", ("fio-u-",), r"fio-u-[\w=-]{60,}"),
    SecretRule("gc-notify-key", ("gcntfy-",), rf"gcntfy-[\w-]{{1,80}}{_UUID}", True),
    SecretRule("inngest-key", ("signkey-",), rf"signkey-[a-z]+-{_HEX}{{64}}"),
    SecretRule("intra42-secret", ("s-s4t2",), rf"s-s4t2(?:ud|af)-{_HEX}{{64}}"),
    SecretRule("lichess-token", ("lip_",), r"lip_\w{16,60}(?![\w-])", True),
    SecretRule("mailersend-token", ("mlsn.",), r"mlsn\.[A-Za-z0-9]{30,}", True),
    SecretRule("maxmind-key", ("_mmk",), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)", True, 36),
    SecretRule("miro-token", ("eyJtaXJv",), rf"eyJtaXJv{_W}{{40,}}"),
    SecretRule("nylas-key", ("nyk_",), rf"nyk_(?:v\d_)?{_W}{{40,}}", True),
    SecretRule("onesignal-key", ("os_v2_",), r"os_v2_(?:app|org)_[a-z2-7]{80,}"),
    SecretRule("pinterest-token", ("pina_",), rf"pina_{_W}{{20,}}", True),
    SecretRule("salesforce-token", ("!",), r"00[A-Za-z0-9]{13}!(?P<body>[\w.-]{80,})", True, 15),
    SecretRule("samsara-token", ("samsara_api_",), r"samsara_api_[A-Za-z0-9]{24,}"),
    SecretRule("segment-token", ("sgp_",), r"sgp_[A-Za-z0-9]{64}(?!\w)", True),
    SecretRule("settlemint-token", ("sm_",), r"sm_[aps]at_[A-Za-z0-9]{16}(?!\w)", True),
    SecretRule("tableau-token", ("==:",), r"[A-Za-z0-9+/]{22}==:(?P<body>[A-Za-z0-9]{32})(?!\w)", True, 22),
    SecretRule("thunderstore-token", ("tss_",), rf"tss_{_W}{{24,}}(?![\w-])", True),
    SecretRule("trigger-key", ("tr_",), r"tr_(?:dev|prod|stg|pat)_[A-Za-z0-9]{20,}(?!\w)", True),
    SecretRule("twitch-token", ("oauth:",), r"oauth:(?P<body>[a-z0-9]{30})(?!\w)", True),
    SecretRule("vk-token", ("vk1.a.",), rf"vk1\.a\.{_W}{{80,}}"),
    SecretRule("wakatime-key", ("waka_",), r"waka_[A-Za-z0-9-]{36,}", True),
    SecretRule("workato-token", ("wrka",), r"wrka[a-z]{0,4}-eyJ[\w.-]{60,}", True),
)
