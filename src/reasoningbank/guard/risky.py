"""Tells what is dangerous about an action, or about advice in words, so that it waits for the user's approval.

The one definition for fixes, solved tasks, rules, hooks and what a peer brings. *Dangerous* is what fetches from
outside, runs what was fetched or decoded, takes more rights, destroys, switches off checks or sends data out
(`guard.dangerous_commands`), in a command or in words; what a text forbids is not advised by it. A text
costs at most a look at its first `MOST_LOOKED_AT_CHARS` of suspicious clauses; what is longer counts as dangerous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.guard import danger_tables as tables
from reasoningbank.guard.dangerous_commands import Danger, dangers_in, dangers_of_word, remote_addresses

MOST_LOOKED_AT_CHARS = 16_000
MOST_CLAUSES = 4_000
LONGEST_COMMAND_CHARS = 300

# ---------------------------------------------------------------- an action

_DASHES = pattern(r"(?<!\S)[–—](?=[A-Za-z])")


def plain_text(text: str) -> str:
    """With the letters that a reader, or a program that corrects typing, makes of those that look like them."""
    if text.isascii():
        return text
    # Loaded with the first text that needs it.
    from reasoningbank.guard.homoglyphs import fold_look_alikes

    return fold_look_alikes(_DASHES.sub("--", text.translate(str.maketrans("‐‑‒−﹣－", "------"))))


def risks_of_action(action: str) -> tuple[str, ...]:
    """Dangers of a command, code, or the call of a tool; () when it is ordinary work."""
    return tuple(dict.fromkeys(kind for kind, _ in dangers_in(plain_text(action))))


def harm_in(action: str) -> frozenset[str]:
    """The kinds of danger in an action that cannot be taken back, or get past a check."""
    return frozenset(risks_of_action(action)).intersection(
        (tables.DELETES, tables.OVERWRITES, tables.DISCARDS, tables.SKIPS_HOOKS, tables.DROPS, tables.SKIPS_TESTS)
    )


# ---------------------------------------------------------------- advice in words

_FENCE = pattern(r"^[ \t]*(?:```|~~~)[^\n]*$", 8)
_CLAUSE_END = pattern(
    r"(?<=[^\s][.!?;])\s+|(?<=:)[ \t]+(?![^\s|]*\|)|\n[ \t]*\n|\n(?=[ \t]*(?:[-*•#>$]|\d+[.)]|[A-Z`]))"
    r"|,[ \t]+(?!(?:`?-|or\b|and\b|nor\b))"
)
_TICKS = pattern(r"`([^`\n]+)`")
_PROGRAM_NAMES = """
curl wget sudo doas rm git npm npx pnpm yarn bun bunx pip pip3 python python3 node perl ruby php bash sh zsh chmod
chown dd docker podman kubectl helm terraform tofu aws gcloud psql mysql sqlite3 nc ncat netcat scp rsync sftp iwr
irm iex invoke-expression invoke-webrequest invoke-restmethod powershell pwsh eval source uv poetry cargo apt
apt-get apt-key mkfs shred crontab dropdb aria2c pytest mvn gradlew set-executionpolicy find xargs truncate
setenforce iptables ufw base64 redis-cli rails artisan prisma ssh remove-item systemctl
"""
_PROGRAMS = frozenset(_PROGRAM_NAMES.split())
_LETTERS = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() or chr(code) in "-_" else 32 for code in range(128)
) + bytes(range(128, 256))
_PROGRAM = pattern(
    r"(?i)(?<![\w.@=-])(?:"
    + "|".join(sorted(_PROGRAMS - {"find", "source"}))
    + r"|find(?=\s+[./~$\"'-])|source(?=\s+<))(?=[\s\\]|[.,;:!?)\"']+(?:\s|$)|$)"
    r"|(?<![\w.-])(?:[A-Z][A-Z0-9_]+|npm_config_\w+)=(?=[^\s=])"
)
_FLAG = pattern(r"(?<![\w-])-{1,2}[A-Za-z][\w.-]*(?:=[^\s,;`'\")]+)?")
_TO_A_SHELL = pattern(
    r"(?i)\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:/[\w/]*/)?(?:(?:ba|z|da|k|fi)?sh|iex|pwsh|(?:python3?|node|perl|ruby"
    r"|php)(?=\s*(?:-\s|-?$|[.,;!?]|before|after|first|every|to)))\b"
    r"|\bpip(?:e|es|ed|ing)\b[^.\n]{0,80}?\b(?:in)?to\s+(?:an?\s+|the\s+|your\s+)?(?:(?:ba|z)?sh|shell"
    r"|interpreter|python|node|perl)\b"
)
_FORBIDS = pattern(
    r"(?i)(?<![\w-])(?:never|ask (?:me |us |the user |first )*before|avoid(?:s|ing)?|without|instead of|rather than"
    r"|refrain from|stop|beware of|leave out|omit|forbidden to|(?:do|must|should|may|shall)(?: not|n['’]t)|nie|niemals"
    r"|not to|no longer|not|no)(?![\w-])"
)
_ABOUT_NOTHING_ELSE = pattern(
    r"(?i)[\s\"'`“(]*(?:ever\b|again\b|just\b|simply\b|blindly\b|directly\b|also\b)*\s*(?:(?:git\b|npm\b|pip3?\b"
    r"|docker\b|kubectl\b|the\b|an?\b|any\b|us|run|call|execut|commit|push|deploy|install|pass|add|sett?|do|try|delet"
    r"|remov|disabl|skip|forc|typ|appl|start|send|upload|pip|download|fetch|build|rely|allow|enabl|put|invok|mak|giv"
    r"|turn|switch|chang|merg|ship|releas|publish|test|grant|work|log|answer|share|post|copy|bypass|ignor|drop|rewrit"
    r"|reset|overwrit|touch|clean|wip|be|get)\w*\b[^\n]{0,80})?"
)
_TURNS = pattern(
    r"(?i)\b(?:forget\w*|hesitat\w*|fail\w*|omit\w*|without|before|until|unless|except|but|instead|only|miss\w*|leave"
    r"|leaving|skipping|use|run|execute|call|invoke|try|then)\b"
)
_ONCE = pattern(
    r"(?i)^[\s\"'`“(]*(?:ever |again |just |simply |blindly |directly |also )*(?:us(?:e|ing)|run(?:ning)?"
    r"|execut(?:e|ing)|call(?:ing)?|try(?:ing)?|invok(?:e|ing)|only|leave)\b"
)
_STARTS = pattern(r"(?i)^[\s>*\-•#\d.)]*(?:if|when|whenever|while|in case|unless|until|because|since|after|once)\b")
_DIRECTS = pattern(
    r"(?i)\b(?:always|must|should|instead|do this|prefer|make sure|ensure|have to|has to|need to|worked|works|please"
    r"|required)\b|(?:^|[:,;.\n]\s*|\b(?:then|please|first|and|you|to) )(?:use|run|execute|call|try|set|add|install|do"
    r"|start|type|pipe|download|fetch|send)\b"
)
_FORBIDS_WHAT_FOLLOWS = pattern(
    r"(?i)(?:^|[.;\n]\s*|please |you must )(?:never|do not|don['’]t|avoid)"
    r"(?: (?:ever|do|run|use|try|this|that|these|any of|the following|commands?))*\s*:\s*$"
)
_LEFT_OUT = pattern(r"(?i)\b(?:not|without|forget\w*|omit\w*|miss\w*|fail\w* to|skipping|leaving out)\b")
FAILED = pattern(
    r"`[^`\n]*`(?: and \d+ more)? (?:keeps? )?(?:failed|fails|failing)(?: with (?:“[^”\n]*”|a message[^\n]*))?"
)


def risks_of_text(text: str) -> tuple[str, ...]:
    """Dangers of what a text advises, in commands or in words; () where it forbids that, or
    advises none.
    """
    return tuple(dict.fromkeys(_advised(text, is_warning=False)))


def _advised(text: str, *, is_warning: bool) -> Iterator[str]:
    """Kinds of danger that a text advises. A text that `is_warning` tells what went wrong: there only what it says
    to do is advised.
    """
    plain = FAILED.sub(" ", plain_text(text))
    looked_at = 0
    heading = ""
    for number, (clause, is_code) in enumerate(_clauses(plain.replace("\\\n", " "))):
        before, heading = heading, clause if clause.rstrip().endswith(":") else ""
        if number <= MOST_CLAUSES and not is_code and not _is_suspicious(clause):
            continue
        # Another clause costs as much as a hundred characters.
        looked_at += len(clause) + 100
        if looked_at > MOST_LOOKED_AT_CHARS or number > MOST_CLAUSES:
            yield tables.UNREAD
            return
        context = f"{before} {clause}"
        if _FORBIDS_WHAT_FOLLOWS.search(before) or (
            is_warning and not (_DIRECTS.search(context) or _LEFT_OUT.search(context))
        ):
            continue
        if is_code:
            yield from (kind for kind, _ in dangers_in(clause))
        else:
            yield from (kind for (kind, _), at in _dangers_of_clause(clause) if not _is_forbidden(clause, at))


_IN_PROSE = (
    (("|", "pip"), tables.PIPED, _TO_A_SHELL),
    (tables.DROPPING_SIGNS, tables.DROPS, tables.DROPPING),
    (tables.SWITCHING_SIGNS, tables.SKIPS, tables.SWITCHED_OFF),
    (("||", "set +e"), tables.SKIPS, tables.SWALLOWS),
    (("stricthost", "userknown", "hookspath", "gpgsign", "sslverify", "strict-ssl"), tables.SKIPS, tables.MORE_OPTIONS),
    (("(", "child_process", "base64"), tables.RUNS_CODE, tables.DANGEROUS_CALL),
)


def _clauses(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces that say one thing, and whether a piece is a block of code that stands for itself."""
    for number, part in enumerate(_FENCE.split(text)):
        if number % 2:
            yield part, True
            continue
        start = 0
        # What stands between backticks is not parted.
        outline = _TICKS.sub(lambda span: "`" * len(span[0]), part) if "`" in part else part
        for end in (*(match.span() for match in _CLAUSE_END.finditer(outline)), (len(part), len(part))):
            piece = part[start : end[0]]
            start = end[1]
            yield from ((piece[at : at + 2_000], False) for at in range(0, len(piece), 2_000))


def _dangers_of_clause(clause: str) -> Iterator[tuple[Danger, int]]:
    """Every danger of a piece of prose, and where it stands."""
    if "`" in clause:
        for span in _TICKS.finditer(clause):
            yield from ((danger, span.start()) for danger in dangers_in(span[1]))
        # A name in code is a word of the sentence, a command is none.
        words = _TICKS.sub(lambda span: f" {span[1]} " if " " not in span[1] else "x" * len(span[0]), clause)
        clause = _TICKS.sub(lambda span: "x" * len(span[0]), clause)
    else:
        words = clause
    names = _words_of(words)
    if "=" in clause or not _PROGRAMS.isdisjoint(names):
        yield from _dangers_of_commands(clause)
    for flag in _FLAG.finditer(clause) if "-" in clause else ():
        yield from ((danger, flag.start()) for danger in dangers_of_word(flag[0].rstrip(".")))
    lower = words.lower()
    for signs, kind, way in _IN_PROSE:
        if any(sign in lower for sign in signs) and (match := way.search(clause)):
            yield (kind, ""), match.start()
    beginnings = {*names, *(word[:4] for word in names)}
    for stems, kind, way in tables.IN_WORDS:
        mention = None if stems.isdisjoint(beginnings) else way.search(words)
        if mention and ("url" not in mention.groupdict() or next(remote_addresses(mention["url"]), "")):
            yield (kind, ""), mention.start()


_ALL_SIGNS = _PROGRAMS.union(*(signs for signs, _, _ in tables.IN_WORDS))


def _is_suspicious(clause: str) -> bool:
    """False for a clause that no pattern can find anything in."""
    names = _words_of(clause)
    return (
        any(sign in clause for sign in ("`", "=", " -", "|", "("))
        or clause.startswith("-")
        or not _ALL_SIGNS.isdisjoint((*names, *(word[:4] for word in names)))
        or any(
            sign in clause.lower() for sign in (*tables.DROPPING_SIGNS, *tables.SWITCHING_SIGNS, "strict", "hookspath")
        )
    )


def _words_of(text: str) -> list[str]:
    return text.encode("ascii", "replace").translate(_LETTERS).decode("ascii").split()


def _dangers_of_commands(prose: str) -> Iterator[tuple[Danger, int]]:
    """From the name of a program on, a piece of prose may be a command, as far as nothing in it forbids the next."""
    for number, match in enumerate(_PROGRAM.finditer(prose)):
        if number == 30:
            yield (tables.UNREAD, ""), match.start()
            break
        segment = prose[match.start() : match.start() + LONGEST_COMMAND_CHARS].partition("\n")[0]
        until = _FORBIDS.search(segment, 1)
        segment = segment[: until.start() if until else None].rstrip(" .!?,;")
        yield from ((danger, match.start()) for danger in dangers_in(segment))


def _is_forbidden(clause: str, start: int) -> bool:
    """True if what stands at `start` is what the clause says not to do."""
    before = clause[max(0, start - 160) : start]
    forbidding = list(_FORBIDS.finditer(before))
    if not forbidding:
        return False
    last = forbidding[-1]
    between = before[last.end() :]
    word = last[0].casefold()
    if word in ("not", "no"):
        return len(between.split()) <= 1 and len(forbidding) == 1 and not _TURNS.search(between)
    if len(forbidding) > 1 and not between.strip(" `\"'") and word == "without":
        return False
    if any(other[0].casefold() not in ("not", "no") for other in forbidding[:-1]) or (
        _STARTS.match(clause) and word.startswith(("do", "must", "should", "may"))
    ):
        return False
    rest = _ONCE.sub("", between, count=1)
    return _ABOUT_NOTHING_ELSE.fullmatch(between) is not None and not _TURNS.search(rest)


# ---------------------------------------------------------------- a memory


def risks_of_memory(memory: Memory) -> tuple[str, ...]:
    """Dangers of what a memory that is not the user's advises; a warning advises what it says to do
    instead.
    """
    trouble = memory.metadata.get("trouble")
    fields = trouble if isinstance(trouble, Mapping) else {}
    remedy, first, change = (str(fields.get(name) or "") for name in ("worked", "first", "change"))
    is_warning = memory.outcome is Outcome.FAILURE
    text = f"{memory.description}\n\n{memory.content}"
    return _risks_of(memory.title, text, (remedy, first), change, is_warning=is_warning)


@lru_cache(maxsize=512)
def _risks_of(title: str, text: str, actions: tuple[str, ...], change: str, *, is_warning: bool) -> tuple[str, ...]:
    kinds = [kind for action in actions for kind in risks_of_action(action)]
    kinds += risks_of_text(change)
    if is_warning and _LEFT_OUT.search(title):
        kinds += risks_of_action(title) or [kind for (kind, _), _ in _dangers_of_clause(plain_text(title))]
    advice = _advised(text if is_warning else f"{title}\n\n{text}", is_warning=is_warning)
    return tuple(dict.fromkeys((*kinds, *advice)))
