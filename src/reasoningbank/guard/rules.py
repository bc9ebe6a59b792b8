"""The formats of tokens that carry their own name, as data.

One line a format: what it is called in a placeholder, the literals of which one must be there, and the exact shape.
Written from the issuers' own descriptions. Knows nothing about how a text is searched.
"""

from __future__ import annotations

import re
from functools import cache

from reasoningbank.guard.rule import HEX as _HEX
from reasoningbank.guard.rule import Rule
from reasoningbank.guard.rule import W as _W
from reasoningbank.guard.service_tokens import SERVICE_TOKENS
from reasoningbank.guard.services import SERVICES

RULES: tuple[Rule, ...] = (
    # ------------------------------------------------------------ clouds
    Rule(
        "aws-access-key",
        ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
        True,
    ),
    Rule(
        "aws-bedrock-key",
        ("ABSK", "bedrock-api-key-"),
        r"(?:ABSK[A-Za-z0-9+/]{60,}|bedrock-api-key-[A-Za-z0-9+/]{20,})={0,2}",
        True,
    ),
    Rule("gcp-api-key", ("AIza",), rf"AIza{_W}{{35,}}"),
    Rule("gcp-oauth-token", ("ya29.",), rf"ya29\.{_W}{{20,}}(?:\.{_W}+)*", True),
    Rule("gcp-oauth-secret", ("GOCSPX-",), rf"GOCSPX-{_W}{{24,}}"),
    Rule("gcp-refresh-token", ("1//0",), rf"1//0{_W}{{30,}}", True),
    Rule("azure-client-secret", ("Q~",), r"[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~])", True, 4),
    Rule("azure-devops-pat", ("AZDO",), r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])", True, 76),
    Rule("alibaba-access-key", ("LTAI",), r"LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])", True),
    Rule("tencent-secret-id", ("AKID",), r"AKID[A-Za-z0-9]{32,}", True),
    Rule("yandex-key", ("AQVN", "YCAJ", "YC"), rf"(?:AQVN{_W}{{35,38}}|YCAJE{_W}{{20}}|YC[M-P]{_W}{{38}})", True),
    Rule("digitalocean-token", ("_v1_",), rf"do[opr]_v1_{_HEX}{{64}}", True, 3),
    Rule("heroku-key", ("HRKU-",), rf"HRKU-{_W}{{36,}}"),
    Rule(
        "fly-token",
        ("fo1_", "fm1", "fm2_"),
        rf"(?:fo1_{_W}{{43}}|fm1[ar]_[\w+/-]{{80,}}={{0,3}}|fm2_[\w+/-]{{80,}}={{0,3}})",
    ),
    Rule("cloudflare-origin-key", ("v1.0-",), rf"v1\.0-{_HEX}{{24}}-{_HEX}{{146}}"),
    Rule("cloudflare-token", ("cfut_", "cfat_", "cfk_"), r"cf(?:ut|at|k)_[A-Za-z0-9]{32,}", True),
    Rule("netlify-token", ("nfp_",), r"nfp_[A-Za-z0-9]{36,}"),
    Rule(
        "vercel-token",
        ("vcp_", "vck_", "vca_", "vci_", "vcr_", "vercel_blob_rw_"),
        r"(?:vc[pkair]_[\w-]{24,}|vercel_blob_rw_\w{30,})",
        True,
    ),
    Rule("supabase-key", ("sbp_", "sb_secret_"), rf"(?:sbp_(?:v0_)?{_W}{{40}}|sb_secret_{_W}{{20,}})"),
    Rule("planetscale-token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}"),
    Rule("tailscale-key", ("tskey-",), rf"tskey-(?:[a-z]+-)?{_W}{{20,}}"),
    Rule("scaleway-key", ("SCW",), r"SCW[A-Z0-9]{17}(?![A-Za-z0-9])", True),
    # ------------------------------------------------------------ git hosts and package registries
    Rule("github-pat", ("ghp_",), r"ghp_[A-Za-z0-9]{30,}"),
    Rule("github-oauth", ("gho_",), r"gho_[A-Za-z0-9]{30,}"),
    Rule("github-app-token", ("ghu_", "ghs_"), r"gh[us]_[A-Za-z0-9]{30,}(?:[\w.-]*\w)?"),
    Rule("github-refresh-token", ("ghr_",), r"ghr_[A-Za-z0-9]{30,}"),
    Rule("github-fine-grained-pat", ("github_pat_",), r"github_pat_\w{22,}"),
    Rule("gitlab-pat", ("glpat-",), rf"glpat-{_W}{{20,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?"),
    Rule(
        "gitlab-token",
        (
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "glffct-",
            "glrtr-",
            "glwt-",
        ),
        rf"gl(?:dt|rtr?|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-{_W}{{20,}}(?:\.[\w.]{{8,}})?",
    ),
    Rule("gitlab-runner-token", ("GR1348941",), rf"GR1348941{_W}{{20,}}"),
    Rule("bitbucket-token", ("ATBB", "ATCTT3x"), r"(?:ATBB[A-Za-z0-9]{24,}|ATCTT3x[\w=.-]{100,})", True),
    Rule("atlassian-token", ("ATAT",), r"(?:ATATT3x[\w=.-]{60,}|ATAT[\w=-]{100,})", True),
    Rule("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    Rule("pypi-token", ("pypi-Ag",), rf"pypi-Ag{_W}{{50,}}"),
    Rule("rubygems-key", ("rubygems_",), rf"rubygems_{_HEX}{{48}}"),
    Rule("crates-token", ("cio",), r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", True),
    Rule("nuget-key", ("oy2",), r"oy2[a-z0-9]{43}(?![a-z0-9])", True),
    Rule("clojars-token", ("CLOJARS_",), r"CLOJARS_[A-Za-z0-9]{60}"),
    Rule("docker-token", ("dckr_",), rf"dckr_(?:pat|oat)_{_W}{{24,}}"),
    Rule("jfrog-token", ("AKC", "cmVmd"), r"(?:AKC[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{55,})", True),
    Rule("artifact-registry-key", ("sha256~",), rf"sha256~{_W}{{43}}"),
    # ------------------------------------------------------------ messaging
    Rule("slack-token", ("xox",), r"xox(?:[abceoprs][-.][\w.-]{10,}|d-[\w%+/=-]{20,})"),
    Rule("slack-app-token", ("xapp-",), r"xapp-\d-[\w-]{20,}"),
    Rule("sendgrid-key", ("SG.",), r"SG\.[\w=-]{16,66}\.?[\w=.-]{30,}", True),
    Rule("mailgun-key", ("key-",), r"key-(?P<body>[0-9a-z]{32})(?![\w-])"),
    Rule("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"x(?:key|smtp)sib-{_HEX}{{64}}-[A-Za-z0-9]{{16}}"),
    Rule("resend-key", ("re_",), r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}", True),
    Rule("hubspot-token", ("pat-na", "pat-eu"), rf"pat-(?:na|eu)\d-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),
    # ------------------------------------------------------------ payment and shops
    Rule("stripe-key", ("_live_", "_test_", "_prod_"), r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{12,}", True, 2),
    Rule("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    Rule("square-token", ("sq0", "EAAA"), rf"(?:sq0(?:atp|csp|idp)-{_W}{{22,}}|EAAA{_W}{{30,60}}(?![\w+/=-]))", True),
    Rule("braintree-token", ("access_token$",), rf"access_token\$(?:production|sandbox)\$[0-9a-z]{{16}}\${_HEX}{{32}}"),
    Rule("shopify-token", ("shp",), rf"shp(?:at|ca|pa|ss|ua)_{_HEX}{{32,}}"),
    Rule(
        "plaid-token",
        ("access-",),
        rf"access-(?:sandbox|development|production)-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
    ),
    Rule("razorpay-key", ("rzp_",), r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    Rule("easypost-key", ("EZAK", "EZTK"), r"EZ[AT]K[A-Za-z0-9]{54}", True),
    # ------------------------------------------------------------ models
    Rule("anthropic-key", ("sk-ant-",), rf"sk-ant-{_W}{{20,}}"),
    Rule("openrouter-key", ("sk-or-",), rf"sk-or-(?:v\d-)?{_W}{{32,}}"),
    Rule(
        "openai-key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        rf"sk-(?:proj|svcacct|admin|None)-{_W}{{20,}}",
    ),
    Rule("langfuse-key", ("sk-lf-",), rf"sk-lf-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),
    Rule("sk-key", ("sk-",), r"sk-(?:[a-z]{2,12}-)?[A-Za-z0-9]{20,}", True),
    Rule("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{32,}"),
    Rule("huggingface-token", ("hf_", "api_org_"), r"(?:hf_|api_org_)[A-Za-z0-9]{30,}", True),
    Rule("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{32,}", True),
    Rule("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{32,}"),
    Rule("xai-key", ("xai-",), r"xai-[\w-]{60,}"),
    Rule("cerebras-key", ("csk-",), r"csk-[A-Za-z0-9]{40,}", True),
    Rule("nvidia-key", ("nvapi-",), rf"nvapi-{_W}{{48,}}"),
    Rule("fireworks-key", ("fw_",), r"fw_[A-Za-z0-9]{20,}", True),
    Rule("together-key", ("tgp_v1_",), rf"tgp_v1_{_W}{{40,}}"),
    Rule("langsmith-key", ("lsv2_", "ls__"), rf"(?:lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}|ls__{_HEX}{{32}})"),
    Rule("elevenlabs-key", ("sk_",), rf"sk_{_HEX}{{48}}(?!{_W})", True),
    Rule("pinecone-key", ("pcsk_",), r"pcsk_\w{40,}"),
    Rule("tavily-key", ("tvly-",), r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}"),
    Rule("firecrawl-key", ("fc-",), rf"fc-{_HEX}{{32}}(?!{_W})", True),
    Rule("jina-key", ("jina_",), r"jina_[\w-]{50,}", True),
    Rule("voyage-key", ("pa-",), rf"pa-{_W}{{43}}(?!{_W})", True),
    Rule("cohere-key", ("co_",), r"co_[A-Za-z0-9]{36,}", True),
    # ------------------------------------------------------------ data and watching
    Rule("databricks-token", ("dapi", "dose"), rf"(?:dapi|dose){_HEX}{{32}}(?:-\d)?(?!\w)", True),
    Rule(
        "newrelic-key",
        ("NRAK-", "NRAA-", "NRII-", "NRIQ-", "NRRA-", "NRSP-", "NRJS-"),
        rf"NR(?:AK|AA|II|IQ|RA|SP|JS)-{_W}{{19,}}",
        True,
    ),
    Rule("sentry-token", ("sntrys_", "sntryu_", "sntrya_"), r"sntry[sua]_[\w+/=-]{40,}"),
    Rule(
        "grafana-token",
        ("glsa_", "glc_", "eyJrIjoi"),
        rf"(?:glsa_[A-Za-z0-9]{{32}}_{_HEX}{{8}}|glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|eyJrIjoi[A-Za-z0-9+/]{{40,}}={{0,2}})",
    ),
    Rule("dynatrace-token", ("dt0",), r"dt0[a-z]\d\d\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    Rule("datadog-token", ("ddpat_", "ddapp_", "ddsat_"), r"dd(?:pat|app|sat)_[\w-]{30,}"),
    Rule("honeycomb-key", ("hcaik_", "hcxik_", "hcxlk_", "hcalk_"), r"hc[ax][il]k_[a-z0-9]{58,}"),
    Rule("pulumi-token", ("pul-",), rf"pul-{_HEX}{{40}}", True),
    Rule("prefect-key", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}", True),
    Rule("neon-key", ("napi_",), r"napi_[A-Za-z0-9]{40,}"),
    Rule("sonar-token", ("sqp_", "squ_", "sqa_"), rf"sq[pua]_{_HEX}{{40}}"),
    Rule(
        "launchdarkly-key",
        ("sdk-", "mob-", "api-"),
        rf"(?:sdk|mob|api)-{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-{_HEX}{{4}}-{_HEX}{{12}}",
        True,
    ),
    Rule("posthog-key", ("phx_", "phs_", "phc_"), r"ph[xsc]_[\w-]{36,}", True),
    Rule("rootly-token", ("rootly_",), rf"rootly_{_HEX}{{64}}"),
    # ------------------------------------------------------------ work
    Rule("linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    Rule("notion-token", ("secret_", "ntn_"), r"(?:secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])|ntn_[A-Za-z0-9]{40,})", True),
    Rule("airtable-token", ("pat",), rf"pat[A-Za-z0-9]{{14}}\.{_HEX}{{64}}", True),
    Rule("figma-token", ("figd_", "figdr_", "figo"), rf"fig(?:dr?|or?h?)_{_W}{{36,}}"),
    Rule("postman-key", ("PMAK-", "PMAT-"), rf"(?:PMAK-{_HEX}{{24}}-{_HEX}{{34}}|PMAT-[A-Z0-9]{{26}})"),
    Rule("contentful-token", ("CFPAT-",), rf"CFPAT-{_W}{{40,}}"),
    Rule("typeform-token", ("tfp_",), r"tfp_[\w.=-]{40,}"),
    Rule("readme-key", ("rdme_",), r"rdme_[a-z0-9]{64,}"),
    Rule("sourcegraph-token", ("sgp_",), rf"sgp_(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}"),
    Rule("octopus-key", ("API-",), r"API-[A-Z0-9]{26,}(?![A-Za-z0-9])", True),
    Rule("adafruit-key", ("aio_",), r"aio_[A-Za-z0-9]{28}(?![A-Za-z0-9])", True),
    Rule("duffel-key", ("duffel_",), r"duffel_(?:test|live)_[\w=-]{43}"),
    Rule("infracost-key", ("ico-",), r"ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])", True),
    Rule("mapbox-token", ("sk.eyJ",), rf"(?<![_-])sk\.eyJ{_W}{{40,}}\.{_W}{{20,}}", True),
    # ------------------------------------------------------------ keepers of secrets
    Rule("doppler-token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}", True),
    Rule("vault-token", ("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_W}{{20,}}", True),
    Rule("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}", True, 14),
    Rule("django-key", ("django-insecure-",), r"django-insecure-(?P<body>[^\s\"'\\<>]{8,80})"),
    Rule("age-key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}"),
    Rule("1password-token", ("ops_eyJ",), r"ops_eyJ[\w=+/-]{100,}"),
    Rule(
        "1password-key",
        ("A3-",),
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        True,
    ),
    Rule("infisical-token", ("st.",), rf"st\.{_HEX}{{24}}\.{_HEX}{{32,}}\.{_HEX}{{32,}}", True),
    Rule("jwt", ("eyJ", "ZXlK"), rf"(?<![_-])(?:eyJ|ZXlK){_W}{{10,}}\.{_W}{{10,}}(?:\.{_W}*)?", True),
    Rule("twitter-bearer", ("AAAAAAAAAAAAAAAAAAAAA",), r"A{21}(?P<body>[\w%]{60,})", True),
    Rule("okta-token", ("SSWS ",), rf"SSWS (?P<body>00{_W}{{40}})"),
    Rule("twilio-token", ("AC",), r"AC[0-9a-f]{32}:(?P<body>[0-9a-f]{32})(?!\w)", bounded=True),
    Rule("twilio-key", ("SK",), r"SK(?P<body>[0-9a-fA-F]{32})(?!\w)", True),
    Rule("mailchimp-key", ("-us",), r"(?P<body>[0-9a-f]{32})-us\d{1,2}(?!\w)", True, 32),
    Rule("asana-token", ("0/", "1/", "2/"), rf"[012]/\d{{13,16}}(?:/\d{{13,16}})?:(?P<body>{_HEX}{{32}})(?!\w)", True),
    Rule("telegram-token", (":AA",), r"\d{4}:AA[\w-]{33}(?![\w-])", lead=4),
    Rule(
        "discord-token",
        ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        r"[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])",
        True,
    ),
    *SERVICES,
    *SERVICE_TOKENS,
)


ANCHORS: tuple[tuple[str, Rule], ...] = tuple((anchor, rule) for rule in RULES for anchor in rule.anchors)


@cache
def shape_of(rule: Rule) -> re.Pattern[str]:
    # Compiled when an anchor is met for the first time: all together they would take longer than most commands.
    return re.compile(rule.shape, re.ASCII)
