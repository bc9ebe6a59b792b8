"""The formats of tokens of the many smaller services, as data, in the manner of `rules`.

Written from the issuers' own descriptions and from what public rule sets agree on. Knows nothing of how a text is
searched.
"""

from __future__ import annotations

from reasoningbank.guard.rule import HEX as _HEX
from reasoningbank.guard.rule import UUID as _UUID
from reasoningbank.guard.rule import Rule
from reasoningbank.guard.rule import W as _W

SERVICES: tuple[Rule, ...] = (
    # ------------------------------------------------------------ clouds and platforms
    Rule("alibaba-sts-token", ("STS.",), r"STS\.(?P<body>[A-Za-z0-9]{16,64})(?![\w.(])", True),
    Rule("amazon-mws-token", ("amzn.mws.",), rf"amzn\.mws\.{_UUID}"),
    Rule(
        "azure-key",
        ("+ASt", "ACDb", "+AMC"),
        r"[A-Za-z0-9/+]{76}(?:\+ASt|ACDb|\+AMC)[A-Za-z0-9/+]{6}==",
        lead=76,
    ),
    Rule("azure-search-key", ("AzSe",), r"[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}(?![A-Za-z0-9])", True, 42),
    Rule("azure-functions-key", ("AzFu",), rf"{_W}{{44}}AzFu{_W}{{6}}==", True, 44),
    Rule("azure-ai-key", ("JQQJ9",), r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{26,28}(?![A-Za-z0-9])", True, 52),
    Rule("buildkite-token", ("bk",), rf"bk(?:aa|aj|ar|ct|pt|pat|ps|ua)_{_W}{{40,}}", True),
    Rule("circleci-token", ("CCIPAT_", "CCIPRJ_"), r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[a-zA-Z0-9]{40}"),
    Rule("clickhouse-key", ("4b1d",), r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])", True),
    Rule("cloudsmith-key", ("csa_",), rf"csa_{_HEX}{{30}}[A-Za-z0-9]{{6}}(?!\w)", True),
    Rule("cockroach-key", ("CCDB1_",), r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    Rule("configcat-key", ("configcat-sdk-",), rf"configcat-sdk-\d/{_W}{{22}}/{_W}{{22}}"),
    Rule("datastax-token", ("AstraCS:",), r"AstraCS:[A-Za-z0-9]{20,}(?::[0-9a-f]{64})?"),
    Rule("deno-token", ("ddp_", "ddo_"), r"dd[po]_[A-Za-z0-9]{36}(?!\w)", True),
    Rule(
        "docker-swarm-token", ("SWMTKN-1-", "SWMKEY-1-"), r"SWM(?:TKN-1-[a-z0-9]{40,}-[a-z0-9]{20,}|KEY-1-[\w+/]{40,})"
    ),
    Rule("elastic-key", ("essu_", "essp_"), rf"ess[up]_{_W}{{60,}}={{0,2}}", True),
    Rule("exoscale-key", ("EXO",), r"EXO[a-zA-Z0-9]{24,30}(?![\w-])", True),
    Rule("fly-token", ("FlyV1 ",), r"FlyV1 [\w=,/+-]{60,}", True),
    Rule("kubernetes-bootstrap-key", ("K10",), rf"K10{_HEX}{{64}}::[\w:.-]{{8,}}", True),
    Rule("modal-token", ("ak-", "as-"), r"a[ks]-(?P<body>[A-Za-z0-9]{22})(?![\w-])", True),
    Rule("mongodb-key", ("mdb_sa_sk_",), rf"mdb_sa_sk_{_W}{{36,}}"),
    Rule(
        "private-key",
        ("LS0tLS1CRUdJTiB",),
        r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NI|FTkNSWVBURUQg|EU0EgUFJJVkFUR)[A-Za-z0-9+/]+={0,2}",
    ),
    Rule("render-key", ("rnd_",), r"rnd_[A-Za-z0-9]{28,}(?!\w)", True),
    Rule("runpod-key", ("rpa_",), r"rpa_[A-Za-z0-9]{28,}(?!\w)", True),
    Rule("scalingo-token", ("tk-us-",), rf"tk-us-{_W}{{40,}}", True),
    Rule("upcloud-token", ("ucat_",), r"ucat_[A-Za-z0-9]{24,}", True),
    Rule("val-town-token", ("vtwn_",), rf"vtwn_{_W}{{40,}}"),
    # ------------------------------------------------------------ code, packages, security
    Rule("aikido-token", ("AIK_CI_", "AIK_SECRET_"), r"AIK_(?:CI|SECRET)_[A-Za-z0-9]{20,}"),
    Rule("authress-key", (".acc_", ".acc-"), r"\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}"),
    Rule("bitbucket-token", ("BBDC-",), r"BBDC-[A-Za-z0-9+/=]{32,}", True),
    Rule("devin-key", ("apk_", "cog_"), r"(?:apk_(?:user_)?[A-Za-z0-9+/]{80,}={0,2}|cog_[a-z2-7]{52}(?!\w))", True),
    Rule("e2b-key", ("e2b_",), rf"e2b_{_HEX}{{40}}(?!\w)", True),
    Rule("gitlab-session", ("_gitlab_session=",), r"_gitlab_session=(?P<body>[0-9a-z]{32})(?!\w)"),
    Rule("harness-key", ("pat.", "sat."), rf"[ps]at\.{_W}{{22}}\.[0-9a-f]{{24}}\.[a-zA-Z0-9]{{20}}", True),
    Rule("ionic-token", ("ion_",), r"ion_[A-Za-z0-9]{42}(?!\w)", True),
    Rule("jumpcloud-key", ("jca_",), r"jca_[A-Za-z0-9]{36}(?!\w)", True),
    Rule("mergify-key", ("mergify_application_key_",), rf"mergify_application_key_{_W}{{40,}}"),
    Rule("snyk-token", ("snyk_",), rf"snyk_[a-z]{{3}}\.{_HEX}{{8}}\.[\w.-]{{30,}}", True),
    Rule("unkey-key", ("unkey_",), r"unkey_[A-Za-z0-9_]{20,}", True),
    Rule("zuplo-key", ("zpka_",), r"zpka_[A-Za-z0-9]{30,}_[A-Za-z0-9]{8}"),
    # ------------------------------------------------------------ models and agents
    Rule("anyscale-key", ("esecret_",), r"esecret_[A-Za-z0-9]{24,}", True),
    Rule("apify-token", ("apify_api_",), r"apify_api_[A-Za-z0-9]{34,}"),
    Rule("brave-key", ("BSA",), rf"BSA{_W}{{24,40}}(?![\w-])", True),
    Rule("browserbase-key", ("bb_live_", "bb_test_"), rf"bb_(?:live|test)_{_W}{{20,}}", True),
    Rule("cartesia-key", ("sk_car_",), r"sk_car_\w{20,}", True),
    Rule("context7-key", ("ctx7sk-",), rf"ctx7sk-{_W}{{30,}}"),
    Rule("gemini-key", ("AQ.Ab",), rf"AQ\.Ab{_W}{{40,}}", True),
    Rule("llama-cloud-key", ("llx-",), r"llx-[A-Za-z0-9]{40,}", True),
    Rule("mem0-key", ("m0-",), r"m0-[A-Za-z0-9]{40}(?![\w-])", True),
    Rule("minimax-key", ("sk-api-",), rf"sk-api-{_W}{{40,}}", True),
    Rule("wandb-key", ("wandb_v1_",), r"wandb_v1_\w{60,}"),
    # ------------------------------------------------------------ payment and identity
    Rule("asaas-key", ("$aact_",), rf"\$aact_(?:(?:prod|hmlg)_)?{_W}{{20,}}"),
    Rule("flutterwave-key", ("FLWSECK",), r"FLWSECK(?:_TEST)?-(?P<body>[A-Za-z0-9]{12,})(?:-X)?"),
    Rule("mercury-token", ("mercury_production_",), r"mercury_production_[a-z]{2,6}_[A-Za-z0-9]{40,}(?:_yrucrem)?"),
    Rule("onfido-token", ("api_live", "api_sandbox"), rf"api_(?:live|sandbox)(?:_[a-z]{{2}})?\.{_W}{{20,}}", True),
    Rule("paddle-key", ("pdl_",), r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_\w{20,}"),
    Rule("persona-key", ("persona_",), rf"persona_(?:production|sandbox)_{_W}{{20,}}", True),
    Rule("polar-token", ("polar_",), rf"polar_[a-z]{{2,3}}_{_W}{{20,}}", True),
    Rule("proof-key", ("prf_",), rf"prf_[a-z]{{2,4}}_{_W}{{40,}}", True),
    Rule("ramp-secret", ("ramp_sec_",), r"ramp_sec_[A-Za-z0-9]{40,}"),
    Rule("shippo-token", ("shippo_",), rf"shippo_(?:live|test)_{_HEX}{{40}}"),
    Rule("stytch-secret", ("secret-live-", "secret-test-"), rf"secret-(?:live|test)-{_W}{{30,}}={{0,2}}", True),
    Rule("svix-key", ("testsk_", "livesk_"), r"(?:test|live)sk_[\w.-]{24,}", True),
    Rule("xendit-key", ("xnd_",), r"xnd_(?:production|development)_[A-Za-z0-9]{40,}"),
    # ------------------------------------------------------------ messaging, media, work
    Rule("adobe-secret", ("p8e-",), r"p8e-[A-Za-z0-9_-]{32}(?![\w-])", True),
    Rule("cal-key", ("cal_live_", "cal_test_"), rf"cal_(?:live|test)_{_HEX}{{32}}", True),
    Rule("canva-secret", ("cnvca",), rf"cnvca{_W}{{45,51}}(?!\w)", True),
    Rule("dropbox-token", ("sl.",), rf"sl\.(?:u\.)?(?P<body>{_W}{{100,}})", True),
    Rule("devcycle-key", ("dvc_",), r"dvc_(?:server|client|mobile)_\w{9,}", True),
    Rule(
        "facebook-token",
        ("EAA",),
        r"(?:EAACEdEose0cBA[A-Za-z0-9]{10,}|EAA[B-Z][A-Za-z0-9]{90,}(?:ZD)?)(?![\w+/=])",
        True,
    ),
    Rule("facebook-app-token", ("|",), rf"\d{{15}}\|(?P<body>{_W}{{27,40}})(?![\w|-])", lead=15),
    Rule("frameio-token", ("fio-u-",), r"fio-u-[\w=-]{60,}"),
    Rule("gc-notify-key", ("gcntfy-",), rf"gcntfy-[\w-]{{1,80}}{_UUID}", True),
    Rule("inngest-key", ("signkey-",), rf"signkey-[a-z]+-{_HEX}{{64}}"),
    Rule("intra42-secret", ("s-s4t2",), rf"s-s4t2(?:ud|af)-{_HEX}{{64}}"),
    Rule("lichess-token", ("lip_",), r"lip_\w{16,60}(?![\w-])", True),
    Rule("mailersend-token", ("mlsn.",), r"mlsn\.[A-Za-z0-9]{30,}", True),
    Rule("maxmind-key", ("_mmk",), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)", True, 36),
    Rule("miro-token", ("eyJtaXJv",), rf"eyJtaXJv{_W}{{40,}}"),
    Rule("nylas-key", ("nyk_",), r"nyk_(?:v\d_)?[A-Za-z0-9]{40,}", True),
    Rule("onesignal-key", ("os_v2_",), r"os_v2_(?:app|org)_[a-z2-7]{80,}"),
    Rule("pinterest-token", ("pina_",), rf"pina_{_W}{{20,}}", True),
    Rule("salesforce-token", ("!",), r"00[A-Za-z0-9]{13}!(?P<body>[\w.-]{80,})", True, 15),
    Rule("samsara-token", ("samsara_api_",), r"samsara_api_[A-Za-z0-9]{24,}"),
    Rule("segment-token", ("sgp_",), r"sgp_[A-Za-z0-9]{64}(?!\w)", True),
    Rule("settlemint-token", ("sm_",), r"sm_[aps]at_[A-Za-z0-9]{16}(?!\w)", True),
    Rule("tableau-token", ("==:",), r"[A-Za-z0-9+/]{22}==:(?P<body>[A-Za-z0-9]{32})(?!\w)", True, 22),
    Rule("thunderstore-token", ("tss_",), rf"tss_{_W}{{24,}}(?![\w-])", True),
    Rule("trigger-key", ("tr_",), r"tr_(?:dev|prod|stg|pat)_[A-Za-z0-9]{20,}(?!\w)", True),
    Rule("twitch-token", ("oauth:",), r"oauth:(?P<body>[a-z0-9]{30})(?!\w)", True),
    Rule("vk-token", ("vk1.a.",), rf"vk1\.a\.{_W}{{80,}}"),
    Rule("wakatime-key", ("waka_",), r"waka_[A-Za-z0-9-]{36,}", True),
    Rule("workato-token", ("wrka",), r"wrka[a-z]{0,4}-eyJ[\w.-]{60,}", True),
)
