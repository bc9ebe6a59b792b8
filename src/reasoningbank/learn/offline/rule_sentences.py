"""Tells a rule from everything else that a user says: the part of a sentence that holds for all work to come.

A rule speaks of always or never, forbids, says what is done here as a habit, or how this person likes things: of any
such thing, not of one. A task points at something; a question asks; what is quoted or reported is somebody else's; what
holds "for now" is over soon. In doubt it is no rule.
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

# ---------------------------------------------------------------- words in which people set rules, in English


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split()).replace('_', ' ')})"


_LANGUAGE_NAMES = (
    "english german french spanish italian portuguese dutch chinese japanese korean russian polish "
    "turkish swedish danish norwegian finnish czech ukrainian arabic hindi greek hebrew"
)
LANGUAGES = frozenset(_LANGUAGE_NAMES.split())
LANGUAGE = _any(f"{_LANGUAGE_NAMES} deutsch français español plain_english")
CRAFT = _any(
    "tests? test_cases? unit_tests? integration_tests? commits? commit_messages? messages? pull_requests? prs? mrs? "
    "merges? branches branch branch_names? code functions? methods? class(?:es)? variables? names? identifiers? "
    "files? file_names? folders? modules? packages? comments? docstrings? docs? documentation readmes? imports? "
    "exports? migrations? secrets? passwords? credentials keys? tokens? dependencies dependency libraries logs? "
    "logging dates? times? timestamps? answers? replies reply explanations? type_hints? types? annotations? strings? "
    "errors? exceptions? constants? configs? configuration sql quer(?:y|ies) schemas? schema_changes? releases? "
    "deploys? deployments? builds? changes? features? fix(?:es)? bugfixes hotfixes endpoints? apis? components? "
    "styles? lines? indentation formatting whitespace spelling versions? changelogs? tickets? issues? scripts? "
    "pipelines? reviews? refactorings? refactors? data backups? environments? flags? helpers? utilities mocks? "
    "fixtures? snapshots? assertions? todos? warnings? hooks? plans? summaries diffs? edits?"
)
"""Things that programmers make rules about."""
NO_HABIT = _any(
    "need have had has should want can could must_have are were was will would got get see saw think thought know "
    "knew found figured tried did do_not_know might may just also both still already all_know recently noticed "
    "hit ran broke lost went made gave took came wrote added changed updated upgraded moved switched fixed merged "
    "deployed can't cannot couldn't didn't aren't weren't haven't won't wouldn't shouldn't really seem "
    "keep_getting discussed agreed talked decided"
)
"""After `we`: what happened, is, or is to be done, and no habit."""
TALK = _any("answer reply respond speak talk write_to_me write explain communicate")
GENERIC_TALK = _any("answer reply respond talk speak")
MANNER = _any(
    "answer reply respond explain summari[sz]e apologi[sz]e speak talk address greet thank interrupt confirm tell_me "
    "show_me remind_me ask_me call_me give_me"
)
MANNERS = _any(
    "brief(?:ly)? concise(?:ly)? short(?:er)? terse polite(?:ly)? formal(?:ly)? informal(?:ly)? direct(?:ly)? "
    "verbose thorough explicit honest careful specific simpl[ey]_words plain(?:ly)? detailed consistent small "
    "to_the_point like_i['’]m as_if_i"
)
IMPERATIVES = _any(
    "run ask check update add write test build format lint review explain show make commit rebase pull fetch "
    "merge use bump document tell stop wait confirm verify double-check read look start create open close tag "
    "squash sign validate sync clean save back_up log include mention link list keep put do be give summari[sz]e "
    "rerun regenerate notify consult push warn prefer avoid treat leave move delete remove rename"
)
DONE_ONLY = _any(
    "use commit push merge deploy edit touch change run install import write add create release apply ask read "
    "delete remove log answer reply respond call build test format publish accept rely depend work"
)
FORBIDDEN_THINGS = _any(
    "squash amend rebase rename revert touch edit modify change push commit delete remove drop deploy merge use "
    "run install add create rewrite reformat refactor force-push skip disable mock log print expose hard-?code "
    "import assume guess apologi[sz]e explain repeat tell ask put write store ship"
)
"""Deeds that are forbidden for good even where one thing is named."""
OCCASIONS = _any(
    "change commit push pr pull_request release deploy deployment edit feature fix merge task step session answer "
    "reply refactoring test build"
)
IDLE_VERBS = _any(
    "worry mind forget bother think know see understand wait panic you be_sorry get have want need it that seen "
    "gonna give_up hesitate stop let quote care"
)
PAST = _any(
    "thought seen had knew known got gone heard did done went came saw found met made took been was were is has "
    "felt said told left"
)
DETERMINED = pattern(
    r"(?i)\b(?:a|an|the|this|that|these|those|it|its|them|here|there|my|his|her|second|first)\b|\b[\w-]+(?:/[\w.-]+)+"
    r"|\[|\b[\w.]+@\w|\b\w+\.(?:py|js|ts|tsx|go|rs|java|c|cpp|h|rb|php|sql|ya?ml|json|toml|md|html|css|sh)\b"
)
"""Words that point at one thing: what is asked of it is a task."""
IDENTIFIER = pattern(r"\b[a-z]+(?:_[a-z0-9]+)+\b(?!-)|\b[a-z]+[A-Z]\w+\b|\b\w+\(\)")
LOCAL = pattern(
    r"(?i)\b(?:for now|this time|just (?:this )?once|only this once|yet|today|tonight|right now|at the moment|meanwhile"
    r"|for (?:this|the) (?:task|change|moment|time being)"
    r"|in (?:this|the) (?:pr|commit|change|task|file|function|method|class|diff|branch|pull request)"
    r"|until the|until (?:i|you|we|it)|when you(?:['’]re| are) (?:done|ready|finished|through)|break (?:any|every)thing"
    r"|this (?:one|week|sprint)|now|instead here|already|(?:any|no)thing else)\b"
)
"""Words that tie a sentence to the moment: what holds for the moment is no rule."""
LASTING = pattern(
    r"(?i)\b(?:from (?:now|here|today) on(?: ?wards?)?(?: out)?|going forward|henceforth|as a rule|at all times"
    r"|under no circumstances|until further notice|for future reference|keep in mind|bear in mind"
    r"|(?:do not|don['’]t|never) ever|on principle|without exception)\b|^in (?:the )?future\b"
    r"|^(?:please|don['’]t|do not|always|never|make sure)\b.*\bin (?:the )?future\b"
)
TROUBLE = pattern(
    r"(?i)\b(?:crash\w*|fail(?:s|ed|ing)?|errors? out|bugs?|broken|breaks?|broke|timeouts?|times out|hangs?|stuck|404"
    r"|500|does ?n[o'’]t work|slow|wrong|keeps? (?:getting )?\w+(?:ing|ed)|i need|i want|i get)\b"
)
QUESTION = pattern(
    r"(?i)^(?:what|why|how|who|whom|whose|which|where|when (?:do|does|did|is|are|was|will|should)|is|are|was|were|do"
    r"|does|did|has|have|had|can|could|would|will|should|shall|may|might|am|isn['’]t|aren['’]t|don['’]t you|any)\b"
    r"(?! not\b)(?! (?:always|never)\b)"
)
ASKS_YOU = pattern(r"(?i)^(?:can|could|would) you\b")
REPORTED = pattern(
    r"(?i)^(?:error|warning|warn|info|debug|fatal|hint|\w+(?:Error|Exception|Warning)|npm \w+)\b[^:]{0,20}:|\b(?:he"
    r"|she|they|docs?|documentation|readme|boss|manager|colleague|coworker|article|book|post|logs?|message|error"
    r"|manual|guide|linter|compiler|output|someone|somebody|people|wiki|comment|ticket|issue|customer"
    r"|client)\b[^,;:]{0,40}\b(?:says?|said|reads?|states?|told|tells?|warns?|recommends?|suggests?|claims?|mentions?"
    r"|wants?)\b|\b(?:getting|got|get|see|seeing|prints?|shows?)\s+Q{2,}|\blet['’]s\b"
)
NO_IDIOM = pattern(
    r"(?i)^no (?:problem|worries|idea|such|way|need|rush|thanks?|luck|change|difference|output|errors?|results?|answer"
    r"|response|one|match(?:es)?|module|matter|doubt|wonder|more|longer|big|hurry|offen[cs]e|stress|worry|hard|clue|it|that"
    r"|this|i|you|we|they|he|she|there|not|pressure|action)\b"
)

# ---------------------------------------------------------------- shapes of rules

_NEVER_BUT = pattern(r"(?!)")
_POLITE = r"(?:(?:please|pls|plz|kindly|also|just),?\s+)*"
_BEGIN = r"(?:^|[,;:–—]\s*|\b(?:and|but|then|so)[,\s]+)"
_START = _BEGIN + _POLITE
_LATER = rf"(?:(?:next time|in (?:the )?future|by the way|btw),?\s+)?{_POLITE}"
_POINTING = r"(?!(?:the|this|that|these|those|it|i|we|they|he|she|there|my)\b)"
_ONE = r"(?!(?:the|this|that|these|those|an?|my)\b)"
_HERE = (
    r"(?:^|[,;:]\s*|\b(?:and|but|here|repo|repository|project|codebase|team|rule|default|general|usually|remember"
    r"|remember that)[,\s]+)"
)
_NORMAL = r"(?:must|should|needs?|(?:has|have) to|goes?|belongs?|lives?|requires?)"
_BASE = (
    rf"(?!(?:{IDLE_VERBS}|{PAST}|more|less|an?|the|in|on|at|mind|again|good|nice|great)\b)"
    r"[a-z-]{2,}(?<!ed)(?<![^s]s)\b"
)
_GENERIC_TIME = (
    r"(?:(?:before|after|when|whenever|if|unless|while)\s+"
    r"(?:you(?:['’]re| are)?\b(?! (?:can|could|want|like|need|have|know|think|will|were|did)\b)"
    rf"|each\b|every\b|any\b|in doubt\b|unsure\b|(?!testing\b)[a-z-]+ing\b|(?:an?|new)\s+(?:\w+\s+)?{CRAFT}\b)"
    rf"|every time you\b|(?:with|for|in|on|after|before) (?:each|every) {OCCASIONS}\b)"
)


def _found(text: str) -> re.Pattern[str]:
    return pattern(text, re.IGNORECASE)


_ALWAYS = _found(
    rf"{_BEGIN}(?P<rule>{_LATER}(?:(?:al+w[ay]{{1,2}}s?|alwasy|alwyas|ne?ver|nevr)(?:,?\s+ever,?)?\s+{_BASE}"
    rf"|only\s+{DONE_ONLY}\b))"
)
_FORBIDS = _found(
    rf"{_BEGIN}(?P<rule>{_LATER}(?:do not|don['’]?t|refrain from|you (?:must|should|may|can)(?: ?n[o'’]?t|not)"
    rf"|nobody (?:may|should))\s+(?!{IDLE_VERBS}\b)(?:{FORBIDDEN_THINGS}\b"
    r"|[a-z-]+\b(?!\s+(?:the|this|that|these|those|an?|my)\b)))"
    r"(?!\s+(?:it|this|that|them|so[.!]*$|care|anything else)\b)"
)
_INSTEAD = _found(
    r"\b(?:use|run|call|write|put|prefer|import|try)\b[^.!?\n]{1,120}"
    r"(?:\binstead of\b|\brather than\b|, not\b)[^.!?\n]{2,}"
)
_CONDITION = _found(r"^(?:when|whenever|if|before|after|unless|while|in|for|on|with|as|since|from|every|by)\b")
_NO = _found(r"^(?:please,?\s+)?no\s+[a-z-]+(?:\s+[a-z-]+)*(?:,?\s+(?:please|ever|at all))?[.!]*$")
_FINITE = _found(
    r"\b(?:ran|is|are|was|were|found|has|have|had|works?|exists?|matched|happened|changed|left|yet|my|showing|then)\b"
)

QUOTED = pattern(r"“[^”\n]*”|\"[^\"\n]*\"|(?<!\w)'[^'\n]+'(?!\w)|«[^»\n]*»")
_JOINT = _found(r"(?:\s*;|,|,?\s+(?:and|but))\s+(?=(?:please\s+)?(?:always|never|do not|don['’]?t)\s+\w+\s+\w)")
"""Where a sentence may hold a second rule: "always run the linter and never push to main"."""
_FRAME_OF_VERB = _found(r"^(?:(?:please|always|never|ever|do not|don['’]?t|we|you|must|should|only|just)\s+)+")
_TASK_AND = _found(r".*\w.*(?:\band|\bbut|[,;:–—-])\s*$")

_SHAPES = tuple(
    (otherwise, _found(shape))
    for otherwise, shapes in (
        (TROUBLE, (
            # what is done here
            (rf"\b(?:we|nobody|everyone|you(?=\s+(?:should|must|can|will))|team)\s+(?:(?:should|must|can|will)\s+)?"
             rf"(?:always|never|only)\s+(?:ever\s+)?(?!(?:{NO_HABIT}|{PAST}|forget|fails?)\b)[a-z-]+(?<!ed)\b"),
            (rf"{_HERE}(?:we|the team)(?:\s+(?:always|never|only|usually|generally|don['’]?t|do not|all))*\s+"
             rf"(?!(?:{NO_HABIT}|{PAST}|is|was|always|never|only|usually|generally|all)\b)[a-z-]+(?<!ed)\b"),
            (r"\b(?:nobody|no one|nothing|everyone|everybody|this (?:repo|repository|project|codebase))\s+"
             r"(?:always |never |only )?"
             r"(?!knows|seems|was|has|needs|crashes|gets|happens|works|changes|is\b)[a-z]+(?:e?s|ges)\b"),
            (r"\bour\s+(?:\w+\s+){0,2}(?:is|are|follow|follows|use|uses|go|goes|must|should|live|lives|belong|start"
             r"|begin)\b"),
            # what holds for every thing of a kind
            rf"^{_POINTING}(?:[a-z-]+\s+){{1,3}}only (?:against|on|from|in|via|through|after|when|if|with|for)\b",
            (rf"^(?:(?:for|in|on|with) {_ONE}(?:\w+,? ){{1,3}}?|by default,? )"
             r"(?:use|prefer|avoid|write|keep|put|run|follow|name)\b"),
        )),
        (_NEVER_BUT, (
            # how this person likes things
            (r"\bi (?:really |strongly |always |generally )?"
             r"(?:prefer|like|love|hate|dislike|can['’]t stand|do ?n[o'’]t (?:like|want))"
             r"\s+(?!(?:the|this|that|these|those|an?|to|what|how|one\s|not|them|my|your|you to)\b)"
             r"(?!it\b(?! when))\S+"),
            r"\bi (?:(?:never|always) want|do ?n[o'’]t (?:want|like) you to|want (?:all|every|only|no))\b",
            r"\bi(?:['’]d| would) (?:prefer|rather|like)(?: it)? (?:if |that )?you (?!to (?!always|never)|can|could)",
            rf"\bi(?:['’]d like| want| expect| need) you to\b.*\b(?:always|never|{_GENERIC_TIME})",
            (rf"{_START}(?:(?:i want you to|you should|you must|always)\s+)?(?:{TALK}\b[^.;]{{0,40}}\bin {LANGUAGE}\b"
             rf"|{GENERIC_TALK} (?:to me )?(?:in|with|using) (?!(?:the|this|that|an?|your)\b)\w+)"
             rf"|^in {LANGUAGE},? please"
             rf"|^(?:all )?{CRAFT}(?: (?:and|or) {CRAFT})? (?:in|with|without) (?:{LANGUAGE}|\w+ case)\b"),
            (rf"^{_POLITE}(?:{TALK}|be|keep (?:it|your \w+|all \w+))\b"
             r"(?:\s+(?:to me|me|your \w+|things|more|less|very))*"
             rf"\s+{MANNERS}\b"),
            rf"^{_POLITE}(?:call|address) me\s+(?!an?\b)[A-Za-z]+",
            (r"\byour (?:\w+ )?(?:answers?|replies|responses?|messages?|commits?|comments?|explanations?|summaries"
             r"|plans?|code) (?:are|is|was|were)\b"),
            (rf"^{_POLITE}(?:ask|(?:ask|check with|confirm with|tell|warn|show|consult|run it by) (?:me|us))\b.*"
             r"\b(?:before|first|instead of|rather than|whenever|every)\b"),
            # what is not to be done
            (rf"^{_POLITE}(?:stop (?:apologi[sz]|explain|comment|guess|assum|summari[sz])ing"
             r"|no more (?:\w+ ){0,2}(?:comments?|emojis?|docstrings?|mocks?|todos?|files?|summaries))[.!]*$"),
            # what holds for every thing of a kind
            (rf"^(?:(?!users|customers|people|clients|visitors|admins|members)[a-z]+s (?=must)"
             rf"|(?:every|all|each|any|new)\s+(?:\w+\s+){{1,3}}){_NORMAL}\b"),
            (rf"^{_POINTING}(?:\w+\s+){{1,2}}(?:(?:are|is) (?:always|never|only)"
             r"|(?:do ?n[o'’]t|do not|never|always|only) "
             r"(?:get \w+ed|go|belong|live|contain|use|depend|import|need|touch))\b"),
            r"\b(?:max(?:imum)?|at most|no more than|min(?:imum)?|at least|up to) \d+\b[^,;]* per\b",
            rf"^{_POINTING}[a-z]+\b.*\b(?:everything|anything|whatever|wherever) (?:that )?you\b",
            (rf"^{_POLITE}(?:leave (?:the |all )?\w+(?:ing|s)? to \w+|leave (?!it|this|that|them|the\b)[\w ]+ alone"
             rf"|stick (?:to|with) (?:the existing|existing|our)\b|treat .{{1,60}}\bas\b|(?:make|keep|write|give|sign"
             rf"|test) (?:every|each) {CRAFT}\b(?!.* for )|(?:put|keep|place) (?:all |new )*{CRAFT} (?:next to|beside"
             rf"|under|in|into|out of|away from)\b|(?:keep|update|run|write|add|bump|document)\b.*\b(?:with|for|in|on"
             rf"|after) (?:each|every) {OCCASIONS}\b)"),
            # what is allowed, or not asked for, any more
            (r"\byou(?: (?:can|may)|(?:['’]re| are) (?:allowed|free) to)\b.*\bagain\b"
             r"|\bit(?:['’]s| is) (?:ok|okay|fine|alright|all right|allowed) (?:again )?to\b.*\bagain\b"
             r"|\b(?:you (?:do ?n[o'’]t|no longer) (?:need|have) to|no need to)\b(?=.*\b(?:any ?more|no longer)\b)"
             rf"|\byou no longer (?:need|have) to\b|^{_POLITE}forget (?:about )?(?:the|my|that) (?:\w+ ){{0,3}}rule\b"),
            # what is to be done whenever
            (rf"^next time,?\s+{_POLITE}{IMPERATIVES}\b|^{_POLITE}(?:use|prefer)\b.*\b(?:instead of"
             rf"|rather than) [a-z]+ing\b|^{_POLITE}keep (?:the |your )?[a-z]+ (?:up to date|in sync|sorted)\b"
             rf"|^{_POLITE}(?:write|keep|format) (?:all |your )?{CRAFT} in (?:the )?\w+[.!]*$"),
        )),
        (IDENTIFIER, (
            # what is not to be done
            rf"^{_POLITE}(?:stop|quit|no more)\s+[a-z]+ing\s+\S+",
            rf"^{_POLITE}avoid\s+(?!it\b){_ONE}\S+",
            # what is to be done whenever
            rf"^{_GENERIC_TIME}[^,]*,\s*{_POLITE}{IMPERATIVES}\b",
            rf"^(?:if|when|whenever) you (?:need|want|have) [^,]+,\s*{_POLITE}{IMPERATIVES}\b",
            rf"^{_POLITE}(?!tell\b){IMPERATIVES}\b.*\s{_GENERIC_TIME}",
            rf"^{_POLITE}(?:remember|keep in mind|bear in mind)(?::|,| that| to)\s",
        )),
        (_found(r"\b(?:who|whose)\b"), (
            # what holds for every thing of a kind
            (rf"^{_POINTING}(?:.*[,;]\s*)?(?:(?:every|all|each|any|no|new)\s+(?:\w+\s+){{0,2}}"
             rf"|(?:\w+\s+)?(?={CRAFT}\b)){CRAFT}\b(?!\s+(?:the|this|that|these|an?|my"
             rf"|it)\b)[^,;.]{{0,60}}?\b(?:{_NORMAL}|stays?|shall|may not|(?:is|are) (?:always |never |only |not )?"
             r"(?:required|forbidden|mandatory|allowed|optional|in|to be|written|named|kept))\b"),
        )),
        (DETERMINED, (
            # what is to be done whenever
            rf"^{_GENERIC_TIME}[^,]*\s(?:use|prefer|avoid)\s",
            (rf"^{_POLITE}(?:only\s+)?(?:use (?!either|both)|prefer|favou?r|follow|stick (?:to|with)|adopt|treat"
             rf"|respect|assume|indent with|keep (?=your|all|every|{CRAFT}\b)|name (?=all|every|{CRAFT}\b)|(?:write"
             rf"|format|sign|document|add|put)(?!.* for ) (?=(?:(?:all|every|your|new)\s+)?{CRAFT}\b))\s*\w+"),
        )),
    )
    for shape in shapes
)  # fmt: skip
"""How rules are said, and what makes the same words something else."""


def rules_of(sentence: str, *, corrects: bool) -> tuple[str, ...]:
    """Rules of a sentence: none, one, or two where each says for itself what is always or never done."""
    own_words = masked_quotes(sentence)
    joint = None if _CONDITION.match(own_words) else _JOINT.search(own_words)
    if joint and _verb(own_words[: joint.start()]) != _verb(own_words[joint.end() :]):
        halves = sentence[: joint.start()], sentence[joint.end() :]
        rules = [_rule_in(half, masked_quotes(half), corrects=corrects) for half in halves]
        if all(rules):
            return tuple(rules)
    rule = _rule_in(sentence, own_words, corrects=corrects)
    return (rule,) if rule else ()


def _verb(clause: str) -> str:
    return _FRAME_OF_VERB.sub("", clause).partition(" ")[0].casefold()


def masked_quotes(sentence: str) -> str:
    """A sentence with its quotations made unreadable, which are not the user's own; each letter keeps its place."""
    return QUOTED.sub(lambda match: f" {'Q' * (len(match[0]) - 2)} ", sentence)


def _rule_in(sentence: str, own_words: str, *, corrects: bool) -> str:
    """The part of a sentence that is a rule, or "". `own_words` is the sentence with what it quotes made unreadable,
    as long as it is; `corrects` says that it answers something the agent did.
    """
    lasting = LASTING.search(own_words)
    if lasting and (not _is_question(own_words) or ASKS_YOU.match(own_words)):
        # What stands before "and from now on" is a task, unless the rule is there.
        task = _TASK_AND.match(own_words[: lasting.start()]) if len(own_words[lasting.end() :].split()) > 1 else None
        return sentence[lasting.start() :] if task and not _is_rule(own_words[: lasting.start()]) else sentence
    if _is_question(own_words) or LOCAL.search(own_words) or REPORTED.search(own_words):
        return ""
    for match in (_ALWAYS.search(own_words), _FORBIDS.search(own_words)):
        rule = own_words[match.start("rule") :] if match else ""
        # A function by its name is one spot in the code.
        if match and (not IDENTIFIER.search(rule) or " use " in f" {rule.casefold()} "):
            # What stands before it is a condition of the rule, its other half ("use yarn, never npm"), or a task that
            # has nothing to do with it.
            head = own_words[: match.start("rule")].rstrip(" ,;:–—-")
            is_half = _is_rule(head) or _ALWAYS.match(head) or _FORBIDS.match(head)
            is_part = match.start() == 0 or _CONDITION.match(own_words) or is_half
            return sentence if is_part else sentence[match.start("rule") :]
    return sentence if _is_rule(own_words) or (corrects and _INSTEAD.search(own_words)) else ""


def _is_rule(text: str) -> bool:
    if len(text.split()) <= 6 and _NO.match(text) and not (NO_IDIOM.match(text) or _FINITE.search(text)):
        return True
    return any(shape.search(text) and not otherwise.search(text) for otherwise, shape in _SHAPES)


def _is_question(text: str) -> bool:
    return text.rstrip(" .!\"'”)").endswith("?") or QUESTION.match(text) is not None
