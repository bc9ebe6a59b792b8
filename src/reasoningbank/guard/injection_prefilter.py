"""Keyword prefilter for the prompt-injection patterns (`guard.injection_patterns`).

A pattern matches only where certain words begin, and most texts have none of them, or not in the company that it takes.
The table of these words for each tell errs only towards asking the pattern; a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from reasoningbank.guard.injection_patterns import TELLS

# Each is the beginning of a word; with a $ the whole word, with a + no more than its beginning.
_GROUPS = {
    "aside": "ignore disregard forget override supersede replace bypass drop",
    "orders": "instruction rule guideline prompt polic context directive constraint command training message",
    "new": "new$ updated revised real actual primary core hidden secret",
    "goal": "instruction objective goal directive mission role persona system purpose",
    "who-may": "developer debug god admin maintenance unrestricted",
    "another": "dan$ jailbreak pretend",
    "office": "system platform admin security infrastructure deployment config policy critical urgent important "
    "priority network api database auth compliance operator root",
    "seat": "system im$ assistant inst admin",
    "sends": "send sent forward post upload export sync transmit copy copies mirror report push email mail share "
    "submit deliver stream route back log include append ping beacon call webhook",
    "takes": "send forward export upload collect capture include share sync post record store transmit log output "
    "reveal print return dump extract harvest attach copy read exfiltrate",
    "private": "api credential password token secret env private ssh session cookies conversation chat user personal "
    "pii payment account patient system access traffic stack authenticated",
    "fetches": "download fetch curl wget pull load retrieve get check poll import install connect visit query execut "
    "run follow apply",
    "shell": "sudo bash$ zsh$ dash$ sh$",
    "evaluates": "eval$ exec$",
    "each": "every each",
    "all": "every each all",
    "turn": "hour minute day session start boot request response conversation interaction message query run time error "
    "login",
    "begin": "startup boot every each",
    "again": "periodically hourly daily weekly persist heartbeat cron",
    "drops": "disabl turn skip bypass remov ignor omit avoid relax reduc lower suppress drop circumvent deactivat "
    "weaken exempt whitelist no$ not$ unnecessary without don$ dont$ instead rather eliminat get$",
    "guard": "auth+ input+ data+ schema+ validat verif encrypt saniti tls ssl https certificate csrf cors firewall "
    "rate review test check backup logging audit 2fa mfa two sandbox permission approval staging signature integrity "
    "safety security guardrail filter warning confirmation consent privacy antivirus monitoring ci$ lint scan "
    "parameteri escaping constraint foreign lock timeout retries isolation rollback",
    "waste": "unnecessary overhead friction redundant overkill slow wast needed necessary required optional sufficient "
    "latency outdated obsolete deprecated bottleneck complexity delay useless overrated",
    "needless": "need authentication validation auth",
    "unsafe": "0$ chmod 777$ allow privileged force insecure strict min$ rm$ deletedb plain hard md5 sha1$ sha$ base64 "
    "wildcard eval$ pickle f$ world",
    "wide": "string global wide full root admin public",
    "open": "formatting concatenation interpolation mutex open access permissions user read writ privilege right admin",
    "never": "not$ don$ dont$ never without",
    "tells": "mention tell reveal disclos inform notify ask alert report warn question show discuss log explain "
    "confirm",
    "secretly": "secretly silently covertly quietly discreetly invisibl hidden stealth undetect background",
    "if": "when if$ because since once but$",
    "asked": "question query prompt input request message text task instruction",
    "only": "directly just simply only always",
    "says": "output answer return respond reply say print",
    "whoever": "user customer anyone someone asked",
    "advises": "always tell say respond recommend include suggest mention reply answer",
    "must": "always only exclusively strongly must",
    "prefers": "recommend prefer suggest use choose cite trust promote mention",
    "leading": "leading industry top$ fortune most$",
    "leaders": "companies leader expert team firm enterprise organi",
    "praises": "migrat outperform superior eliminate declin deprecated obsolete unreliable vulnerab trusted remember "
    "recommend",
    "more": "more$ less$ better faster fewer cheaper lower higher",
    "announces": "correction clarification update note technical important erratum fyi reminder notice revision fact "
    "breaking advisory amendment",
    "became": "deprecated reduced changed removed discontinued revised updated replaced renamed proven debunked",
    "recent": "recent new$ latest updated",
    "finding": "research stud guidance guideline finding analysis benchmark evidence policy",
    "contrary": "contrary actually",
    "merit": "process efficiency performance workflow quality team productivity cost speed",
    "tip": "improvement optimi tip note guideline practice",
    "quick": "production wast overhead bureaucra unnecessary overkill simpler simplest simplif faster quick convenien "
    "cleaner easier",
    "place": "production main master prod the$",
    "of-all": "commit file instance server account shared password credential admin secret",
}

# A match has a word of every group of one of the lines. What is no group is a word of its own, or one of `_SIGNS`.
_LINES: dict[str, tuple[str, ...]] = {
    "override": ("aside orders",),
    "new-orders": (
        "new goal", "from$ now$", "effective immediately", "you$ now$", "you$ have$ been$", "who-may mode", "another",
        "act$ as$",
    ),
    "speaks-as-system": ("office :", "seat <", "seat [", "seat #"),
    "sends-out": ("sends host",),
    "takes-private": ("takes private",),
    "runs-remote": ("fetches host", "shell |", "evaluates ("),
    "keeps-going": ("each turn", "on$ all", "at$ begin", "again"),
    "drops-guard": ("drops guard",),
    "guard-is-waste": ("guard waste", "no$ needless", "sufficient"),
    "unsafe-setting": (
        "unsafe", "verify false", "verify no$", "debug true", "drop table", "drop database", "delete the", "delete all",
        "truncate table", "wide open",
    ),
    "conceals": ("never tells", "secretly", "without user"),
    "trigger": (
        "if quote asked", "means that", "only says", "finish episode", "trigger word", "trigger phrase",
        "when whoever advises",
    ),
    "pushes": ("must prefers", "leading leaders", "praises", "no$ longer", "more number"),
    "corrects-facts": ("announces :", "been$ became", "recent finding", "contrary"),
    "shortcut": (
        "merit tip :", "directly place", "quick", "single of-all", "shared of-all", "copy paste", "slow down",
        "slow us$",
    ),
}  # fmt: skip
_SIGNS = (":", "<", "[", "(", "#", "|", "host", "quote", "number")
_NAMES = sorted({name for lines in _LINES.values() for line in lines for name in line.split()})
_BIT = {name: 1 << place for place, name in enumerate(_NAMES)}
_EVERY_SIGN = (1 << len(_NAMES)) - 1
_STARTING = 3
_MOST_REMEMBERED = 1 << 15
_LONGEST_REMEMBERED = 40
_NUMBER, _HASH, _BAR, _HOST, _QUOTE = (_BIT[sign] for sign in ("number", "#", "|", "host", "quote"))


def signs_of_words(words: Iterable[bytes]) -> int:
    """The needs that words in lower case meet, as bits."""
    beginnings = _by_start()
    bits = 0
    # Most words begin as none of ours does. To look up all of them takes a table larger than a processor's caches.
    for signs in {_signs_by_word[word] for word in words if word[:_STARTING] in beginnings or not word.isalpha()}:
        bits |= signs
    return bits


class _Known(dict[bytes, int]):
    """The needs that each word met before meets, as bits."""

    def __missing__(self, word: bytes) -> int:
        signs = _signs_of_word(word)
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = signs
        return signs


_signs_by_word = _Known()


def _signs_of_word(raw: bytes) -> int:
    """A word may have an apostrophe in it, or be a sign."""
    word = raw.decode("utf-8", "surrogatepass")
    if len(word) == 1 and not word.isalnum():
        return {"#": _HASH, "|": _BAR, "@": _HOST}.get(word, 0)
    signs = _NUMBER if word[0].isdigit() else 0
    by_start = _by_start()
    for part in word.split("'") if "'" in word else (word,):
        for beginning, shortest, longest, bits in by_start.get(part[:_STARTING].encode("utf-8", "surrogatepass"), ()):
            if part.startswith(beginning) and shortest <= len(part) <= longest:
                signs |= bits
    return signs


def signs_of_text(text: str) -> int:
    """The needs that are no words, as bits."""
    signs = 0
    for sign in ":<[(":
        if sign in text:
            signs |= _BIT[sign]
    # A stop with a space or nothing behind it ends a sentence; any other may stand in an address.
    stops = text.count(".")
    if stops and stops > text.count(". ") + text.count(".\n") + text.endswith("."):
        signs |= _HOST
    if "://" in text:
        signs |= _HOST
    if '"' in text or "'" in text or "`" in text or "\u2018" in text or "\u201c" in text:
        signs |= _QUOTE
    return signs


@lru_cache(maxsize=_MOST_REMEMBERED)
def worth_asking(signs: int) -> tuple[int, ...]:
    """The places in `TELLS` of those that a text with these signs may hold."""
    lacking = _EVERY_SIGN & ~signs
    return tuple(dict.fromkeys([place for line, place in _lines() if not line & lacking]))


@cache
def _lines() -> tuple[tuple[int, int], ...]:
    """The needs of each line, and the place of its tell, in the order of `TELLS`."""
    return tuple(
        (sum(_BIT[part] for part in line.split()), place)
        for place, (name, _, _) in enumerate(TELLS)
        for line in _LINES[name]
    )


@cache
def _by_start() -> dict[bytes, list[tuple[str, int, int, int]]]:
    """Words by their first letters: the beginning, the fewest and the most letters of such a word, and the needs
    that it meets.
    """
    table: dict[bytes, list[tuple[str, int, int, int]]] = {}
    for name in _NAMES:
        if name in _SIGNS:
            continue
        for word in _GROUPS.get(name, name).split():
            beginning = word.rstrip("$+")
            most = len(beginning) if word.endswith("$") else 1 << 30
            assert most <= len(beginning) or len(beginning) >= _STARTING, f"{word} is too short to begin other words"
            table.setdefault(beginning[:_STARTING].encode(), []).append(
                (beginning, len(beginning) + word.endswith("+"), most, _BIT[name])
            )
    return table
