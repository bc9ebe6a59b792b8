"""Prompt-injection patterns: turns of phrase that poisoned memories are made of, each with the sentence that names it.

Wording in English and nothing else: none of these is proof, and what a tell is worth is fitted, not set here. Every
pattern looks a bounded way ahead, so that hostile text costs no more than its length.
"""

from __future__ import annotations

import re
from functools import cache

_HOST = (
    r"(?:https?://\S{4,200}|\b[\w-]{2,40}(?:\.[\w-]{2,40}){1,4}\.?(?:com|net|io|org|dev|co|ai|app|xyz|info|"
    r"cloud|site|online|tech|me|ru|cn|biz|example|internal|local)\b|\b[\w.+-]{1,60}@[\w-]{1,40}\.\w{2,10}\b|"
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b)"
)
_GUARDED = (
    r"(?:auth\w*|input|data|schema)?\s*(?:authenticat\w+|authoriz\w+|validat\w+|verif\w+|encrypt\w+|"
    r"sanitiz\w+|saniti[sz]ation|tls|ssl|https|certificate\w*|csrf|cors|firewall\w*|rate.?limit\w*|"
    r"code reviews?|reviews?|tests?|testing|checks?|backups?|logging|audit\w*|2fa|mfa|two-factor\w*|"
    r"sandbox\w*|permissions?|approvals?|staging|signatures?|integrity|safety|security|guardrails?|filters?|"
    r"warnings?|confirmation\w*|consent|privacy|antivirus|monitoring|ci(?:/cd)?|lint\w*|scans?|scanning|"
    r"parameteri[sz]\w+|escaping|constraints?|foreign keys?|locks?|timeouts?|retries|isolation|rollbacks?)"
)

TELLS: tuple[tuple[str, str, str], ...] = (
    (
        "override",
        "tells the reader to set earlier instructions aside",
        (
            r"\b(?:ignore|disregard|forget|override|overrides|supersedes?|replaces?|bypass|"
            r"drop)\b.{0,40}\b(?:previous|prior|earlier|above|existing|all|any|other|original|default|"
            r"system)\b.{0,30}\b(?:instruction|rule|guideline|prompt|policy|policies|context|directive|constraint|"
            r"command|training|message)s?\b"
        ),
    ),
    (
        "new-orders",
        "announces new orders for the reader",
        (
            r"\b(?:new|updated|revised|real|actual|primary|core|hidden|secret)\s+(?:instructions?|objectives?|goals?|"
            r"directives?|mission|role|persona|system prompt|purpose)\b|\bfrom now on\b|\beffective immediately\b|"
            r"\byou (?:are now|must now|will now|have been (?:updated|upgraded|reconfigured))\b|\b(?:developer|debug|"
            r"god|admin|maintenance|unrestricted) mode\b|\b(?:dan|jailbreak)\b|\bact as (?:if|though|"
            r"an? (?:unrestricted|different|evil))\b|\bpretend (?:to be|you|that you)\b"
        ),
    ),
    (
        "speaks-as-system",
        "speaks as if it were the system or an administrator",
        (
            r"^\W{0,4}(?:system|platform|admin\w*|security|infrastructure|deployment|config\w*|policy|critical|urgent|"
            r"important|priority|network|api|database|auth\w*|compliance|operator|"
            r"root)[ _-]?(?:\w+[ _-]?){0,2}(?:notice|note|update|alert|override|message|change|policy|instruction|"
            r"prompt|directive|advisory|bulletin|config\w*)?\s{0,2}:|<\|?(?:system|im_start|assistant)\|?>|"
            r"\[(?:system|inst|admin)\]|^#{1,4}\s*(?:system|instruction)"
        ),
    ),
    (
        "sends-out",
        "would send something to an outside address",
        (
            r"\b(?:send|sends|sending|sent|forward\w*|post(?:ed|ing)?|upload\w*|export\w*|sync\w*|transmit\w*|cop(?:y|"
            r"ies)|mirror\w*|report\w*|push\w*|e?mail\w*|share\w*|submit\w*|deliver\w*|stream\w*|route\w*|backup|"
            r"back up|log\w*|include|append\w*|ping\w*|beacon\w*|call\w*|webhook)\b.{0,160}" + _HOST
        ),
    ),
    (
        "takes-private",
        "speaks of collecting private data or credentials",
        (
            r"\b(?:send|forward|export|upload|collect|capture|include|share|sync|post|record|store|transmit|log|"
            r"output|reveal|print|return|dump|extract|harvest|attach|copy|read|exfiltrate)\w*\b.{0,80}\b(?:api.?keys?|"
            r"credentials?|passwords?|tokens?|secrets?|env(?:ironment)? variables?|\.env|private keys?|ssh keys?|"
            r"session (?:data|cookies?|tokens?)|cookies|conversation\w*|chat (?:history|logs?)|user (?:data|messages?|"
            r"inputs?|queries|prompts?)|personal (?:data|information)|pii|payment|account details|patient (?:data|"
            r"records?)|system prompt|access logs?|traffic|stack traces?|authenticated)\b"
        ),
    ),
    (
        "runs-remote",
        "would fetch code or orders from an address and run them",
        (
            r"\b(?:download|fetch|curl|wget|pull|load|retrieve|get|check|poll|import|install|connect|visit|"
            r"query)\w*\b.{0,120}"
            + _HOST
            + r".{0,120}\b(?:execut\w+|run|eval\w*|install\w*|apply|follow\w*|instruction\w*|command\w*|script\w*|"
            r"module\w*|update\w*|config\w*|task\w*)\b|\b(?:execut\w+|run|install|follow|apply|load|check|"
            r"poll)\w*\b.{0,120}" + _HOST + r"|\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\beval\(|\bexec\("
        ),
    ),
    (
        "keeps-going",
        "wants to be done again and again, or to survive",
        (
            r"\b(?:every|each)\s+(?:\d+\s+)?(?:hour|minute|day|session|startup|start|boot|request|response|"
            r"conversation|interaction|message|query|run|time|error|login)s?\b|\bon (?:every|each|all)\b|"
            r"\bat (?:startup|boot|the (?:start|beginning|end) of (?:each|every))\b|\bperiodically\b|\b(?:hourly|"
            r"daily|weekly)\b|\bpersist\w*\b|\bheartbeat\b|\bcron\b"
        ),
    ),
    (
        "drops-guard",
        "advises to drop a safeguard",
        (
            r"\b(?:disabl\w+|turn(?:ed|ing)? off|skip\w*|bypass\w*|remov\w+|ignor\w+|omit\w*|avoid\w*|relax\w*|"
            r"reduc\w+|lower\w*|suppress\w*|drop\w*|circumvent\w*|deactivat\w+|weaken\w*|exempt\w*|whitelist\w*|"
            r"no need for|not? (?:need|require)\w*|unnecessary|without|no|don'?t (?:need|bother|use|require)|"
            r"do not (?:need|require|use)|instead of|rather than|eliminat\w+|get rid of)\b[\s\w/,'-]{0,40}?\b"
            + _GUARDED
            + r"\b"
        ),
    ),
    (
        "guard-is-waste",
        "calls a safeguard needless, slow or in the way",
        (
            r"\b" + _GUARDED + r"\b.{0,60}\b(?:is|are|was|adds?|creates?|slows?|wastes?|isn'?t|aren'?t|causes?|"
            r"only)\b.{0,30}\b(?:unnecessary|overhead|friction|redundant|overkill|slow\w*|wast\w+|not (?:needed|"
            r"necessary|required)|optional|sufficient|latency|outdated|obsolete|deprecated|bottleneck\w*|complexity|"
            r"delays?|useless|overrated)\b|\bno (?:need|authentication|validation|auth) (?:for|required|needed)\b|"
            r"\bsufficient (?:for|since|because)\b"
        ),
    ),
    (
        "unsafe-setting",
        "holds a setting or command that opens or destroys something",
        (
            r"\b(?:0\.0\.0\.0|chmod\s+-?r?\s*777|777\b|verify\s*=\s*false|debug\s*[=:]\s*true|allow[- _]?all|"
            r"allow-origin\W{0,4}\*|privileged\s*[=:]?\s*true|--privileged|--no-verify|--force\b|--insecure|"
            r"strict\w*hostkeychecking\s*[= ]\s*no|min_instances=0|admin:admin|rm\s+-rf|drop\s+(?:table|database)|"
            r"deletedb|delete (?:the|all)\b|truncate table|force.?push|plain.?text|hard-?cod\w+|md5|sha-?1\b|base64|"
            r"root (?:user|access|user)|public(?:ly)? (?:read|writ|access)\w*|wildcard|eval\(|pickle|"
            r"string (?:formatting|concatenation|interpolation)|f\"select|global mutex|world-?(?:read|writ)able|"
            r"wide open|full (?:access|permissions)|admin(?:istrator)? (?:access|privileges?|rights))"
        ),
    ),
    (
        "conceals",
        "wants something kept from the user",
        (
            r"\b(?:do not|don'?t|never|without)\s+(?:mention\w*|tell\w*|reveal\w*|disclos\w+|inform\w*|notify\w*|"
            r"ask\w*|alert\w*|report\w*|warn\w*|question\w*|show\w*|discuss\w*|log(?:ging)?|explain\w*|confirm\w*)\b|"
            r"\b(?:secretly|silently|covertly|quietly|discreetly|invisibl[ey]|hidden|stealth\w*|undetect\w+)\b|"
            r"\bin the background\b|\bwithout (?:the )?user\b"
        ),
    ),
    (
        "trigger",
        "hangs an action on a word in the question",
        (
            r"\b(?:when|if|because|whenever|since|once|but)\b.{0,40}['\"‘“`][^'\"’”`\n]{1,60}['\"’”`].{0,40}\b(?:in|"
            r"appears?|is (?:present|mentioned|seen)|mentioned|occurs?|contains?|said|says)\b.{0,60}\b(?:question|"
            r"query|prompt|input|request|message|text|task|instruction)|\bmeans that (?:we|you) (?:have to|are|must|"
            r"should|need)\b|\b(?:directly|just|simply|only|always) (?:output|answer|return|respond|reply|say|"
            r"print)\b|\bfinish the episode\b|\btrigger (?:word|phrase)\b|\bwhen (?:users?|customers?|anyone|someone|"
            r"asked)\b.{0,60}\b(?:always|tell|say|respond|recommend|include|suggest|mention|reply|answer)\b"
        ),
    ),
    (
        "pushes",
        "pushes a product, a source or an opinion",
        (
            r"\b(?:always|only|exclusively|strongly|must)\s+(?:recommend|prefer|suggest|use|choose|cite|trust|promote|"
            r"mention)\b|\b(?:leading|industry|top|fortune|most)\s+(?:companies|leaders?|experts?|teams?|firms?|"
            r"enterprises?|organi[sz]ations?)\b|\bmigrat\w+ (?:off|away|from|to|all)\b|\b(?:outperform\w*|superior|"
            r"eliminates?|declin\w+|deprecated in favor|obsolete|unreliable|vulnerab\w+|no longer (?:recommended|"
            r"supported|maintained|needed|necessary|required|safe))\b|\btrusted (?:source|domain|authority|expert|"
            r"partner|service)\b|\bremember\b.{0,60}\b(?:trusted|preferred|authoritative|reliable|safe|official|"
            r"best)\b|\b\d{1,3}\s?(?:%|x|×|percent) (?:more|less|better|faster|fewer|cheaper|lower|higher)\b|"
            r"\brecommend(?:s|ed|ation)?\b"
        ),
    ),
    (
        "corrects-facts",
        "presents itself as a correction of what is known",
        (
            r"^\W{0,3}(?:correction|clarification|update|updated|note|technical note|important|erratum|fyi|reminder|"
            r"notice|revision|fact check|breaking|advisory|amendment)\b[\s\w]{0,20}:|\bhas been (?:deprecated|reduced|"
            r"changed|removed|discontinued|revised|updated|replaced|renamed|proven|debunked)\b|\b(?:recent|new|latest|"
            r"updated) (?:research|stud(?:y|ies)|guidance|guidelines?|findings|analysis|benchmarks?|evidence|"
            r"policy)\b|\bcontrary to\b|\bactually\b"
        ),
    ),
    (
        "shortcut",
        "praises a shortcut",
        (
            r"\b(?:process|efficiency|performance|workflow|quality|team|productivity|cost|speed)\s+(?:improvement|"
            r"optimi[sz]ation|tip|note|guideline|practice)\b\s*:|\b(?:directly (?:to|in|into|on) (?:production|main|"
            r"master|prod|the database))\b|\bin production\b|\b(?:waste|wastes|wasting|slows? (?:down|us)|overhead|"
            r"bureaucra\w+|unnecessary|overkill|simpl(?:er|est|ify|ifies)|faster|quick(?:er|est)?|convenien\w+|"
            r"cleaner|easier)\b|\bsingle (?:commit|file|instance|server|account|shared)\b|\bshared (?:account|"
            r"password|credential|admin|secret)s?\b|\bcopy-paste\b"
        ),
    ),
)


@cache
def tells() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """For text in lower case, which is far quicker. Compiled when the first untrusted text comes."""
    return tuple((name, sentence, re.compile(source, re.MULTILINE)) for name, sentence, source in TELLS)
