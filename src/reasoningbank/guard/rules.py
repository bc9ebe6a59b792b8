"""The formats of tokens that carry their own name, as data.

One line a format: what it is called in a placeholder, the literals of which one must be there, and the exact shape.
Written from the issuers' own descriptions. Independent of how a text is searched.
"""

from __future__ import annotations

import re
from functools import cache

from reasoningbank.guard.rule import HEX as _HEX
from reasoningbank.guard.rule import SecretRule
from reasoningbank.guard.rule import W as _W
from reasoningbank.guard.service_tokens import SERVICE_TOKENS
from reasoningbank.guard.services import SERVICES

RULES: tuple[SecretRule, ...] = (
    # ------------------------------------------------------------ clouds
    SecretRule(
        "aws-access-key",
        ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
        True,
    ),
    SecretRule(
        "aws-bedrock-key",
        ("ABSK", "bedrock-api-key-"),
        r"(?:ABSK[A-Za-z0-9+/]{60,}|bedrock-api-key-[A-Za-z0-9+/]{20,})={0,2}",
        True,
    ),
    SecretRule("gcp-api-key", ("AIza",), rf"AIza{_W}{{35,}}"),
    SecretRule("gcp-oauth-token", ("ya29.",), rf"ya29\.{_W}{{20,}}(?:\.{_W}+)*", True),
    SecretRule("gcp-oauth-secret", ("GOCSPX-",), rf"GOCSPX-{_W}{{24,}}"),
    SecretRule("gcp-refresh-token", ("1//0",), rf"1//0{_W}{{30,}}", True),
    SecretRule("azure-client-secret", ("Q~",), r"[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~])", True, 4),
    SecretRule("azure-devops-pat", ("AZDO",), r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])", True, 76),
    SecretRule("alibaba-access-key", ("LTAI",), r"LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])", True),
    SecretRule("tencent-secret-id", ("AKID",), r"AKID[A-Za-z0-9]{32,}", True),
    SecretRule("yandex-key", ("AQVN", "YCAJ", "YC"), rf"(?:AQVN{_W}{{35,38}}|YCAJE{_W}{{20}}|YC[M-P]{_W}{{38}})", True),
    SecretRule("digitalocean-token", ("_v1_",), rf"do[opr]_v1_{_HEX}{{64}}", True, 3),
    SecretRule("heroku-key", ("HRKU-",), rf"HRKU-{_W}{{36,}}"),
    SecretRule(
        "fly-token",
        ("fo1_", "fm1", "fm2_"),
        rf"(?:fo1_{_W}{{43}}|fm1[ar]_[\w+/-]{{80,}}={{0,3}}|fm2_[\w+/-]{{80,}}={{0,3}})",
    ),
    SecretRule("cloudflare-origin-key", ("v1.0-",), rf"v1\.0-{_HEX}{{24}}-{_HEX}{{146}}"),
    SecretRule("cloudflare-token", ("cfut_", "cfat_", "cfk_"), r"cf(?:ut|at|k)_[A-Za-z0-9]{32,}", True),
    SecretRule("netlify-token", ("nfp_", "nfc_", "nfo_", "nfb_", "nfu_"), r"nf[pcobu]_[A-Za-z0-9]{36,}", True),
    SecretRule(
        "vercel-token",
        ("vcp_", "vck_", "vca_", "vci_", "vcr_", "vercel_blob_rw_"),
        r"(?:vc[pkair]_[\w-]{24,}|vercel_blob_rw_\w{30,})",
        True,
    ),
    SecretRule("supabase-key", ("sbp_", "sb_secret_"), rf"(?:sbp_(?:v0_)?{_W}{{40}}|sb_secret_{_W}{{20,}})"),
    SecretRule("planetscale-token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}"),
    SecretRule("tailscale-key", ("tskey-",), rf"tskey-(?:[a-z]+-)?{_W}{{20,}}"),
    SecretRule("scaleway-key", ("SCW",), r"SCW[A-Z0-9]{17}(?![A-Za-z0-9])", True),
    # ------------------------------------------------------------ git hosts and package registries
    SecretRule("github-pat", ("ghp_",), r"ghp_\w{30,}"),
    SecretRule("github-oauth", ("gho_",), r"gho_\w{30,}"),
    SecretRule("github-app-token", ("ghu_", "ghs_"), r"gh[us]_\w{30,}(?:[\w.-]*\w)?"),
    SecretRule("github-refresh-token", ("ghr_",), r"ghr_\w{30,}"),
    SecretRule("github-fine-grained-pat", ("github_pat_",), r"github_pat_\w{22,}"),
    SecretRule("gitlab-pat", ("glpat-",), rf"glpat-{_W}{{20,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?"),
    SecretRule(
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
    SecretRule("gitlab-runner-token", ("GR1348941",), rf"GR1348941{_W}{{20,}}"),
    SecretRule("bitbucket-token", ("ATBB", "ATCTT3x"), r"(?:ATBB[A-Za-z0-9]{24,}|ATCTT3x[\w=.-]{100,})", True),
    SecretRule("atlassian-token", ("ATAT",), r"(?:ATATT3x[\w=.-]{60,}|ATAT[\w=-]{100,})", True),
    SecretRule("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    SecretRule("pypi-token", ("pypi-Ag",), rf"pypi-Ag{_W}{{50,}}"),
    SecretRule("rubygems-key", ("rubygems_",), rf"rubygems_{_HEX}{{48}}"),
    SecretRule("crates-token", ("cio",), r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", True),
    SecretRule("nuget-key", ("oy2",), r"oy2[a-z0-9]{43}(?![a-z0-9])", True),
    SecretRule("clojars-token", ("CLOJARS_",), r"CLOJARS_[A-Za-z0-9]{60}"),
    SecretRule("docker-token", ("dckr_",), rf"dckr_(?:pat|oat)_{_W}{{24,}}"),
    SecretRule("jfrog-token", ("AKC", "cmVmd"), r"(?:AKC[\w-]{60,}|cmVmd[\w-]{55,})", True),
    SecretRule("artifact-registry-key", ("sha256~",), rf"sha256~{_W}{{43}}"),
    # ------------------------------------------------------------ messaging
    SecretRule("slack-token", ("xox",), r"xox(?:[abceoprs][-.][\w.-]{10,}|d-[\w%+/=-]{20,})"),
    SecretRule("slack-app-token", ("xapp-",), r"xapp-[\w-]{22,}"),
    SecretRule("sendgrid-key", ("SG.",), r"SG\.[\w=-]{16,66}\.?[\w=.-]{30,}", True),
    SecretRule("mailgun-key", ("key-",), r"key-(?P<body>[0-9a-z]{32})(?![\w-])"),
    SecretRule("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"x(?:key|smtp)sib-{_HEX}{{64}}-{_W}{{16}}"),
    SecretRule("resend-key", ("re_",), r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}", True),
    SecretRule(
        "hubspot-token", ("pat-na", "pat-eu"), rf"pat-(?:na|eu)\d-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
    ),
    # ------------------------------------------------------------ payment and shops
    SecretRule("stripe-key", ("_live_", "_test_", "_prod_"), r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{12,}", True, 2),
    SecretRule("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    SecretRule(
        "square-token", ("sq0", "EAAA"), rf"(?:sq0(?:atp|csp|idp)-{_W}{{22,}}|EAAA{_W}{{30,60}}(?![\w+/=-]))", True
    ),
    SecretRule(
        "braintree-token", ("access_token$",), rf"access_token\$(?:production|sandbox)\$[0-9a-z]{{16}}\${_HEX}{{32}}"
    ),
    SecretRule("shopify-token", ("shp",), rf"shp(?:at|ca|pa|ss|ua)_{_HEX}{{32,}}"),
    SecretRule(
        "plaid-token",
        ("access-",),
        rf"access-(?:sandbox|development|production)-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
    ),
    SecretRule("razorpay-key", ("rzp_",), r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    SecretRule("easypost-key", ("EZAK", "EZTK"), r"EZ[AT]K[A-Za-z0-9]{54}", True),
    # ------------------------------------------------------------ models
    SecretRule("anthropic-key", ("sk-ant-",), rf"sk-ant-{_W}{{20,}}"),
    SecretRule("openrouter-key", ("sk-or-",), rf"sk-or-(?:v\d-)?{_W}{{32,}}"),
    SecretRule(
        "openai-key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        rf"sk-(?:proj|svcacct|admin|None)-{_W}{{20,}}",
    ),
    SecretRule("langfuse-key", ("sk-lf-",), rf"sk-lf-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),
    SecretRule("sk-key", ("sk-",), r"sk-(?:[a-z]{2,12}-)?[A-Za-z0-9]{20,}", True),
    SecretRule("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{32,}"),
    SecretRule("huggingface-token", ("hf_", "api_org_"), r"(?:hf_|api_org_)[A-Za-z0-9]{30,}", True),
    SecretRule("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{32,}", True),
    SecretRule("perplexity-key", ("pplx-",), rf"pplx-{_W}{{32,}}"),
    SecretRule("xai-key", ("xai-",), r"xai-[\w-]{60,}"),
    SecretRule("cerebras-key", ("csk-",), r"csk-[A-Za-z0-9]{40,}", True),
    SecretRule("nvidia-key", ("nvapi-",), rf"nvapi-{_W}{{48,}}"),
    SecretRule("fireworks-key", ("fw_",), r"fw_[A-Za-z0-9]{20,}", True),
    SecretRule("together-key", ("tgp_v1_",), rf"tgp_v1_{_W}{{40,}}"),
    SecretRule("langsmith-key", ("lsv2_", "ls__"), rf"(?:lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}|ls__{_HEX}{{32}})"),
    SecretRule("elevenlabs-key", ("sk_",), rf"sk_{_HEX}{{48}}(?!{_W})", True),
    SecretRule("pinecone-key", ("pcsk_",), r"pcsk_\w{40,}"),
    SecretRule("tavily-key", ("tvly-",), rf"tvly-{_W}{{28,}}"),
    SecretRule("firecrawl-key", ("fc-",), rf"fc-{_HEX}{{32}}(?!{_W})", True),
    SecretRule("jina-key", ("jina_",), r"jina_[\w-]{50,}", True),
    SecretRule("voyage-key", ("pa-", "al-"), rf"(?:pa|al)-{_W}{{43}}(?!{_W})", True),
    SecretRule("cohere-key", ("co_",), r"co_[A-Za-z0-9]{36,}", True),
    # ------------------------------------------------------------ data and watching
    SecretRule("databricks-token", ("dapi", "dose"), r"(?:dapi|dose)[0-9A-Fa-h]{32}(?:-\d)?(?!\w)", True),
    SecretRule(
        "newrelic-key",
        ("NRAK-", "NRAA-", "NRII-", "NRIQ-", "NRRA-", "NRSP-", "NRJS-"),
        rf"NR(?:AK|AA|II|IQ|RA|SP|JS)-{_W}{{19,}}",
        True,
    ),
    SecretRule("sentry-token", ("sntrys_", "sntryu_", "sntrya_"), r"sntry[sua]_[\w+/=-]{40,}"),
    SecretRule(
        "grafana-token",
        ("glsa_", "glc_", "eyJrIjoi"),
        rf"(?:glsa_[A-Za-z0-9]{{32}}_{_HEX}{{8}}|glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|eyJrIjoi[A-Za-z0-9+/]{{40,}}={{0,2}})",
    ),
    SecretRule("dynatrace-token", ("dt0",), r"dt0[a-z]\d\d\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    SecretRule("datadog-token", ("ddpat_", "ddapp_", "ddsat_"), r"dd(?:pat|app|sat)_[\w-]{30,}"),
    SecretRule("honeycomb-key", ("hcaik_", "hcxik_", "hcxlk_", "hcalk_"), r"hc[ax][il]k_[a-z0-9]{58,}"),
    SecretRule("pulumi-token", ("pul-",), rf"pul-{_HEX}{{40}}", True),
    SecretRule("prefect-key", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}", True),
    SecretRule("neon-key", ("napi_",), r"napi_[A-Za-z0-9]{40,}"),
    SecretRule("sonar-token", ("sqp_", "squ_", "sqa_"), rf"sq[pua]_{_HEX}{{40}}"),
    SecretRule(
        "launchdarkly-key",
        ("sdk-", "mob-", "api-"),
        rf"(?:sdk|mob|api)-{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-{_HEX}{{4}}-{_HEX}{{12}}",
        True,
    ),
    SecretRule("posthog-key", ("phx_", "phs_", "phc_"), r"ph[xsc]_[\w-]{36,}", True),
    SecretRule("rootly-token", ("rootly_",), rf"rootly_{_HEX}{{64}}"),
    # ------------------------------------------------------------ work
    SecretRule("linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    SecretRule("notion-token", ("secret_", "ntn_"), r"(?:secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])|ntn_[\w-]{40,})", True),
    SecretRule("airtable-token", ("pat",), rf"pat[A-Za-z0-9]{{14}}\.{_HEX}{{64}}", True),
    SecretRule("figma-token", ("figd_", "figdr_", "figo"), rf"fig(?:dr?|or?h?)_{_W}{{36,}}"),
    SecretRule("postman-key", ("PMAK-", "PMAT-"), rf"(?:PMAK-{_HEX}{{24}}-{_HEX}{{34}}|PMAT-[A-Z0-9]{{26}})"),
    SecretRule("contentful-token", ("CFPAT-",), rf"CFPAT-{_W}{{40,}}"),
    SecretRule("typeform-token", ("tfp_",), r"tfp_[\w.=-]{40,}"),
    SecretRule("readme-key", ("rdme_",), r"rdme_[a-z0-9]{64,}"),
    SecretRule("sourcegraph-token", ("sgp_",), rf"sgp_(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}"),
    SecretRule("octopus-key", ("API-",), r"API-[A-Z0-9]{26,}(?![A-Za-z0-9])", True),
    SecretRule("adafruit-key", ("aio_",), r"aio_[A-Za-z0-9]{28}(?![A-Za-z0-9])", True),
    SecretRule("duffel-key", ("duffel_",), r"duffel_(?:test|live)_[\w=-]{43}"),
    SecretRule("infracost-key", ("ico-",), r"ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])", True),
    SecretRule("mapbox-token", ("sk.eyJ",), rf"(?<![_-])sk\.eyJ{_W}{{40,}}\.{_W}{{20,}}", True),
    # ------------------------------------------------------------ keepers of secrets
    SecretRule("doppler-token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}", True),
    SecretRule("vault-token", ("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_W}{{20,}}", True),
    SecretRule("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}", True, 14),
    SecretRule("django-key", ("django-insecure-",), r"django-insecure-(?P<body>[^\s\"'\\<>]{8,80})"),
    SecretRule("age-key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}"),
    SecretRule("1password-token", ("ops_eyJ",), r"ops_eyJ[\w=+/-]{100,}"),
    SecretRule(
        "1password-key",
        ("A3-",),
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        True,
    ),
    SecretRule("infisical-token", ("st.",), rf"st\.{_HEX}{{24}}\.{_HEX}{{32,}}\.{_HEX}{{32,}}", True),
    SecretRule("jwt", ("eyJ", "ZXlK"), rf"(?<![_-])(?:eyJ|ZXlK){_W}{{10,}}\.{_W}{{10,}}(?:\.{_W}*)?", True),
    SecretRule("twitter-bearer", ("AAAAAAAAAAAAAAAAAAAAA",), r"A{21}(?P<body>[\w%]{60,})", True),
    SecretRule("okta-token", ("SSWS ",), rf"SSWS (?P<body>00{_W}{{40}})"),
    SecretRule("twilio-token", ("AC",), r"AC[0-9a-f]{32}:(?P<body>[0-9a-f]{32})(?!\w)", bounded=True),
    SecretRule("twilio-key", ("SK",), r"SK(?P<body>[0-9a-fA-F]{32})(?!\w)", True),
    SecretRule("mailchimp-key", ("-us",), r"(?P<body>[0-9a-f]{32})-us\d{1,2}(?!\w)", True, 32),
    SecretRule(
        "asana-token", ("0/", "1/", "2/"), rf"[012]/\d{{13,16}}(?:/\d{{13,16}})?:(?P<body>{_HEX}{{32}})(?!\w)", True
    ),
    SecretRule("telegram-token", (":A",), r"\d{4}:A[\w-]{34}(?![\w-])", lead=4),
    SecretRule(
        "discord-token",
        ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        r"[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])",
        True,
    ),
    *SERVICES,
    *SERVICE_TOKENS,
)


ANCHORS: tuple[tuple[str, SecretRule], ...] = tuple((anchor, rule) for rule in RULES for anchor in rule.anchors)


@cache
def shape_of(rule: SecretRule) -> re.Pattern[str]:
    # Compiled when an anchor is met for the first time: all together they would take longer than most commands.
    return re.compile(rule.shape, re.ASCII)
