"""Rules that a user sets in a prompt, and how plainly each is the user's own word.

A prompt is not all typed: programs attach files and notes to it, and people paste issues, logs and mails. What a
program put in gives no rule. A rule counts at once (`is_plain`) only in a short prompt in which nothing looks pasted
and every sentence is a rule or a request; any other is for the user to accept. In doubt it is not plain.
"""

from __future__ import annotations

import re

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.injected import IN_ANY_TEXT, IN_MESSAGES, is_program_message
from reasoningbank.learn.offline.rule_sentences import IMPERATIVES, LANGUAGE, QUOTED, masked_quotes
from reasoningbank.learn.offline.user_sentences import (
    BULLET,
    HEADS_RULES,
    UserSentence,
    is_about_the_user,
    sentences_in,
)

LOOKED_AT_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardRule:
    text: str
    is_plain: bool
    """It counts at once; otherwise it is proposed."""
    about_user: bool
    """It says how to work with this person, whatever the work is."""


_CUE = pattern(
    r"\b(?:al+w|ne?v|don['’]?t|no|only|must|should|shall|may|need|prefer|us(?:e|ing)|avoid|stop|quit|we|our|team|every"
    r"|want|expect|like|love|hate|dislike|rather|me|remember|forget|mind|future|forward|henceforth|(?:today|here) on"
    r"|next time|rule|convention|guideline|principle|times|all|each|any|when|if|before|after|unless|keep|repl(?:y|ies)"
    r"|respond|answer|speak|talk|explain|communicate|stick|treat|follow|adopt|respect|assume|indent|favou?r|require"
    r"|forbidden|mandatory|goes|belong|lives?|per|again|brief|concise|short|terse|polite|formal|informal|direct|verbose"
    rf"|thorough|explicit|honest|careful|specific|plain|detailed|consistent|small|in (?:{LANGUAGE}|\w+ case)"
    r"|(?:write|add|put|place|document|format|name|sign|leave) (?!an?\b|the\b|this\b|that\b|my\b|it\b)\w)",
    re.IGNORECASE,
)
"""A prompt without any of these holds no rule."""
_FRAMES = {
    "cline": pattern(r"<(user_input|user_message|task)\b[^>\n]*>(?P<typed>(?:(?!</?\1).)*)</\1>", re.DOTALL),
    "cursor": pattern(r"<user_query>(?P<typed>(?:(?!</?user_query).)*)</user_query>", re.DOTALL),
    "codex": pattern(
        r"# Context from my IDE setup:(?:(?!\n## My request for Codex:).)*\n## My request for Codex:[ \t]*\n"
        r"(?P<typed>(?:(?!\n## My request).)*)",
        re.DOTALL,
    ),
}
"""How programs frame the words that were typed."""
_PROGRAM_MARK = pattern(
    rf"(?:<|&lt;)/?(?:{'|'.join((*IN_ANY_TEXT, *IN_MESSAGES))})\b|^--- Content from referenced files ---"
    r"|\(reference, not rule\)|reference, not rule[.:]|^[ \t]*<INSTRUCTIONS>|^# AGENTS\.md instructions",
    re.MULTILINE | re.IGNORECASE,
)
_OPENING_TAG = pattern(r"^[ \t]*(?:<|&lt;)[A-Za-z][\w:.-]{0,60}(?:\s[^<>\n]{0,300})?/?(?:>|&gt;)", re.MULTILINE)
_CLOSING_TAG = pattern(r"(?:<|&lt;)/[A-Za-z][\w:.-]{0,60}\s?(?:>|&gt;)")
_FENCED = pattern(r"^[ \t]*(?:```|~~~).*(?:```|~~~)[^\n]*|^[ \t]*(?:```|~~~).*", re.MULTILINE | re.DOTALL)
"""From the first fence to the last: what is quoted may hold fences of its own."""
_DOCUMENT = pattern(
    r"^(?:"
    # Markdown, front matter, HTML
    r"\ufeff?[ \t]*#{1,6} ?\S|\[?!\[|[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|\+{3,})[ \t]*$|[ \t]*\|.*\||<!--|<!doctype"
    r"|\[[^\]\n]{1,200}\]:? ?\(?https?:|[^\n|]{1,80}\|[^\n|]{1,80}\|"
    # issues and pull requests, as `gh` prints them and as templates have them
    r"|(?:title|state|author|labels|assignees|comments|projects|milestone|number|url|reviewers|additions"
    r"|deletions):(?:\t|[ \t]*$)|--[ \t]*$|\S+ (?:opened|commented|edited|wants to merge|closed this|mentioned this)\b"
    r"|[^\w\n]{0,12}(?:steps to reproduce|to reproduce|reproduction|expected|actual|describe the|additional context"
    r"|environment|motivation|proposal|summary|description|screenshots?|version|checklist|installation|usage"
    r"|prerequisites|contributing|license)\b[^.!?\n]{0,40}:?[^\w\n]{0,12}$|[-*] \[[ xX]\] "
    # mails
    r"|(?:from|to|cc|bcc|subject|date|sent|reply-to|message-id|in-reply-to|von|an|betreff|gesendet):[ \t]"
    r"|on\b[^\n]{0,200}\bwrote:|am\b[^\n]{0,200}\bschrieb|-{2,} ?(?:original|forwarded)|begin forwarded message"
    # diffs, JSON, YAML, tables of settings
    r"|diff --git |@@ -|index [0-9a-f]{7,}\.\.|commit [0-9a-f]{7,40}\b|merge (?:branch|pull request|remote)"
    r"|[ \t]*[\[{][ \t]*(?:$|[\"\[{])|[ \t]*\"[\w.$-]+\"[ \t]*:|[\w-]+:(?:[ \t]*[|>]?[-+]?[ \t]*)$\n[ \t]+\S|%YAML)",
    re.MULTILINE | re.IGNORECASE,
)
"""From such a line on a text is a document that somebody else may have written."""
_OUTPUT = pattern(
    r"^[ \t]*(?:>|\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d(?::\d\d)?\b|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|[\[(<]?(?:error"
    r"|warn(?:ing)?|info|debug|trace|fatal|critical|notice|deprecat\w+)[\])>]?(?:\[\w+\])?[:|\s-]|npm (?:err!|error"
    r"|warn|notice)|yarn (?:run|install)|remote:|traceback |file \"|at \S+ ?\(|caused by|\w+(?:error|exception"
    r"|warning)\b[:(]|[$%] |>>> |\+ |[-+]\s{2,}|(?:[^\s:]{1,200}:){2}\d|E {2,}|FAILED|PASSED|={2,}|-{2,}|\.{3}|#\d+ "
    r"|Step \d|\[\w[\w.:/ -]*\])|^(?: {4,}|\t)\S",
    re.MULTILINE | re.IGNORECASE,
)
"""A line of output, a quotation or code: its paragraph is pasted."""
_FOREIGN = pattern(
    r"\n[ \t]*\n[ \t]*\n|https?://|www\.|<\w|\w+@\w+\.\w"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]|\[(?:pasted"
    r"|image|attached|truncated|\.\.\.)|(?:^|\s)@[\w-]+[,:]|\*\*|\[[^\]\n]+\]\(|\b(?:summari[sz]e|translate|proofread"
    r"|rephrase|paraphrase|shorten|below|above|attached|described|pasted|(?:the|this|that|these|those) (?:issue|ticket"
    r"|e?-?mail|message|log|review|comment|thread|feedback|spec|document|page|article|notes?)s?)\b|\b(?:contributors?"
    r"|maintainers?|reporter|reviewers|contributing|workarounds?|deprecat\w+|changelog entry|installation"
    r"|prerequisites?|documentation says|see (?:the|also|docs)|as of v?\d|we recommend|is recommended"
    r"|recommended (?:to|that|way)|please note|note that|make sure (?:that )?you have|hi (?:all|team|everyone|folks)"
    r"|dear|regards|cheers|sincerely|fyi|as discussed|sent from|wrote|end users?|our (?:users|customers)|users (?:must"
    r"|should|can)|the following|e\.g\.|license|copyright|all rights|release notes?|upgrade guide|this (?:library"
    r"|plugin|package|tool|guide|document|section|page|option|flag|setting|error|warning)|closes|fixes #|see #"
    r"|cc @)\b",
    re.IGNORECASE,
)
"""Signs that a text, or a part of it, comes from elsewhere than the user's keyboard."""
_LEAD_LINE = pattern(r"^(?P<lead>[^\n]{0,300}):[ \t]*$", re.MULTILINE)
_BLANK_LINES = pattern(r"\n(?:[ \t]*\n)+")
_LEAD = pattern(r"^(?P<lead>[^:]{0,80}):(?:\s|$)")
_OWN_LEAD = pattern(
    r"\s*(?:(?:please|and|also|so|ok|okay|hey|my|new|general|one|another|two|three|some|a|an|few|more|quick|important"
    r"|house|the|for|you|your)[\s,]+)*(?:remember|reminder|rules?|preferences?|note to self|thing|things|important|btw"
    r"|by the way|from (?:now|today) on|going forward|in (?:the )?future|(?:for|in) this (?:repo|repository|project"
    r"|codebase)|please|also|always|never|style|conventions?|keep in mind|i (?:want|prefer|like)|(?:no|nope|wrong|stop"
    r"|ok|okay|actually))(?:\s+(?:for (?:you|this|all|every\w*|the future)|from (?:now|today) on|going forward"
    r"|in (?:the )?future|here|(?:of|in|for) (?:this|the) (?:repo|repository|project|codebase)))*\s*",
    re.IGNORECASE,
)
_OWN_LIST_LEAD = pattern(
    r"\b(?:my|you|i|remember|from (?:now|today) on|going forward|in (?:the )?future)\b", re.IGNORECASE
)
_REQUEST = pattern(
    r"(?:(?:please|pls|plz|kindly|now|then|next|first|also|and|so|ok|okay|hi|hello|hey|claude|codex|gemini|copilot"
    r"|just|great|perfect|thanks|thank you|good|nice|yes|yeah|right|cool)[\s,.!:-]+)*"
    rf"(?:{IMPERATIVES}|fix|implement|refactor|debug|investigate|upgrade|deploy|migrate|port"
    r"|convert|optimi[sz]e|find|search|change|replace|extract|rewrite|generate|finish|continue|turn|enable|disable|try"
    r"|go|work|revert|undo|help|improve|speed|handle|support|release|publish|get|split|drop|draft|write|prepare"
    r"|(?:can|could|would|will) you|i(?:['’]d| would) like you to|i (?:want|need) you to|let['’]?s"
    r"|let us)\b(?!.*\b(?:but|because|it (?:says|fails|crashes))\b)|(?:hi|hello|hey|thanks|thank you|ok|okay|yes|great"
    r"|good|perfect|nice|done|no|nope|wrong)(?: \w+)?[\s.!,]*$|(?:that|it|this) works\b|looks good|well done|good job",
    re.IGNORECASE,
)
_BINDS = pattern(
    r"\s*(?:and|also|but|please|pls|plz|btw|by the way|from (?:now|today) on|going forward|remember|one more thing|oh"
    r"|in (?:the )?future|next time|ps|p\.s\.)\b",
    re.IGNORECASE,
)
"""How a line goes on with what the same person said."""
_VAGUE_RULE = pattern(
    r"(?:please,?\s+)?no (?!.*\b(?:please|emojis?|comments?|mocks?|apolog\w+|force|new|more|bullet|markdown"
    r"|wildcard|default)\b)|you (?:must|should|need|may not|can(?:not|['’]t))\b|(?:try|run|use|set|add|install"
    r"|pass) [^,]*\bto (?:fix|resolve|continue|override|suppress|see|enable|ignore|avoid|get)\b|(?:users|people"
    r"|everyone|nobody|nothing|it(?!['’]s|\s+is)|this|that|there|they)\b|make sure\b",
    re.IGNORECASE,
)
"""A rule in the voice of tools and handbooks."""


def heard_rules(prompt: str, agent: str) -> list[HeardRule]:
    """Rules in a prompt, as the program of that agent handed it over, in their order."""
    text = prompt[:LOOKED_AT_CHARS].replace("\r\n", "\n").lstrip("\n").rstrip()
    if _CUE.search(text) is None:
        return []
    frame = _FRAMES[agent].fullmatch(text.strip()) if agent in _FRAMES else None
    text = frame["typed"].strip() if frame else text
    if is_program_message(text):
        return []
    own = _own_words(text)
    sentences = list(sentences_in(own))
    # Whoever types ends with Enter, which is no part of the prompt; a pipe or a paste leaves its last line's end.
    is_typed = (
        own == text and len(prompt) <= LOOKED_AT_CHARS and not prompt.endswith("\n") and _is_typed(text, sentences)
    )
    texts = [rule for sentence in sentences for rule in sentence.rules]
    if not texts:
        return []
    # Loaded only then: few prompts hold a rule.
    from reasoningbank.guard.risky import risks_of_text

    plain = {rule: is_typed and not _VAGUE_RULE.match(rule) and not risks_of_text(rule) for rule in texts}
    # A pasted handbook has more, and nobody wants to be asked about each line of it.
    rules = [rule for rule in plain if plain[rule]][:12] + [rule for rule in plain if not plain[rule]][:4]
    return [
        HeardRule(text=rule, is_plain=is_plain, about_user=is_about_the_user(rule))
        for rule, is_plain in plain.items()
        if rule in rules
    ]


def _own_words(text: str) -> str:
    """The prompt without what programs put in and what is plainly pasted; as it is where there is none of it."""
    mark = _PROGRAM_MARK.search(text)
    if mark:
        # Whatever follows may be quoted: such a passage can hold the mark that closes it.
        text = "" if "/" in mark[0] else text[: mark.start()]
    text = _FENCED.sub("\n\n>\n\n", _untagged(text))
    document = _DOCUMENT.search(text)
    text = text[: document.start()] if document else text
    if _OUTPUT.search(text) is None and _LEAD_LINE.search(text) is None:
        return text
    paragraphs, follows_lead = [], False
    for paragraph in _BLANK_LINES.split(text):
        if follows_lead or _OUTPUT.search(paragraph):
            follows_lead = False
            continue
        lines = paragraph.splitlines()
        # What ends with a colon and heads no rules of the user heads a quotation.
        leads = (
            number
            for number, line in enumerate(lines)
            if (match := _LEAD_LINE.fullmatch(line))
            and not (HEADS_RULES.search(line) or _OWN_LEAD.fullmatch(match["lead"]))
        )
        lead = next(leads, None)
        paragraphs.append("\n".join(lines if lead is None else lines[: lead + 1]))
        follows_lead = lead == len(lines) - 1
    return "\n\n".join(paragraphs)


def _untagged(text: str) -> str:
    """Without everything from the first tag at a line's start to the last one that closes."""
    opening = _OPENING_TAG.search(text)
    closings = list(_CLOSING_TAG.finditer(text))
    if opening is None and not closings:
        return text
    start = opening.start() if opening and (not closings or opening.start() < closings[0].start()) else 0
    end = closings[-1].end() if closings else len(text)
    return f"{text[:start]}\n\n{'' if _OPENING_TAG.search(text, end) else text[end:]}"


def _is_typed(text: str, sentences: list[UserSentence]) -> bool:
    """True if nothing in a short prompt speaks against its having been typed."""
    if len(text) > 500:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    quotation_words = sum(len(words.split()) for words in QUOTED.findall(text))
    if len(lines) > 8 or quotation_words > 6 or _FOREIGN.search(text):
        return False
    rules = [any(sentence.rules for sentence in sentences_in(line)) for line in lines]
    # A line before that only asks for something may be what the rule was copied for.
    if any(
        is_rule and not all(rules[:number]) and not _BINDS.match(lines[number]) and not BULLET.match(lines[number])
        for number, is_rule in enumerate(rules)
    ):
        return False
    if any(map(BULLET.match, lines)) and not (HEADS_RULES.search(lines[0]) and _OWN_LIST_LEAD.search(lines[0])):
        return False
    return all(map(_is_own_sentence, sentences))


def _is_own_sentence(sentence: UserSentence) -> bool:
    """True if it is a rule, or a request, and quotes nothing after a colon."""
    lead = _LEAD.match(masked_quotes(sentence.text))
    if lead:
        return _OWN_LEAD.fullmatch(lead["lead"]) is not None
    task = sentence.text[: sentence.text.find(sentence.rules[0])] if sentence.rules else sentence.text
    return not task or _REQUEST.match(task) is not None
